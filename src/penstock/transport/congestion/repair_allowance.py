"""Limits on what recovery may send: requests in bytes, repairs in messages of a flow.

Requests to a publisher may use a twentieth of the bytes received from it. A minimum of 200 bytes
per second is always allowed, because a receiver that gets nothing may have lost everything.
Repairs may use a tenth of each flow of their message. A publisher knows its own flows (see
`sender/flow_table.py`); a peer uses the flows and quotas in the header of the original. The
module does not know which messages are requested or why.
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
# About forty requests.
_REQUESTS_DEPTH_BYTES: Final = 4_000
_FLOWS_MAX: Final = 1_024
# However low the quota in the header is.
_REPAIRS_MIN_MPS: Final = 0.1
_BURST_MIN: Final = 2.0
_BURST_S: Final = 0.1


def burst_depth(rate_mps: float) -> float:
    """The depth, in messages, of the token bucket of a flow with this rate."""
    return max(_BURST_MIN, _BURST_S * rate_mps)


def request_allowance() -> TokenBucket:
    """A new bucket, in bytes, for the requests of one receiver to one publisher."""
    return TokenBucket(
        _REQUESTS_LEAST_BPS, depth=_REQUESTS_DEPTH_BYTES, tokens=_REQUESTS_DEPTH_BYTES
    )


class RepairAllowance:
    """Limits the repairs that one endpoint sends of other publishers' messages."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        # By publisher and flow id, least recently used first.
        self._buckets: Final[BoundedDict[tuple[int, int], TokenBucket]] = BoundedDict(_FLOWS_MAX)

    def __len__(self) -> int:
        return len(self._buckets)

    def try_take(self, original: Data, now: Instant) -> bool:
        """Take a token of each flow of `original`, if all have one; return whether they had."""
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
