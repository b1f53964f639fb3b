"""Counts what messages cross links from parents to children for: once, as a repair, or again.

A message has to cross a link once. It has to cross again if the relay behind the link is asked for
it after its cache has given it up, which is looked at when the relay is asked first. All other
crossings are repeats. What is on its way when a link is cut has not crossed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from penstock.guaranteed.broker import AnyFrame
from penstock.guaranteed.relay.relay import Relay
from penstock.kernel.interval_set import IntervalSet
from penstock.kernel.machine import Port
from penstock.sim.guaranteed.sim_broker import SimBroker, size_of
from penstock.sim.guaranteed.watcher import NetworkWatcher
from penstock.wire.frames.guaranteed.knowledge import Data
from penstock.wire.frames.guaranteed.requests import Nack

# First crossings, repairs, repeats, and bytes of the first two.
Counts: TypeAlias = tuple[int, int, int, int]


class LinkCrossings:
    """Messages of one pubend on one link, since the counts were last taken."""

    __slots__ = ("_crossed", "first", "necessary_bytes", "repair", "repeat")

    def __init__(self) -> None:
        self.first = 0
        self.repair = 0
        self.repeat = 0
        # Of first crossings and repairs.
        self.necessary_bytes = 0
        # The ticks of all messages that have crossed.
        self._crossed: Final[set[int]] = set()

    def cross(self, tick: int, lacking: IntervalSet | None, size_bytes: int) -> None:
        """One message; ticks that are lacking behind the link are so until it has crossed."""
        if tick not in self._crossed:
            self._crossed.add(tick)
            self.first += 1
            self.necessary_bytes += size_bytes
        elif lacking and tick in lacking:
            self.repair += 1
            self.necessary_bytes += size_bytes
        else:
            self.repeat += 1
        if lacking:
            lacking.remove(tick, tick + 1)

    def take(self) -> Counts:
        """First crossings, repairs, repeats and necessary bytes; all count from 0 again."""
        counts = self.first, self.repair, self.repeat, self.necessary_bytes
        self.first = self.repair = self.repeat = self.necessary_bytes = 0
        return counts


class CrossingCounter(NetworkWatcher):
    """All links and pubends of a network."""

    def __init__(self, brokers: Mapping[str, SimBroker]) -> None:
        self._brokers: Final = brokers
        # By parent, child and pubend.
        self._links: Final[dict[tuple[str, str, int], LinkCrossings]] = {}
        # By broker and pubend: what children have asked for, and what of it was not cached then.
        self._asked: Final[dict[tuple[str, int], IntervalSet]] = {}
        self._lacking: Final[dict[tuple[str, int], IntervalSet]] = {}

    def on_arrival(self, receiver: str, port: Port, frames: Sequence[AnyFrame]) -> None:
        """Looks at messages from parents, and at what children ask for."""
        for frame in frames:
            if type(frame) is Data:
                key = port, receiver, frame.pubend
                link = self._links.get(key)
                if link is None:
                    link = self._links[key] = LinkCrossings()
                lacking = self._lacking.get((receiver, frame.pubend))
                link.cross(frame.tick, lacking, size_of(frame))
            elif type(frame) is Nack:
                self._on_nack(receiver, frame)

    def take(self) -> Iterator[tuple[str, str, int, Counts]]:
        """Parent, child, pubend and the counts since they were last taken."""
        for (parent, child, pubend), link in self._links.items():
            yield parent, child, pubend, link.take()

    def _on_nack(self, broker: str, frame: Nack) -> None:
        machine = self._brokers[broker].machine
        relay = machine.relays.get(frame.pubend)
        # A pubend has all messages on disk: no link leads to it.
        if relay is None or frame.pubend in machine.pubends:
            return
        key = broker, frame.pubend
        asked = self._asked.setdefault(key, IntervalSet())
        lacking = self._lacking.setdefault(key, IntervalSet())
        for start, end in frame.ranges:
            stop = min(end, relay.horizon)
            for begin, behind in asked.missing(start, stop):
                _add_unknown(lacking, relay, begin, behind)
            asked.add(start, stop)


def _add_unknown(lacking: IntervalSet, relay: Relay, start: int, stop: int) -> None:
    for interval in relay.cache.known.unknown(start, stop):
        lacking.add(*interval)
