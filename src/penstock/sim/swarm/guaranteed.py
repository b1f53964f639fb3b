"""The swarm test of guaranteed streams: brokers, links and programs that fail, drawn from a seed.

A time of faults, in which messages are published, then a time in which everything works again.
After it nothing may be in doubt, and checkers from outside compare what programs saw with what was
confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from penstock.content.syntax import parse
from penstock.content.value import Value
from penstock.guaranteed.settings import (
    BrokerSettings,
    HostSettings,
    LinkSettings,
    PubendSettings,
    RelaySettings,
)
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.checkers.guaranteed.delivery import broken_promises, stored_twice
from penstock.sim.guaranteed.application import FIRST, NOW, ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

STREAM: Final = "orders"
QUIET_S_MAX: Final = 300
TREES: Final[tuple[dict[str, str | None], ...]] = (
    # By child: its parent.
    {"p": None},
    {"p": None, "s": "p"},
    {"p": None, "i": "p", "s": "i"},
    {"p": None, "i": "p", "s": "i", "t": "i"},
    {"p": None, "i": "p", "j": "i", "s": "j", "t": "p"},
)
FILTERS: Final = ("k = 1", "k < 2", "k >= 2", 'k = 0 or s = "x"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a seed has drawn."""

    tree: dict[str, str | None]
    pubends: int
    writers: int
    readers: int
    rate_per_s: int
    faults: int
    fault_time_ns: Duration
    with_codec: bool
    rate_bps: int | None
    queue_bytes: int
    cache_bytes: int
    window: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    options: Options
    wrong: list[str]
    confirmed: int
    delivered: int
    faults: dict[str, int]
    last_draw: float


def draw_options(rng: Random) -> Options:
    """Options for one run."""
    return Options(
        tree=rng.choice(TREES),
        pubends=1,
        writers=rng.randint(1, 3),
        readers=rng.randint(1, 4),
        rate_per_s=rng.choice((20, 100, 300)),
        faults=rng.choice((0, 5, 15, 30)),
        fault_time_ns=rng.choice((5, 10, 20)) * SECOND,
        with_codec=rng.random() < 0.3,
        rate_bps=rng.choice((None, None, 1_000_000)),
        queue_bytes=rng.choice((20_000, 5_000_000)),
        cache_bytes=rng.choice((5_000, 64_000_000)),
        window=rng.choice((1, 10, 1_000)),
    )


