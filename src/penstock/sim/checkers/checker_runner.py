"""The watch around one run: tells every checker what happens, and keeps what they object to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.machine import Deliver, Record
from penstock.overlay.facts import RoutingDecision
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.checkers.base import Checker, Terms, Violation
from penstock.sim.checkers.interest_history import Wishes
from penstock.sim.host import Host
from penstock.sim.link import Link
from penstock.sim.observer import DropReason, Observer
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId

# Of each checker: enough to understand. In a broken run it may object to every packet.
VIOLATIONS_MAX: Final = 5
LOOK_EVERY_NS: Final = 100 * MILLISECOND


class CheckFailed(AssertionError):  # noqa: N818  a verdict, not a mishap
    """Something happened that must not; the text says what, where and when."""


@dataclass(frozen=True, slots=True)
class Publication:
    """A message and when it left."""

    frame: Data
    client: str
    at: Instant


class Watch(Observer):
    """Give `deliver` and `record` to the network's outlets, then `begin`."""

    def __init__(self, checkers: Iterable[Checker]) -> None:
        self.wishes: Final = Wishes()
        self.published: Final[dict[MessageId, Publication]] = {}
        self.violations: Final[list[Violation]] = []
        # The ends of each link between brokers, and of each from and to a client, by its name.
        self.broker_links: Final[dict[str, tuple[str, str]]] = {}
        self.access_links: Final[dict[str, tuple[str, str]]] = {}
        # From then on nothing goes wrong, and everybody knows everything.
        self.calm_since: Instant | None = None
        self._checkers: Final = tuple(checkers)
        self._network: BrokerNetwork | None = None
        self._terms: Terms | None = None
        self._sends: Final = self._hearing("on_send")
        self._arrivals: Final = self._hearing("on_arrive")
        self._drops: Final = self._hearing("on_drop")
        self._decisions: Final = self._hearing("on_decision")

    def _hearing(self, hook: str) -> list[Callable[..., None]]:
        """Only of those who want to hear it: a run has many frames."""
        return [
            getattr(checker, hook)
            for checker in self._checkers
            if getattr(type(checker), hook) is not getattr(Checker, hook)
        ]

    @property
    def network(self) -> BrokerNetwork:
        """What is watched."""
        assert self._network is not None, "begin first"
        return self._network

    @property
    def terms(self) -> Terms:
        """What is promised in this run."""
        assert self._terms is not None, "begin first"
        return self._terms

    @property
    def now(self) -> Instant:
        """Global time."""
        return self.network.world.now

    def begin(
        self, network: BrokerNetwork, terms: Terms, *, look_every_ns: Duration = LOOK_EVERY_NS
    ) -> None:
        """From now on, until `finish`."""
        self._network, self._terms = network, terms
        for (sender, receiver), link in network.world.links.items():
            is_access = sender in network.homes or receiver in network.homes
            (self.access_links if is_access else self.broker_links)[link.name] = (sender, receiver)
        for checker in self._checkers:
            checker.begin(self)
        network.world.observe(self)
        self._look(look_every_ns)

    def calm(self) -> None:
        """Nothing goes wrong from now on, and the last change was long ago."""
        self.calm_since = self.now

    def report(self, checker: str, place: str, what: str) -> None:
        """A checker objects."""
        if sum(violation.checker == checker for violation in self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(self.now, checker, place, what))

    def finish(self) -> None:
        """Everything that was sent has had the time to arrive: the checkers sum up."""
        for checker in self._checkers:
            checker.look(now=self.now)
            checker.finish(now=self.now)

    def verdict(self) -> None:
        """Raises if anybody objected."""
        if self.violations:
            raise CheckFailed("\n".join(map(str, self.violations)))

    # What happens.

    def publish(self, client: str, frame: Data) -> None:
        """Call this just before the client is given the message."""
        self.published[frame.id] = Publication(frame, client, self.now)
        for checker in self._checkers:
            checker.on_publish(client, frame, now=self.now)

    def deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        """What an application gets."""
        assert isinstance(output.item, TransportFrame)
        for checker in self._checkers:
            checker.on_deliver(host.name, output.item, now=self.now)

    def record(self, host: Host[Any, Any], output: Record) -> None:
        """What a broker tells."""
        assert isinstance(output.row, RoutingDecision)
        for hear in self._decisions:
            hear(host.name, output.row, now=self.now)

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """Passes it on."""
        for hear in self._sends:
            hear(link, frame, size_bytes, now=now)

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """Passes it on."""
        for hear in self._arrivals:
            hear(link, frame, now=now)

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """Passes it on."""
        for hear in self._drops:
            hear(place, frame, reason, now=now)

    def _look(self, every_ns: Duration) -> None:
        for checker in self._checkers:
            checker.look(now=self.now)
        self.network.world.events.schedule(self.now + every_ns, self._look, every_ns)
