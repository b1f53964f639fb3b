"""Watching a run from outside: what checkers and traces are told, and by whom.

Observers cost nothing where there are none. They must not change what they
watch; a run with observers is the same run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.kernel.instant import Instant

if TYPE_CHECKING:
    from penstock.sim.link import Link

# `queue_full`: no room to wait. `loss`: the wire lost it. `down`: the link or the host was.
# `corrupt`: it arrived and could not be read.
DropReason: TypeAlias = Literal["queue_full", "loss", "down", "corrupt"]
DROP_REASONS: tuple[DropReason, ...] = ("queue_full", "loss", "down", "corrupt")


class Observer:
    """Override what you want to hear; frames are the machines' own, not copies.

    One that is `drops_only` is told of drops alone, and makes no other packet slower.
    """

    drops_only = False

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """`frame` was offered to `link`, which may yet refuse it."""

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """`link` hands `frame` to the host at its far end."""

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """`frame` ends here; `place` is the name of a link or a host."""


class Observers(Observer):
    """Several, told in the order in which they came."""

    def __init__(self, *observers: Observer) -> None:
        self._observers: list[Observer] = []
        self.drops_only = True
        for observer in observers:
            self.add(observer)

    def add(self, observer: Observer) -> None:
        """One more."""
        self._observers.append(observer)
        self.drops_only = self.drops_only and observer.drops_only

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """Passes it on."""
        for observer in self._observers:
            observer.on_send(link, frame, size_bytes, now=now)

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """Passes it on."""
        for observer in self._observers:
            observer.on_arrive(link, frame, now=now)

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """Passes it on."""
        for observer in self._observers:
            observer.on_drop(place, frame, reason, now=now)


@dataclass(frozen=True, slots=True)
class LinkSample:
    """A link at one instant; the counts are since the start."""

    at: Instant
    link: str
    queue_bytes: int
    queue_frames: int
    sent_frames: int
    sent_bytes: int
    dropped_frames: int


@dataclass(frozen=True, slots=True)
class HostSample:
    """A host's input at one instant; the counts are since the start."""

    at: Instant
    host: str
    queue_frames: int
    received_frames: int
    dropped_frames: int