class GuaranteedSwarm:
    """One run."""

    def __init__(self, seed: int) -> None:
        seeds = Seeds(seed)
        self._rng: Final = seeds.rng("swarm", "guaranteed")
        self.options: Final = draw_options(self._rng)
        options = self.options
        settings = BrokerSettings(
            pubend=PubendSettings(),
            relay=RelaySettings(cache_bytes=options.cache_bytes),
            host=HostSettings(),
            link=LinkSettings(queue_bytes=options.queue_bytes),
        )
        self.network: Final = StreamNetwork(
            seed, settings=settings, rate_bps=options.rate_bps, with_codec=options.with_codec
        )
        self.faults: Final[dict[str, int]] = {}
        self.writers: Final[list[Writer]] = []
        self.readers: Final[list[ReadingProgram]] = []
        self._published = 0
        # What is broken, as calls that mend it.
        self._broken: Final[list[Callable[[], None]]] = []

    def run(self) -> Outcome:
        """Faults, then peace, then the checkers."""
        network, options, rng = self.network, self.options, self._rng
        self._build()
        end = network.events.now + options.fault_time_ns
        fault_times = sorted(
            network.events.now + rng.randrange(options.fault_time_ns) for _ in range(options.faults)
        )
        step_ns = SECOND // options.rate_per_s
        while network.events.now < end:
            self._publish()
            while fault_times and fault_times[0] <= network.events.now:
                fault_times.pop(0)
                self._fail()
            network.run(step_ns)
        self._mend()
        self._wait_until_quiet()
        wrong = self._check()
        return Outcome(
            options=options,
            wrong=wrong,
            confirmed=sum(len(writer.confirmed) for writer in self.writers),
            delivered=sum(len(life.received) for r in self.readers for life in r.lives),
            faults=self.faults,
            last_draw=rng.random(),
        )

    def _wait_until_quiet(self) -> None:
        """As long as anything is still delivered, and some seconds more."""
        delivered, quiet_s = -1, 0
        for _ in range(QUIET_S_MAX):
            self.network.run(SECOND)
            now_delivered = sum(len(life.received) for r in self.readers for life in r.lives)
            quiet_s = quiet_s + 1 if now_delivered == delivered else 0
            delivered = now_delivered
            if quiet_s >= 5:
                return

    def _build(self) -> None:
        network, options, rng = self.network, self.options, self._rng
        streams = {0x100 + at: STREAM for at in range(options.pubends)}
        for name, parent in options.tree.items():
            if parent is None:
                network.add_broker(name, streams=streams)
            else:
                network.add_broker(name, parents=1)
        self._connect_all()
        network.run(200 * MILLISECOND)
        for at in range(options.writers):
            self.writers.append(Writer(network, f"w{at}", "p"))
        for at in range(options.readers):
            predicate = EVERYTHING if rng.random() < 0.3 else parse(rng.choice(FILTERS))
            reader = ReadingProgram(
                network,
                f"r{at}",
                rng.choice([*options.tree]),
                stream=STREAM,
                predicate=predicate,
                durable=f"d{at}",
                start=rng.choice((FIRST, NOW)),
                window=options.window,
            )
            self.readers.append(reader)
        network.run(200 * MILLISECOND)
        for reader in self.readers:
            reader.open()
        network.run(rng.choice((0, 500)) * MILLISECOND)

    def _publish(self) -> None:
        rng = self._rng
        writer = rng.choice(self.writers)
        attributes: dict[str, Value] = {
            "n": self._published,
            "k": rng.randrange(4),
            "s": rng.choice("xy"),
        }
        writer.publish(STREAM, attributes)
        self._published += 1

    # Faults

    def _fail(self) -> None:
        kinds = {
            "crash": self._crash,
            "cut": self._cut,
            "disconnect": self._disconnect,
            "reader_crash": self._reader_crash,
            "pause": self._pause,
            "reopen": self._reopen,
            "clock": self._step_clock,
            "mend": self._mend_one,
        }
        kind = self._rng.choice([*kinds])
        self.faults[kind] = self.faults.get(kind, 0) + 1
        kinds[kind]()

    def _crash(self) -> None:
        name = self._rng.choice([*self.options.tree])
        if self.network.brokers[name].is_up:
            self.network.crash(name)
            self._broken.append(lambda: self.network.restart(name))

    def _cut(self) -> None:
        links = [(child, parent) for child, parent in self.options.tree.items() if parent]
        if links:
            child, parent = self._rng.choice(links)
            self.network.cut(child, parent)
            self._broken.append(lambda: self.network.connect(child, parent))

    def _disconnect(self) -> None:
        client = self._rng.choice([*self.network.clients.values()])
        client.disconnect()
        self._broken.append(client.connect)

    def _reader_crash(self) -> None:
        self._rng.choice(self.readers).crash()

    def _pause(self) -> None:
        reader = self._rng.choice(self.readers)
        reader.is_paused = True
        self._broken.append(reader.resume)

    def _reopen(self) -> None:
        reader = self._rng.choice(self.readers)
        reader.close()
        reader.open()

    def _step_clock(self) -> None:
        broker = self._rng.choice([*self.network.brokers.values()])
        broker.wall_offset_ns += self._rng.choice((-3600, -5, 5, 60)) * SECOND

    def _mend_one(self) -> None:
        if self._broken:
            self._broken.pop(self._rng.randrange(len(self._broken)))()
            self._connect_all()

    def _mend(self) -> None:
        while self._broken:
            self._broken.pop()()
        self._connect_all()

    def _connect_all(self) -> None:
        for child, parent in self.options.tree.items():
            if parent is not None:
                self.network.connect(child, parent)
        for client in self.network.clients.values():
            client.connect()

    # Checks

    def _check(self) -> list[str]:
        network = self.network
        kept = [
            record
            for broker in network.brokers.values()
            for log in broker.disk.logs.values()
            for record in log.history
        ]
        wrong = broken_promises(self.writers, self.readers, kept)
        for broker in network.brokers.values():
            wrong += stored_twice(broker.disk)
            if not broker.machine.is_idle:
                wrong.append(f"{broker.name} is not quiet")
        for writer in self.writers:
            wrong += self._unconfirmed(writer)
        for reader in self.readers:
            if reader.life.opened is None or reader.life.ended:
                refusals = [each.refused.text for each in reader.life.ended]
                wrong.append(f"{reader.client.name} is not open: {refusals}")
        return wrong

    def _unconfirmed(self, writer: Writer) -> Iterator[str]:
        if writer.client.machine.unconfirmed:
            yield f"{writer.client.name}: {writer.client.machine.unconfirmed} not confirmed"


def run_guaranteed(seed: int) -> Outcome:
    """The whole run of one seed."""
    return GuaranteedSwarm(seed).run()
