"""The faults of a swarm test of guaranteed streams, and what mends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from penstock.content.syntax import parse
from penstock.guaranteed.tick import tick_of
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import FIRST, NOW, ReadingProgram, Writer
from penstock.sim.guaranteed.disk import DiskBackup
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
        stream: str,
        *,
        readers: list[ReadingProgram],
        writers: list[Writer],
        replace: Callable[[ReadingProgram], None],
    ) -> None:
        self.counts: Final[Counter[str]] = Counter()
        self._network: Final = network
        self._options: Final = options
        self._stream: Final = stream
        self._rng: Final = rng
        # Those that have joined.
        self._readers: Final = readers
        self._writers: Final = writers
        # Lets another program come, with another name, in the place of one that was forgotten.
        self._replace: Final = replace
        # Of which the first broker was told that they will not come back.
        self.forgotten_hosts: Final[set[str]] = set()
        # By durable name: its host.
        self._forgotten_names: Final[dict[str, str]] = {}
        self._backups: Final[dict[str, DiskBackup]] = {}
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
        for name, host in self._forgotten_names.items():
            # A crash may have come before that was stored: who got no answer asks again.
            self._network.brokers[host].call(
                lambda b, now, name=name: b.host.names.forget(name, now=now)  # type: ignore[misc]
            )
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
            for reader in self._readers:
                if reader.client.broker == name:
                    reader.settle_skip()
            self._network.crash(name)
            self._mends.append(lambda: self._network.restart(name))

    def _forget_host(self) -> None:
        """A host seems to be gone for good, and its messages are freed; it comes back all the same.

        What was trimmed meanwhile its readers are told as a gap.
        """
        root = self._network.brokers[self._root]
        others = [name for name, _ in self._options.tree if name != self._root]
        if others and root.is_up:
            host = self._rng.choice(others)
            self._kill(host)
            self.forgotten_hosts.add(host)
            for pubend in root.machine.pubends.values():
                pubend.rows.forget(host)
            root.drain()

    def _clock_step(self) -> None:
        broker = self._rng.choice([*self._network.brokers.values()])
        broker.wall_offset_ns += self._rng.choice(_CLOCK_STEPS_S) * SECOND

    def _back_up(self) -> None:
        disk = self._network.brokers[self._root].disk
        self._backups[self._root] = disk.backup()

    def _roll_back(self) -> None:
        """The logs of the first broker are as they were at the last backup; nothing else is."""
        backup = self._backups.get(self._root)
        broker = self._network.brokers[self._root]
        if backup is None or not broker.is_up:
            return
        wall_tick = tick_of(broker.wall_ns // MILLISECOND)
        if any(p.clock.now_tick(broker.now) > wall_tick for p in broker.machine.pubends.values()):
            # Stream time is ahead of the clock after quick restarts: ticks would be given again.
            return
        self._kill(self._root)
        broker.disk.restore(DiskBackup(backup.logs, dict(broker.disk.saved)))

    def _recreate(self) -> None:
        # Logs of before are not those of the streams that there are now.
        self._backups.clear()
        self._network.brokers[self._root].recreate(self._stream)

    @property
    def _root(self) -> str:
        return self._options.tree[0][0]

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
            self._mends.append(
                lambda: None if reader.is_open or reader not in self._readers else reader.open()
            )

    def _filter_change(self) -> None:
        if self._readers:
            reader = self._rng.choice(self._readers)
            reader.close()
            reader.predicate = parse(self._rng.choice(FILTERS))
            reader.open()

    def _seek(self) -> None:
        """To the first message, or past all that is there."""
        durable = [reader for reader in self._readers if reader.durable]
        if durable:
            reader, kind = self._rng.choice(durable), self._rng.choice((FIRST, NOW))
            broker = self._network.brokers[reader.client.broker]
            if broker.is_up and reader.durable in broker.machine.host.durables:
                # The first message that there is may lie behind others that were given up.
                gives_up = self._options.retention.drops or broker.name in self.forgotten_hosts
                reader.begin_seek(skips=kind is NOW or gives_up)
                broker.call(
                    lambda b, now: b.host.names.seek(
                        reader.durable, kind, then=lambda _done: reader.settle_skip(), now=now
                    )
                )

    def _forget(self) -> None:
        """A durable name is forgotten; another takes its place."""
        durable = [reader for reader in self._readers if reader.durable]
        if durable:
            reader = self._rng.choice(durable)
            broker = self._network.brokers[reader.client.broker]
            if broker.is_up and reader.durable in broker.machine.host.durables:
                reader.close()
                self._forgotten_names[reader.durable] = broker.name
                broker.call(lambda b, now: b.host.names.forget(reader.durable, now=now))
                self._readers.remove(reader)
                self._replace(reader)

    def _fail(self) -> None:
        """A program cannot deal with what comes next, several times."""
        if self._readers:
            self._rng.choice(self._readers).to_fail += self._rng.randint(1, 4)

    def _pause(self) -> None:
        if self._readers:
            reader = self._rng.choice(self._readers)
            reader.is_paused = True
            self._mends.append(reader.resume)

    def _writer_crash(self) -> None:
        # What went with a log is stored again, and rightly so.
        may_repeat = not {"roll_back", "recreate"} & {*self._options.fault_kinds}
        repeats = self._rng.choice((0, 3)) if may_repeat else 0
        self._rng.choice(self._writers).crash(repeats=repeats)

    # Mending

    def _mend_one(self) -> None:
        if self._mends:
            self._mends.pop(self._rng.randrange(len(self._mends)))()
        self.connect_all()
