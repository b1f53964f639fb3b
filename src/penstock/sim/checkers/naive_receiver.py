"""A naive twin of what an endpoint knows of publishers: which frames it must take, and why not.

Remembers every number that came as a member of a set. Only what bounds an
endpoint's memory is the same here, because it decides what is taken: publishers
heard longest ago are forgotten first, and numbers far below the last run of
consecutive ones are too old to tell. No run is so long that a publisher could be
silent until any epoch of it counts as new. Knows no subscriptions.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from penstock.transport.receive.publisher_image import WINDOW_SIZE
from penstock.wire.frames.data import Data
from penstock.wire.serial import EPOCH_BITS, SEQ_BITS, distance, newer

# The names of an endpoint's counters.
Refusal: TypeAlias = Literal["duplicate", "too_old", "old_epoch"]


class Heard:
    """One epoch of one publisher, from its first message until it is forgotten."""

    __slots__ = ("_run_start", "begun", "epoch", "highest", "numbers", "passed", "pub")

    def __init__(self, first: Data) -> None:
        self.pub: Final = first.pub
        self.epoch: Final = first.epoch
        # What was before it is nobody's to bring.
        self.begun: Final = first.seq
        self.highest = first.seq - 1
        self.numbers: Final[set[int]] = set()
        # Those of which a repair showed that nobody here wants them; they did not come.
        self.passed: Final[set[int]] = set()
        self._run_start = first.seq

    def number(self, seq: int) -> int:
        """The number, which does not wrap around, that is meant."""
        return self.highest + distance(seq, self.highest & (1 << SEQ_BITS) - 1, SEQ_BITS)

    def is_too_old(self, number: int) -> bool:
        """Whether an endpoint does not remember so far back."""
        return number < self._run_start - WINDOW_SIZE

    def add(self, number: int) -> None:
        """It came."""
        self.numbers.add(number)
        if number > self.highest:
            if number > self.highest + 1:
                self._run_start = number
            self.highest = number


@dataclass(frozen=True, slots=True)
class Hearing:
    """What must become of a frame; `ended` are the publishers' epochs that it put an end to."""

    refusal: Refusal | None
    heard: Heard
    number: int
    ended: tuple[Heard, ...] = ()


class Publishers:
    """Those that an endpoint remembers, the one heard last at the end."""

    __slots__ = ("_max", "all")

    def __init__(self, publishers_max: int) -> None:
        self._max: Final = publishers_max
        self.all: Final[OrderedDict[int, Heard]] = OrderedDict()

    def hear(self, frame: Data, missed: set[tuple[Heard, int]]) -> Hearing:
        """A frame comes; `missed` are the numbers that are missed, which are never too old."""
        known = self.all.get(frame.pub)
        ended: list[Heard] = []
        if known is not None and known.epoch == frame.epoch:
            self.all.move_to_end(frame.pub)
        elif known is not None and not newer(frame.epoch, known.epoch, EPOCH_BITS):
            return Hearing("old_epoch", known, known.number(frame.seq))
        else:
            if known is not None:
                ended.append(self.all.pop(frame.pub))
            elif len(self.all) >= self._max:
                ended.append(self.all.popitem(last=False)[1])
            known = self.all[frame.pub] = Heard(frame)
        number = known.number(frame.seq)
        refusal: Refusal | None = None
        if known.is_too_old(number) and (known, number) not in missed:
            refusal = "too_old"
        elif number in known.numbers:
            refusal = "duplicate"
        else:
            known.add(number)
        return Hearing(refusal, known, number, tuple(ended))
