"""What a caller may choose of congestion control, with its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from typing import Literal as OneOf

from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.wire.quantise import RATE_MAX_MPS

_LAWS: Final = ("equation", "literal", "window")
_POLICIES: Final = ("block", "drop-oldest", "drop-newest")
# One message in a quarter of an hour.
_RATE_MIN_MPS: Final = 0.001
# Beyond these one would get nothing, or all others.
_WEIGHT_MIN: Final = 0.001
_WEIGHT_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionSettings:
    """How an endpoint measures what it gets, and slows down what it publishes."""

    # `literal` is chapter 5 of 003: flows are Bloom sets, the first loss of all begins the
    # history, nobody's feedback is suppressed, and gaps count as the dissertation says.
    # `window`: who limits a flow acknowledges each message of it, and the publisher keeps a
    # window for the flow as TCP does, instead of a rate.
    law: OneOf["equation", "literal", "window"] = "equation"
    # α: by how much of what comes a limiting receiver raises a flow in a round trip.
    increase: float = 0.1
    # The size that a message counts as, in bytes; None for its own [C14].
    nominal_bytes: int | None = None
    # How many there may be who would say the same of a flow.
    receivers_max: int = 10_000
    # A publisher's first messages a second; twice as many each round trip, but four times a
    # second at most, while nobody complains.
    initial_rate_mps: float = 100.0
    # No flow is slowed down more, whatever is asked for.
    rate_min_mps: float = 1.0
    # Flows that a publisher controls, and of these one receiver's.
    flows_max: int = 4_096
    flows_each_max: int = 64
    # Messages that wait at the publisher; and what becomes of more: whoever publishes waits, or
    # the oldest or the newest goes.
    queue_max: int = 1_000
    policy: OneOf["block", "drop-oldest", "drop-newest"] = "block"
    # Whether no message leaves before one that was published earlier [C13].
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
    """The weight itself, if it is one."""
    if not _WEIGHT_MIN <= weight <= _WEIGHT_MAX:
        raise UsageError(f"weight lies within {_WEIGHT_MIN} and {_WEIGHT_MAX:,}, not {weight}")
    return weight
