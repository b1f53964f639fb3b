"""What a publisher sends, and how it is asked about: the part in which files and streams differ."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.bloomcast.publisher.announcements import Announcements
from penstock.bloomcast.publisher.generation import Train
from penstock.bloomcast.publisher.pacing import Pacing
from penstock.bloomcast.publisher.unreached import Unreached
from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.cast.header import Header


class Session(NamedTuple):
    """What a publisher shares with what it sends."""

    head: SegmentHead
    say: Announcements
    pacing: Pacing
    unreached: Unreached
    settings: CastSettings


class Contents(Protocol):
    """Of one transfer."""

    @property
    def is_unasked(self) -> bool:
        """Whether no END was said yet: who has not answered FIRST is then asked by FIRST alone."""

    @property
    def is_sending(self) -> bool:
        """Whether there is a train to send, or END to say in its place."""

    @property
    def is_over(self) -> bool:
        """Whether all has been sent, and all are done."""

    @property
    def is_spent(self) -> bool:
        """Whether there are no more generations, but under another epoch."""

    @property
    def end_block(self) -> int:
        """Of a stream, the number that a further block would have."""

    def counts(self) -> tuple[int, int]:
        """Subscribers that are done, and all."""

    def begin(self, now: Instant) -> None:
        """FIRST has been answered, or was waited for."""

    def begin_epoch(self) -> None:
        """Everything is sent anew."""

    def next_train(self, symbols_max: int, now: Instant) -> Train | None:
        """What to send next; says END where all of a generation has been sent."""

    def came(self, ends: list[int], now: Instant) -> None:
        """These ends are new."""

    def on_report(self, header: Header, now: Instant) -> None:
        """An end has said something new."""

    def wake(self, now: Instant) -> None:
        """Does what is due."""

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
