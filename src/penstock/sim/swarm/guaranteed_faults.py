"""The faults of a swarm test of guaranteed streams, and what mends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from penstock.content.syntax import parse
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.swarm.guaranteed_options import FILTERS, GuaranteedOptions

_CLOCK_STEPS_S: Final = (-3600, -5, 5, 10)


class GuaranteedFaults:
    """Breaks things, and remembers how each is mended."""

    def __init__(
        self,
        network: StreamNetwork,
        options: GuaranteedOptions,
        rng: Random,
        *,
        readers: list[ReadingProgram],
        writers: list[Writer],
    ) -> None:
        self.counts: Final[Counter[str]] = Counter()
        self._network: Final = network
        self._options: Final = options
        self._rng: Final = rng
        # Those that have joined.
        self._readers: Final = readers
        self._writers: Final = writers
        self._mends: Final[list[Callable[[], None]]] = []
        self._are_over = False

    def fail(self) -> None:
        """Lets one thing go wrong."""
        kind = self._rng.choice(self._options.fault_kinds)
        self.counts[kind] += 1
        getattr(self, f"_{kind}")()

    def mend_all(self) -> None:
        """Everything works from now on."""
        self._are_over = True
        while self._mends:
            self._mends.pop()()
        self.connect_all()

    def connect_all(self) -> None:
        """Brings all links and connections up whose ends are."""
        for child, parent in self._options.links:
            self._network.connect(child, parent)
        for client in self._network.clients.values():
            client.connect()

    # Brokers

    def _crash(self) -> None:
        self._kill(self._rng.choice(self._options.tree)[0])

    def _crash_pair(self) -> None:
        tree = self._options.tree
        for name, _ in self._rng.sample(tree, min(2, len(tree))):
            self._kill(name)

    def _kill(self, name: str) -> None:
        if self._network.brokers[name].is_up:
            self._network.crash(name)
            self._mends.append(lambda: self._network.restart(name))

    def _clock_step(self) -> None:
        broker = self._rng.choice([*self._network.brokers.values()])
        broker.wall_offset_ns += self._rng.choice(_CLOCK_STEPS_S) * SECOND

    # Links

    def _cut(self) -> None:
        if self._options.links:
            self._cut_link(*self._rng.choice(self._options.links))

    def _cut_in_recovery(self) -> None:
        """All comes back, and soon after a link is cut."""
        self._mend_one()
        if self._options.links:
            child, parent = self._rng.choice(self._options.links)
            at = self._network.events.now + self._rng.randrange(300) * MILLISECOND
            self._network.events.schedule(at, self._cut_link, child, parent)

    def _cut_link(self, child: str, parent: str) -> None:
        if not self._are_over:
            self._network.cut(child, parent)

    # Programs

    def _disconnect(self) -> None:
        self._rng.choice([*self._network.clients.values()]).disconnect()

    def _reader_crash(self) -> None:
        if self._readers:
            self._rng.choice(self._readers).crash()

    def _reader_reopens(self) -> None:
        if self._readers:
            reader = self._rng.choice(self._readers)
            reader.close()
            reader.open()

    def _reader_leaves(self) -> None:
        """It comes back with everything else that is mended."""
        if self._readers:
            reader = self._rng.choice(self._readers)
            reader.close()
            self._mends.append(lambda: None if reader.is_open else reader.open())

    def _filter_change(self) -> None:
        if self._readers:
            reader = self._rng.choice(self._readers)
            reader.close()
            reader.predicate = parse(self._rng.choice(FILTERS))
            reader.open()

    def _pause(self) -> None:
        if self._readers:
            reader = self._rng.choice(self._readers)
            reader.is_paused = True
            self._mends.append(reader.resume)

    def _writer_crash(self) -> None:
        self._rng.choice(self._writers).crash(repeats=self._rng.choice((0, 3)))

    # Mending

    def _mend_one(self) -> None:
        if self._mends:
            self._mends.pop(self._rng.randrange(len(self._mends)))()
        self.connect_all()
