"""A naive twin of an endpoint's publisher table: which frames it must accept or refuse, and why.

Keeps every sequence number that arrived in a set. Only the bounds on an endpoint's memory are
the same, because they decide what is accepted: the publisher heard longest ago is forgotten
first, and numbers far below the last consecutive run are too old to judge. No run is long
enough for the rule that, after a long silence, any epoch counts as new. Knows no subscriptions.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from penstock.kernel.sequence import EPOCH, SEQ
from penstock.transport.receive.publisher_image import WINDOW_SIZE
from penstock.wire.frames.data import Data

# Names of an endpoint's counters.
Refusal: TypeAlias = Literal["duplicate", "too_old", "old_epoch"]


class NaiveImage:
    """One epoch of one publisher, from its first message until it is forgotten."""

    __slots__ = ("_run_start", "epoch", "first", "highest", "irrelevant", "pub", "received")

    def __init__(self, first: Data) -> None:
        self.pub: Final = first.pub
        self.epoch: Final = first.epoch
        # Messages before the first are not expected.
        self.first: Final = first.seq
        self.highest = first.seq - 1
        self.received: Final[set[int]] = set()
        # Sequence numbers that a repair showed to be of no interest here; they did not arrive.
        self.irrelevant: Final[set[int]] = set()
        self._run_start = first.seq

    def unwrap(self, seq: int) -> int:
        """The extended sequence number of `seq`."""
        return self.highest + SEQ.distance(seq, self.highest & SEQ.mask)

    def is_too_old(self, extended_seq: int) -> bool:
        """Whether the number is below the window that an endpoint keeps."""
        return extended_seq < self._run_start - WINDOW_SIZE

    def add(self, extended_seq: int) -> None:
        """Adds a received sequence number."""
        self.received.add(extended_seq)
        if extended_seq > self.highest:
            if extended_seq > self.highest + 1:
                self._run_start = extended_seq
            self.highest = extended_seq


@dataclass(frozen=True, slots=True)
class Reception:
    """What must become of a frame; `closed` are the images that it ended."""

    refusal: Refusal | None
    image: NaiveImage
    extended_seq: int
    closed: tuple[NaiveImage, ...] = ()


class NaiveReceiver:
    """The images that an endpoint keeps, the most recently heard last."""

    __slots__ = ("_publishers_max", "images")

    def __init__(self, publishers_max: int) -> None:
        self._publishers_max: Final = publishers_max
        self.images: Final[OrderedDict[int, NaiveImage]] = OrderedDict()

    def receive(self, frame: Data, missing: set[tuple[NaiveImage, int]]) -> Reception:
        """Classifies a frame; messages in `missing` are never too old."""
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
