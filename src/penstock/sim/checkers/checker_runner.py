"""Runs the checkers of one run: passes every event to them and collects their violations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.machine import Deliver, Record
from penstock.overlay.facts import RoutingDecision
from penstock.sim.broker_network import BrokerNetwork
from penstock.sim.checkers.base import Checker, Guarantees, Violation
from penstock.sim.checkers.interest_history import InterestHistory
from penstock.sim.host import Host
from penstock.sim.link import Link
from penstock.sim.observer import DropReason, Observer
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId

# Per checker: enough to understand a failure. A broken run may violate at every packet.
VIOLATIONS_MAX: Final = 5
INSPECT_INTERVAL_NS: Final = 100 * MILLISECOND


class CheckFailed(AssertionError):  # noqa: N818  a verdict, not an error
    """A guarantee was violated; the text says what, where and when."""


@dataclass(frozen=True, slots=True)
class PublishedMessage:
    """A message, its publisher and the time of publication."""

    frame: Data
    client: str
    at: Instant


class CheckerRunner(Observer):
    """Pass `deliver` and `record` to the network's outlets, then call `begin`."""

    def __init__(self, checkers: Iterable[Checker]) -> None:
        self.interests: Final = InterestHistory()
        self.published: Final[dict[MessageId, PublishedMessage]] = {}
        self.violations: Final[list[Violation]] = []
        # The ends of each link by name: links between brokers, and links of clients.
        self.broker_links: Final[dict[str, tuple[str, str]]] = {}
        self.access_links: Final[dict[str, tuple[str, str]]] = {}
        # From then on nothing fails, and all brokers have converged.
        self.calm_since: Instant | None = None
        self._checkers: Final = tuple(checkers)
        self._network: BrokerNetwork | None = None
        self._guarantees: Guarantees | None = None
        self._sends: Final = self._overridden_hooks("on_send")
        self._arrivals: Final = self._overridden_hooks("on_arrive")
        self._drops: Final = self._overridden_hooks("on_drop")
        self._decisions: Final = self._overridden_hooks("on_decision")

    def _overridden_hooks(self, hook: str) -> list[Callable[..., None]]:
        """Hooks of those checkers that override `hook`: a run has many frames."""
        return [
            getattr(checker, hook)
            for checker in self._checkers
            if getattr(type(checker), hook) is not getattr(Checker, hook)
        ]

    @property
    def network(self) -> BrokerNetwork:
        """The network that is checked."""
        assert self._network is not None, "begin first"
        return self._network

    @property
    def guarantees(self) -> Guarantees:
        """The guarantees of this run."""
        assert self._guarantees is not None, "begin first"
        return self._guarantees

    @property
    def now(self) -> Instant:
        """Global time."""
        return self.network.world.now

    def begin(
        self,
        network: BrokerNetwork,
        guarantees: Guarantees,
        *,
        inspect_interval_ns: Duration = INSPECT_INTERVAL_NS,
    ) -> None:
        """Starts checking; it ends with `finish`."""
        self._network, self._guarantees = network, guarantees
        for (sender, receiver), link in network.world.links.items():
            is_access = sender in network.home_brokers or receiver in network.home_brokers
            (self.access_links if is_access else self.broker_links)[link.name] = (sender, receiver)
        for checker in self._checkers:
            checker.begin(self)
        network.world.observe(self)
        self._inspect(inspect_interval_ns)

    def calm(self) -> None:
        """Declares that nothing fails from now on, and that all brokers have converged."""
        self.calm_since = self.now

    def add_violation(self, checker: str, place: str, what: str) -> None:
        """Adds a violation, unless this checker has reported enough."""
        if sum(violation.checker == checker for violation in self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(self.now, checker, place, what))

    def finish(self) -> None:
        """Runs the final checks; all frames sent must have had time to arrive."""
        for checker in self._checkers:
            checker.inspect(now=self.now)
            checker.finish(now=self.now)

    def raise_if_violated(self) -> None:
        """Raises `CheckFailed` if there is any violation."""
        if self.violations:
            raise CheckFailed("\n".join(map(str, self.violations)))

    # Events of the run.

    def publish(self, client: str, frame: Data) -> None:
        """Reports a message; call this just before the client sends it."""
        self.published[frame.id] = PublishedMessage(frame, client, self.now)
        for checker in self._checkers:
            checker.on_publish(client, frame, now=self.now)

    def deliver(self, host: Host[Any, Any], output: Deliver) -> None:
        """Reports a frame that an application receives."""
        assert isinstance(output.item, TransportFrame)
        for checker in self._checkers:
            checker.on_deliver(host.name, output.item, now=self.now)

    def record(self, host: Host[Any, Any], output: Record) -> None:
        """Reports a routing decision of a broker."""
        assert isinstance(output.row, RoutingDecision)
        for hook in self._decisions:
            hook(host.name, output.row, now=self.now)

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:
        """Calls every checker that overrides this hook."""
        for hook in self._sends:
            hook(link, frame, size_bytes, now=now)

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:
        """Calls every checker that overrides this hook."""
        for hook in self._arrivals:
            hook(link, frame, now=now)

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:
        """Calls every checker that overrides this hook."""
        for hook in self._drops:
            hook(place, frame, reason, now=now)

    def _inspect(self, interval_ns: Duration) -> None:
        for checker in self._checkers:
            checker.inspect(now=self.now)
        self.network.world.events.schedule(self.now + interval_ns, self._inspect, interval_ns)
