"""What a checker is, what it is told, and what it may rely on.

A checker hears of everything that happens in a run and objects to what must not
be. It changes nothing, and believes only what can be seen from outside: frames
on links, what applications asked for, said and got, and the sizes and counters
that machines show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.kernel.instant import Duration, Instant, to_seconds
from penstock.overlay.facts import RoutingDecision
from penstock.overlay.settings import OverlaySettings
from penstock.sim.observer import Observer
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data

if TYPE_CHECKING:
    from penstock.sim.checkers.checker_runner import CheckerRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """What is promised in one run, where it depends on the run."""

    settings: OverlaySettings
    # The longest that a frame is under way from one machine to the next.
    hop_ns: Duration
    # How long what a client took back may still be delivered to it.
    grace_ns: Duration
    # When nothing goes wrong, everybody knows of a change after this long.
    settled_ns: Duration
    # When nothing goes wrong, a message is with all who get it after this long.
    carried_ns: Duration
    # Whether frames may arrive as others than were sent. Then nothing is promised
    # of contents: links are trusted to carry what was said, or nothing.
    corrupts_frames: bool = False
    # The links, by name, on which frames may arrive twice.
    duplicating_links: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Violation:
    """What happened that must not."""

    at: Instant
    checker: str
    place: str
    what: str

    def __str__(self) -> str:
        return f"{to_seconds(self.at):.6f} s {self.place}: [{self.checker}] {self.what}"


class Checker(Observer):
    """Override what you want to hear; `object_to` what must not be."""

    name: ClassVar[str]
    runner: CheckerRunner

    def begin(self, runner: CheckerRunner) -> None:
        """The run starts; the network is built."""
        self.runner = runner

    def report_violation(self, place: str, what: str) -> None:
        """The run has failed."""
        self.runner.add_violation(self.name, place, what)

    def on_publish(self, client: str, frame: Data, *, now: Instant) -> None:
        """An application hands over a message; its client will send it now."""

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:
        """An application gets something."""

    def on_decision(self, broker: str, decision: RoutingDecision, *, now: Instant) -> None:
        """A broker that tells says what it did with a message."""

    def inspect(self, *, now: Instant) -> None:
        """Every now and then, between events: look at what does not announce itself."""

    def finish(self, *, now: Instant) -> None:
        """The run is over, and everything has had the time to arrive."""


def message_of(frame: Any) -> Data | None:
    """The message that an overlay frame carries, if it does."""
    parcel = getattr(frame, "carried", None)
    carried = None if parcel is None else parcel.frame
    return carried if isinstance(carried, Data) else None


def describe_message(frame: Data) -> str:
    """How a message is called in what checkers say."""
    return f"message {frame.pub}:{frame.seq} {dict(frame.message.attributes)}"
