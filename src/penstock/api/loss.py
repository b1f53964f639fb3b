"""Losses, told once when they are final, and suspicions, told early and taken back."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from penstock.api.message import Fate, MessageId
from penstock.api.units import count, one_of, quoted
from penstock.kernel.errors import UsageError

# Why a message has this fate. The last four of `lost` are those of a stream.
REASONS: Final = {
    Fate.LOST: (
        "no_recovery",
        "expired",
        "no_answer",
        "publisher_gone",
        "overflow",
        "uncertain",
        "retention",
        "damaged",
        "recreated",
        "rolled_back",
    ),
    Fate.RATE_LIMITED: ("publisher", "broker"),
    Fate.DROPPED_LATE: ("late",),
    Fate.DROPPED_OVERFLOW: ("slow_consumer",),
}

SuspicionState: TypeAlias = Literal["suspected"] | Fate


class Loss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Messages that were wanted and will never come: `count` of them, from number `first` on.

    In a guaranteed stream `publisher` is the pubend, `first` is None and `count` an upper bound.
    """

    # 16 hexadecimal digits.
    publisher: str
    epoch: int
    # The stream that lost them; None with best effort.
    stream: str | None = None
    # None: only the count is known.
    first: int | None = None
    count: int
    fate: Fate
    # One of `REASONS[fate]`.
    reason: str
    # Unix times of this host.
    detected_ns: int
    ended_ns: int

    def __post_init__(self) -> None:
        reasons = REASONS.get(self.fate)
        if reasons is None:
            raise UsageError(f"a loss cannot be {quoted(self.fate)}: write one of {_fates()}")
        one_of(f"reason of {self.fate}", self.reason, reasons)
        count("count", self.count)
        if self.first is not None:
            count("first", self.first)


class Suspicion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that seems lost, or how such a suspicion ended; `at_ns` is Unix time here."""

    id: MessageId
    state: SuspicionState
    at_ns: int

    def __post_init__(self) -> None:
        one_of("state", self.state, ("suspected", *Fate))


def _fates() -> str:
    return ", ".join(f'"{fate}"' for fate in REASONS)
