"""The checker interface: the events a checker gets, and the guarantees it checks.

A checker sees all events of a run and reports violations. It changes nothing, and trusts only
what is visible from outside: frames on links, what applications subscribe to, publish and
receive, and the sizes and counters that machines expose.
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
    """The guarantees of one run, as far as they depend on the run."""

    settings: OverlaySettings
    # The longest time of a frame from one machine to the next.
    hop_ns: Duration
    # How long after an UNSUB a client may still get matching messages.
    grace_ns: Duration
    # Without faults, all brokers know a change after this time.
    settled_ns: Duration
    # Without faults, a message reaches all its receivers within this time.
    carried_ns: Duration
    # Whether frames may be altered on the way. Then nothing is guaranteed of contents: the protocol
    # relies on links to deliver a frame as sent, or not at all.
    corrupts_frames: bool = False
    # Names of the links on which frames may arrive twice.
    duplicating_links: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of a guarantee."""

    at: Instant
    checker: str
    place: str
    what: str

    def __str__(self) -> str:
        return f"{to_seconds(self.at):.6f} s {self.place}: [{self.checker}] {self.what}"


class Checker(Observer):
    """Override the events of interest; call `report_violation` on a breach."""

    name: ClassVar[str]
    runner: CheckerRunner

    def begin(self, runner: CheckerRunner) -> None:
        """The run starts; the network is complete."""
        self.runner = runner

    def report_violation(self, place: str, what: str) -> None:
        """Fails the run."""
        self.runner.add_violation(self.name, place, what)

    def on_publish(self, client: str, frame: Data, *, now: Instant) -> None:
        """An application publishes a message; its client sends it now."""

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:
        """An application receives a frame."""

    def on_decision(self, broker: str, decision: RoutingDecision, *, now: Instant) -> None:
        """A broker reports what it did with a message."""

    def inspect(self, *, now: Instant) -> None:
        """Called periodically, between events, to examine state that no event reports."""

    def finish(self, *, now: Instant) -> None:
        """The run is over, and all frames have had time to arrive."""


def message_of(frame: Any) -> Data | None:
    """The message that an overlay frame carries, if any."""
    parcel = getattr(frame, "carried", None)
    carried = None if parcel is None else parcel.frame
    return carried if isinstance(carried, Data) else None


def describe_message(frame: Data) -> str:
    """Text of a message in violations."""
    return f"message {frame.pub}:{frame.seq} {dict(frame.message.attributes)}"
