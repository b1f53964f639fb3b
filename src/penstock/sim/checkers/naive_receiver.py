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

from penstock.kernel.sequence import EPOCH, SEQ
from penstock.transport.receive.publisher_image import WINDOW_SIZE
from penstock.wire.frames.data import Data

# The names of an endpoint's counters.
Refusal: TypeAlias = Literal["duplicate", "too_old", "old_epoch"]


class NaiveImage:
    """One epoch of one publisher, from its first message until it is forgotten."""

    __slots__ = ("_run_start", "epoch", "first", "highest", "irrelevant", "pub", "received")

    def __init__(self, first: Data) -> None:
        self.pub: Final = first.pub
        self.epoch: Final = first.epoch
        # What was before it is nobody's to bring.
        self.first: Final = first.seq
        self.highest = first.seq - 1
        self.received: Final[set[int]] = set()
        # Those of which a repair showed that nobody here wants them; they did not come.
        self.irrelevant: Final[set[int]] = set()
        self._run_start = first.seq

    def unwrap(self, seq: int) -> int:
        """The number, which does not wrap around, that is meant."""
        return self.highest + SEQ.distance(seq, self.highest & SEQ.mask)

    def is_too_old(self, extended_seq: int) -> bool:
        """Whether an endpoint does not remember so far back."""
        return extended_seq < self._run_start - WINDOW_SIZE

    def add(self, extended_seq: int) -> None:
        """It came."""
        self.received.add(extended_seq)
        if extended_seq > self.highest:
            if extended_seq > self.highest + 1:
                self._run_start = extended_seq
            self.highest = extended_seq


@dataclass(frozen=True, slots=True)
class Reception:
    """What must become of a frame; `ended` are the publishers' epochs that it put an end to."""

    refusal: Refusal | None
    image: NaiveImage
    extended_seq: int
    closed: tuple[NaiveImage, ...] = ()


class NaiveReceiver:
    """Those that an endpoint remembers, the one heard last at the end."""

    __slots__ = ("_publishers_max", "images")

    def __init__(self, publishers_max: int) -> None:
        self._publishers_max: Final = publishers_max
        self.images: Final[OrderedDict[int, NaiveImage]] = OrderedDict()

    def receive(self, frame: Data, missing: set[tuple[NaiveImage, int]]) -> Reception:
        """A frame comes; `missed` are the numbers that are missed, which are never too old."""
        known = self.images.get(frame.pub)
        closed: list[NaiveImage] = []
        if known is not None and known.epoch == frame.epoch:
            self.images.move_to_end(frame.pub)
        elif known is not None and not EPOCH.is_newer(frame.epoch, known.epoch):
            return Reception("old_epoch", known, known.unwrap(frame.seq))
        else:
            if known is not None:
                closed.append(self.images.pop(frame.pub))
            elif len(self.images) >= self._publishers_max:
                closed.append(self.images.popitem(last=False)[1])
            known = self.images[frame.pub] = NaiveImage(frame)
        extended_seq = known.unwrap(frame.seq)
        refusal: Refusal | None = None
        if known.is_too_old(extended_seq) and (known, extended_seq) not in missing:
            refusal = "too_old"
        elif extended_seq in known.received:
            refusal = "duplicate"
        else:
            known.add(extended_seq)
        return Reception(refusal, known, extended_seq, tuple(closed))
