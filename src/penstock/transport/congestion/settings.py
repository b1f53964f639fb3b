"""The settings of congestion control and their bounds; knows no law's implementation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from typing import Literal as OneOf

from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.wire.quantise import RATE_MAX_MPS

_LAWS: Final = ("equation", "literal", "window")
_POLICIES: Final = ("block", "drop-oldest", "drop-newest")
# About one message in a quarter of an hour.
_RATE_MIN_MPS: Final = 0.001
# With a weight beyond these bounds one interest would get nothing, or all the others.
_WEIGHT_MIN: Final = 0.001
_WEIGHT_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionSettings:
    """How an endpoint measures what it receives and limits what it publishes."""

    # `literal` is chapter 5 of 003: flows are Bloom sets, the first loss begins the history,
    # feedback is not suppressed, and gaps are weighted as in the dissertation.
    # `window`: the limiting receiver acknowledges each message of its flow, and the publisher
    # keeps a TCP-like window per flow instead of a rate.
    law: OneOf["equation", "literal", "window"] = "equation"
    # α: the growth of a quota per round trip, as a share of the received rate.
    increase: float = 0.1
    # The message size, in bytes, that the equation assumes; None for the actual size [C14].
    nominal_bytes: int | None = None
    # The largest number of receivers assumed to share one opinion of a flow (feedback timers).
    receivers_max: int = 10_000
    # The initial rate of a publisher. It doubles each round trip, but at most four times a
    # second, until a receiver sends feedback.
    initial_rate_mps: float = 100.0
    # No flow becomes slower than this, whatever receivers request.
    rate_min_mps: float = 1.0
    # Flows that a publisher controls, in total and per limiting receiver.
    flows_max: int = 4_096
    flows_each_max: int = 64
    # Capacity of the send queue in messages. When it is full, the publisher waits, or the oldest
    # or the newest message is dropped.
    queue_max: int = 1_000
    policy: OneOf["block", "drop-oldest", "drop-newest"] = "block"
    # Whether messages leave strictly in the order in which they were published [C13].
    strict: bool = False

    def __post_init__(self) -> None:
        check_types(self)
        if self.law not in _LAWS:
            raise UsageError(f"law is one of {', '.join(_LAWS)}, not {self.law!r}")
        if self.policy not in _POLICIES:
            raise UsageError(f"policy is one of {', '.join(_POLICIES)}, not {self.policy!r}")
        if self.nominal_bytes is not None and self.nominal_bytes < 1:
            raise UsageError("nominal_bytes is at least 1")
        if not 0 < self.increase <= 1:
            raise UsageError("increase is above 0, and at most 1")
        if not min(self.initial_rate_mps, self.rate_min_mps) >= _RATE_MIN_MPS:
            raise UsageError(f"initial_rate_mps and rate_min_mps are at least {_RATE_MIN_MPS}")
        if self.rate_min_mps > RATE_MAX_MPS:
            raise UsageError(
                f"rate_min_mps is at most {RATE_MAX_MPS:g}, the highest rate that can be said,"
                f" not {self.rate_min_mps:g}"
            )
        for name in ("receivers_max", "flows_max", "flows_each_max", "queue_max"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is above 0, not {getattr(self, name)}")


DEFAULT: Final = CongestionSettings()
LITERAL: Final = CongestionSettings(law="literal", increase=0.75)
WINDOW: Final = CongestionSettings(law="window")


def check_weight(weight: float) -> float:
    """Return the weight if it lies within its bounds; raise `UsageError` otherwise."""
    if not _WEIGHT_MIN <= weight <= _WEIGHT_MAX:
        raise UsageError(f"weight lies within {_WEIGHT_MIN} and {_WEIGHT_MAX:,}, not {weight}")
    return weight
