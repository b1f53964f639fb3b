"""The interface through which checkers and traces watch a run.

A world without observers pays nothing for them. Observers must not change what they watch: a
run with observers equals the run without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.kernel.instant import Instant

if TYPE_CHECKING:
    from penstock.sim.link import Link

# `queue_full`: no room in the queue. `loss`: lost on the wire. `down`: the link or the host was
# down. `corrupt`: arrived and could not be decoded.
DropReason: TypeAlias = Literal["queue_full", "loss", "down", "corrupt"]
DROP_REASONS: tuple[DropReason, ...] = ("queue_full", "loss", "down", "corrupt")


class Observer:
    """Override the events of interest; frames are the machines' own, not copies.

    With `drops_only`, an observer gets drops only and does not slow down other packets.
    """

    drops_only = False

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """A host offered `frame` to `link`, which may still drop it."""

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """`link` delivers `frame` to the host at its far end."""

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """`frame` was dropped; `place` is the name of a link or a host."""


class Observers(Observer):
    """Several observers, called in the order in which they were added."""

    def __init__(self, *observers: Observer) -> None:
        self._observers: list[Observer] = []
        self.drops_only = True
        for observer in observers:
            self.add(observer)

    def add(self, observer: Observer) -> None:
        """Adds an observer."""
        self._observers.append(observer)
        self.drops_only = self.drops_only and observer.drops_only

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """Calls every observer."""
        for observer in self._observers:
            observer.on_send(link, frame, size_bytes, now=now)

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """Calls every observer."""
        for observer in self._observers:
            observer.on_arrive(link, frame, now=now)

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """Calls every observer."""
        for observer in self._observers:
            observer.on_drop(place, frame, reason, now=now)


@dataclass(frozen=True, slots=True)
class LinkSample:
    """The state of a link at one instant; counts are since the start."""

    at: Instant
    link: str
    queue_bytes: int
    queue_frames: int
    sent_frames: int
    sent_bytes: int
    dropped_frames: int


@dataclass(frozen=True, slots=True)
class HostSample:
    """The input queue of a host at one instant; counts are since the start."""

    at: Instant
    host: str
    queue_frames: int
    received_frames: int
    dropped_frames: int
