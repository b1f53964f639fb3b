"""A link on which messages overtake one another, because each has a delay of its own.

It has no queue and no rate: a packet is in flight as soon as it is sent. Cuts, duplication and
corruption work as on other links; nothing is queued, so nothing is urgent.
"""

from __future__ import annotations

from typing import Final, TypeVar

from penstock.kernel.seeds import Seeds
from penstock.sim.channel.path_model import PathModel, PathSampler
from penstock.sim.events import EventQueue
from penstock.sim.impairments import LOST
from penstock.sim.link import FrameReceiver, Link
from penstock.sim.link_spec import LinkSpec

Frame = TypeVar("Frame")


class ReorderingLink(Link[Frame]):
    """A link along `path`; it drops a lost packet at the time of sending."""

    __slots__ = ("_generation", "_path_sampler")

    def __init__(
        self,
        name: str,
        path: PathModel,
        receiver: FrameReceiver[Frame],
        *,
        events: EventQueue,
        seeds: Seeds,
    ) -> None:
        super().__init__(name, LinkSpec(), receiver, events=events, seeds=seeds)
        self._path_sampler: Final = PathSampler(path, seeds.child("path", name))
        # Packets sent before a cut carry an older generation and never arrive.
        self._generation = 0

    def send(self, frame: Frame, size_bytes: int, urgent: bool = False) -> None:  # noqa: ARG002
        """Accepts `frame` or drops it."""
        events = self._events
        if self._is_observed:
            assert self._observer is not None
            self._observer.on_send(self, frame, size_bytes, now=events.now)
        if self._cuts:
            self._drop(frame, "down")
            return
        self.sent_frames += 1
        self.sent_bytes += size_bytes
        delays_ns = self._path_sampler.draw()
        impairment = self.impairments.draw()[0] if self.impairments.are_possible else 0
        if not delays_ns or impairment == LOST:
            self._drop(frame, "loss")
            return
        for delay_ns in delays_ns:
            events.schedule(
                events.now + delay_ns, self._arrive, self._generation, impairment, frame
            )

    def _arrive(self, generation: int, impairment: int, frame: Frame) -> None:
        if generation == self._generation:
            self._actions[impairment](frame)
        else:
            self._drop(frame, "down")

    def cut(self) -> None:
        """Takes the link down; packets in flight are reported as dropped at their arrival times."""
        self._generation += 1
        super().cut()
