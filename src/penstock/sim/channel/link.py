"""A link on which messages overtake one another, each taking a time of its own.

No queue and no rate: a packet is on its way as soon as it is sent. What cuts,
duplicates or garbles a link does so here too; nobody waits, so nobody is urgent.
"""

from __future__ import annotations

from typing import Final, TypeVar

from penstock.kernel.seeds import Seeds
from penstock.sim.channel.path_model import Journeys, Path
from penstock.sim.events import EventQueue
from penstock.sim.impairments import LOST
from penstock.sim.link import Link, Receiver
from penstock.sim.link_spec import LinkSpec

Frame = TypeVar("Frame")


class LooseLink(Link[Frame]):
    """Along `path`; what it loses it loses at once."""

    __slots__ = ("_journeys", "_life", "_on_way")

    def __init__(
        self, name: str, path: Path, receiver: Receiver[Frame], *, events: EventQueue, seeds: Seeds
    ) -> None:
        super().__init__(name, LinkSpec(), receiver, events=events, seeds=seeds)
        self._journeys: Final = Journeys(path, seeds.child("path", name))
        # What was sent before a cut never lands.
        self._life = 0
        self._on_way = 0

    def send(self, frame: Frame, size_bytes: int, urgent: bool = False) -> None:  # noqa: ARG002
        """Takes `frame` or drops it."""
        events = self._events
        if self._is_watched:
            assert self._observer is not None
            self._observer.on_send(self, frame, size_bytes, now=events.now)
        if self._cuts:
            self._drop(frame, "down")
            return
        self.sent_frames += 1
        self.sent_bytes += size_bytes
        delays_ns = self._journeys.draw()
        mishap = self.mishaps.draw()[0] if self.mishaps.are_possible else 0
        if not delays_ns or mishap == LOST:
            self._drop(frame, "loss")
            return
        for delay_ns in delays_ns:
            self._on_way += 1
            events.schedule(events.now + delay_ns, self._land, self._life, mishap, frame)

    def _land(self, life: int, mishap: int, frame: Frame) -> None:
        self._on_way -= 1
        if life == self._life:
            self._actions[mishap](frame)
        else:
            self._drop(frame, "down")

    def cut(self) -> None:
        """Goes down; what is on its way is told as dropped when it would have arrived."""
        self._life += 1
        super().cut()

    @property
    def on_way(self) -> int:
        """How many copies will still arrive, or would."""
        return self._on_way
