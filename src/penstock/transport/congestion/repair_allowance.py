"""What recovery may send where there is congestion: a part of what comes, or may leave.

Requests may take a twentieth of the bytes that come from the publisher whom they ask; a
little is allowed in any case, for who gets nothing may have lost everything. Repairs may
take a tenth of each flow that their message was in: of its own flows a publisher knows
(see `table`), a peer knows what the message said of them when it came.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.kernel.token_bucket import TokenBucket
from penstock.wire.frames.data import Data
from penstock.wire.limits import FIRST_CONTROLLED_FLOW

REPAIRS_SHARE: Final = 0.1
REQUESTS_SHARE: Final = 0.05
_REQUESTS_LEAST_BPS: Final = 200
# So much may be saved up: some forty requests.
_REQUESTS_DEPTH_BYTES: Final = 4_000
_FLOWS_MAX: Final = 1_024
# Whatever a message says of its flow.
_REPAIRS_MIN_MPS: Final = 0.1
_BURST_MIN: Final = 2.0
_BURST_S: Final = 0.1


def burst_depth(rate_mps: float) -> float:
    """How many messages a flow of this rate may save up."""
    return max(_BURST_MIN, _BURST_S * rate_mps)


def request_allowance() -> TokenBucket:
    """Of one receiver to one publisher, in bytes."""
    return TokenBucket(
        _REQUESTS_LEAST_BPS, depth=_REQUESTS_DEPTH_BYTES, tokens=_REQUESTS_DEPTH_BYTES
    )


class RepairAllowance:
    """What one endpoint sends again of others' messages."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        # By publisher and flow; the one used last comes last.
        self._buckets: Final[BoundedDict[tuple[int, int], TokenBucket]] = BoundedDict(_FLOWS_MAX)

    def __len__(self) -> int:
        return len(self._buckets)

    def try_take(self, original: Data, now: Instant) -> bool:
        """Whether it may leave once more; it is as it came, with its flows."""
        buckets = [
            self._bucket((original.pub, flow.flow_id), flow.quota_mps, now)
            for flow in original.flows
            if flow.flow_id >= FIRST_CONTROLLED_FLOW
        ]
        if any(bucket.available(now) < 1 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.take(now)
        return True

    def _bucket(self, key: tuple[int, int], quota_mps: float, now: Instant) -> TokenBucket:
        rate_mps = max(REPAIRS_SHARE * quota_mps, _REPAIRS_MIN_MPS)
        depth = burst_depth(rate_mps)
        bucket = self._buckets.use(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket(rate_mps, depth=depth, tokens=1.0, now=now)
        else:
            bucket.set_rate(rate_mps, now, depth=depth)
        return bucket
