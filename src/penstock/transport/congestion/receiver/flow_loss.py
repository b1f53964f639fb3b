"""Losses by the numbers of one flow: exact, for nobody else's messages are counted in it.

A number that is skipped may be late only. It is lost once three that were sent after it
have come, as TCP has it, or a round trip is over.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.wire.serial import distance

_SEQ_BITS: Final = 32
_LATER: Final = 3
# A jump of more is no loss: numbers began anew, or somebody else's are mixed with them.
_JUMP_MAX: Final = 1_024


class _Skipped:
    __slots__ = ("due_ns", "later")

    def __init__(self, due_ns: Instant) -> None:
        self.due_ns: Final = due_ns
        self.later = 0


class Numbers:
    """Of one flow, as one receiver sees them."""

    __slots__ = ("_last", "_skipped")

    def __init__(self) -> None:
        self._last: int | None = None
        self._skipped: Final[OrderedDict[int, _Skipped]] = OrderedDict()

    def on_came(self, number: int, rtt_ns: Duration, now: Instant) -> list[Instant]:
        """This one came; returns when each that is lost now would have come."""
        ahead = 1 if self._last is None else distance(number, self._last, _SEQ_BITS)
        if ahead <= 0:
            self._skipped.pop(number, None)
        elif ahead > _JUMP_MAX:
            self._skipped.clear()
        else:
            for back in range(ahead - 1, 0, -1):
                self._skipped[(number - back) & ((1 << _SEQ_BITS) - 1)] = _Skipped(now)
        if ahead > 0:
            self._last = number
        return self._lost(number, rtt_ns, now)

    def clear(self) -> None:
        """They begin anew."""
        self._last = None
        self._skipped.clear()

    def _lost(self, number: int, rtt_ns: Duration, now: Instant) -> list[Instant]:
        lost = []
        for skipped, each in list(self._skipped.items()):
            each.later += distance(number, skipped, _SEQ_BITS) > 0
            if each.later >= _LATER or now - each.due_ns >= rtt_ns:
                lost.append(each.due_ns)
                del self._skipped[skipped]
        return lost
