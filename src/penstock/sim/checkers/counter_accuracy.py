"""Checks that the counters of brokers agree with observation.

`published`: PUBs that arrived. `forwarded`: PACKETs sent. `delivered`: NOTIFYs sent. And every
decision that a broker reports is in its counter.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.kernel.instant import Instant
from penstock.overlay.broker import Broker
from penstock.overlay.facts import RoutingDecision
from penstock.sim.checkers.base import Checker
from penstock.sim.link import Link
from penstock.sim.observer import DropReason
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub

_COUNTER_BY_FRAME: Final[dict[type, str]] = {Packet: "forwarded", Notify: "delivered"}
# One decision each; drops for lack of a route or for age are counted by destination.
_COUNTER_BY_DECISION: Final = {
    "entered": "published",
    "forwarded": "forwarded",
    "handed_over": "delivered",
    "filtered": "filtered",
    "no_match": "no_match",
    "duplicate": "duplicate",
}


class CounterAccuracy(Checker):
    """Keeps separate counts for each life of each broker."""

    name = "counting"

    def __init__(self) -> None:
        # By broker name, the machine that the counts belong to.
        self._machines: dict[str, Any] = {}
        self._observed: Counter[tuple[str, str]] = Counter()
        self._decided: Counter[tuple[str, str]] = Counter()
        self._entered: Counter[str] = Counter()
        self._has_crashed: dict[str, None] = {}

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:  # noqa: ARG002
        """Counts a frame that a broker sends."""
        counter = _COUNTER_BY_FRAME.get(type(frame))
        if counter is not None:
            links = self.runner.broker_links if counter == "forwarded" else self.runner.access_links
            self._count(self._observed, links[link.name][0], counter)

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:  # noqa: ARG002
        """Counts a PUB that arrives at a broker's host."""
        if type(frame) is Pub and link.name in self.runner.access_links:
            self._entered[self.runner.access_links[link.name][1]] += 1

    def on_drop(self, place: str, frame: Any, reason: DropReason, *, now: Instant) -> None:  # noqa: ARG002
        """Subtracts a PUB that the host drops before the broker gets it."""
        if type(frame) is Pub and place in self.runner.network.world.hosts:
            self._entered[place] -= 1

    def on_decision(self, broker: str, decision: RoutingDecision, *, now: Instant) -> None:  # noqa: ARG002
        """Counts a decision that a broker reports."""
        counter = _COUNTER_BY_DECISION.get(decision.reason or decision.action)
        if counter is not None:
            self._count(self._decided, broker, counter)

    def inspect(self, *, now: Instant) -> None:  # noqa: ARG002
        """Compares the broker's counters with the counts."""
        for name, host in self.runner.network.world.hosts.items():
            if not isinstance(host.machine, Broker) or not self._is_current(name):
                continue
            counters = host.machine.counters
            for counts, verb in ((self._observed, "seen"), (self._decided, "told")):
                for counter in (
                    _COUNTER_BY_FRAME.values() if verb == "seen" else _COUNTER_BY_DECISION.values()
                ):
                    if counters[counter] != counts[name, counter]:
                        self.report_violation(
                            name,
                            f"counts {counters[counter]} {counter},"
                            f" {counts[name, counter]} were {verb}",
                        )

    def finish(self, *, now: Instant) -> None:  # noqa: ARG002
        """A broker that never crashed has published every PUB that arrived."""
        for name, host in self.runner.network.world.hosts.items():
            if not isinstance(host.machine, Broker) or name in self._has_crashed:
                continue
            counters = host.machine.counters
            if counters["published"] != self._entered[name] and not counters["malformed"]:
                self.report_violation(
                    name,
                    f"counts {counters['published']} published, {self._entered[name]} arrived",
                )

    def _count(self, counts: Counter[tuple[str, str]], broker: str, counter: str) -> None:
        self._is_current(broker)
        counts[broker, counter] += 1

    def _is_current(self, name: str) -> bool:
        """Whether the host is up; resets the counts when it has a new machine."""
        host = self.runner.network.world.hosts[name]
        if not host.is_up:
            if name in self._machines:
                self._has_crashed[name] = None
            return False
        before = self._machines.get(name)
        if before is not host.machine:
            self._machines[name] = host.machine
            if before is not None:
                self._has_crashed[name] = None
                for counts in (self._observed, self._decided):
                    for key in [key for key in counts if key[0] == name]:
                        del counts[key]
        return True
