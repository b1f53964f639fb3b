"""The swarm test of guaranteed streams: brokers, links and programs that fail, drawn from a seed.

A time of faults, in which messages are published, then a time in which everything works again.
After it nothing may be in doubt, and checkers from outside compare what programs saw with what was
confirmed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.content.syntax import parse
from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.checkers.guaranteed.acknowledged import came_again
from penstock.sim.checkers.guaranteed.alarms import AlarmChecker
from penstock.sim.checkers.guaranteed.base import LINES_MAX, StreamChecker
from penstock.sim.checkers.guaranteed.decided_ticks import DecidedTicksChecker
from penstock.sim.checkers.guaranteed.delivery import broken_promises, stored_twice
from penstock.sim.checkers.guaranteed.doubt_horizon import DoubtHorizonChecker
from penstock.sim.checkers.guaranteed.quiet import QuietChecker
from penstock.sim.checkers.guaranteed.table_sizes import TableSizesChecker
from penstock.sim.checkers.guaranteed.trim import TrimChecker
from penstock.sim.guaranteed.application import FIRST, NOW, ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.swarm.guaranteed_faults import GuaranteedFaults
from penstock.sim.swarm.guaranteed_options import (
    GuaranteedOptions,
    ReaderOptions,
    draw_guaranteed_options,
)
from penstock.sim.swarm.run import SwarmFailed
from penstock.wire.frames.guaranteed.subscription import Position

STREAM: Final = "orders"
ATTEMPTS_MAX: Final = 2
QUIET_S: Final = 2
QUIET_S_MAX: Final = 400
_SAMPLE_STEPS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteedReport:
    """The options of a run and its results."""

    options: GuaranteedOptions
    published: int
    confirmed: int
    refused: int
    delivered: int
    gaps: int
    trims: int
    failed: int
    parked: int
    # Frames that did not fit into the queues of links that are still up.
    dropped: int
    faults: Mapping[str, int]
    last_draw: float
    # Of what each program got, in order.
    deliveries_hash: str


class GuaranteedSwarm:
    """One run."""

    def __init__(self, options: GuaranteedOptions) -> None:
        self.options: Final = options
        self._rng: Final = Seeds(options.seed).rng("swarm", "guaranteed", "run")
        self.network: Final = StreamNetwork(
            options.seed,
            settings=options.settings,
            rate_bps=options.rate_bps,
            with_codec=options.with_codec,
            sync_ns=options.sync_ns,
            window_bytes=options.window_bytes,
        )
        self.writers: Final[list[Writer]] = []
        self.readers: Final[list[ReadingProgram]] = []
        self._faults: Final = GuaranteedFaults(
            self.network,
            options,
            self._rng,
            STREAM,
            readers=self.readers,
            writers=self.writers,
            replace=self._replace,
        )
        self._replaced = 0
        self._trims: Final = TrimChecker(self.network, forgotten=self._faults.forgotten_hosts)
        self._checkers: Final[list[StreamChecker]] = [
            self._trims,
            DecidedTicksChecker(),
            DoubtHorizonChecker(),
            TableSizesChecker(),
            QuietChecker(),
            AlarmChecker(may_roll_back="roll_back" in options.fault_kinds),
        ]
        self.network.watchers.extend(self._checkers)
        self._published = 0

    def run(self) -> GuaranteedReport:
        """Faults, then peace, then the checkers."""
        self._build()
        self._break_things()
        self._faults.mend_all()
        for reader in self.readers:
            reader.to_fail = 0
            reader.resume()
        self._wait_until_quiet()
        wrong = [*self._find_wrong()][:LINES_MAX]
        if wrong:
            raise SwarmFailed("\n".join([*wrong, "", f"options:\n{self.options}"]))
        return self._report()

    def _build(self) -> None:
        network, options = self.network, self.options
        streams = {0x100 + at: STREAM for at in range(options.pubends)}
        for at, (name, parent) in enumerate(options.tree):
            broker = network.add_broker(
                name,
                streams={} if parent else streams,
                parents=sum(child == name for child, _ in options.links),
            )
            broker.drift_ppm = options.drift_ppm * (-1) ** at
            broker.disk.roll_records = options.roll_records
        if not options.links_up_late:
            self._faults.connect_all()
            network.run(200 * MILLISECOND)
        for at in range(options.writers):
            self.writers.append(Writer(network, f"w{at}", "p"))
        start = network.events.now + 500 * MILLISECOND
        for at, reader in enumerate(options.readers):
            network.events.schedule(start + reader.joins_ns, self._join, f"r{at}", reader)
        network.run(400 * MILLISECOND)
        self._faults.connect_all()
        network.run(100 * MILLISECOND)

    def _join(self, name: str, options: ReaderOptions) -> None:
        reader = ReadingProgram(
            self.network,
            name,
            options.broker,
            stream=STREAM,
            predicate=parse(options.predicate),
            durable=name if options.is_durable else "",
            start=FIRST if options.starts_first else NOW,
            window=options.window,
            attempts_max=ATTEMPTS_MAX if options.parks else 0,
            parks=options.parks,
            expire_s=options.expire_s,
        )
        reader.changes_filter = True
        self.readers.append(reader)
        reader.open()

    def _replace(self, reader: ReadingProgram) -> None:
        """Another program, under another name, wants the same."""
        self._replaced += 1
        other = ReadingProgram(
            self.network,
            f"{reader.client.name}+{self._replaced}",
            reader.client.broker,
            stream=STREAM,
            predicate=reader.predicate,
            durable=f"{reader.durable}+{self._replaced}",
            start=reader.start,
            window=reader.window,
            attempts_max=reader.attempts_max,
            parks=reader.parks,
            expire_s=reader.expire_s,
        )
        other.changes_filter = True
        self.readers.append(other)
        other.open()

    def _reopen(self) -> None:
        """Who was told that the stream is deleted comes again: there is another by its name."""
        for reader in self.readers:
            reasons = {each.refused.reason for each in reader.life.ended}
            if reader.is_open and "unknown_stream" in reasons:
                reader.open()

    def _break_things(self) -> None:
        network, options, rng = self.network, self.options, self._rng
        begin = network.events.now
        end = begin + options.fault_time_ns
        fault_times = sorted(
            begin + rng.randrange(options.fault_time_ns) for _ in range(options.faults)
        )
        step_ns = SECOND // options.rate_per_s
        while network.events.now < end:
            self._publish()
            while fault_times and fault_times[0] <= network.events.now:
                fault_times.pop(0)
                self._faults.fail()
            network.run(rng.randint(1, 2 * step_ns))
            if self._published % _SAMPLE_STEPS == 0:
                self._sample()
                self._reopen()

    def _publish(self) -> None:
        rng = self._rng
        attributes: dict[str, Value] = {
            "n": self._published,
            "k": rng.randrange(4),
            "s": rng.choice("xy"),
        }
        rng.choice(self.writers).publish(STREAM, attributes)
        self._published += 1

    def _sample(self) -> None:
        for checker in self._checkers:
            checker.sample(self.network)

    def _wait_until_quiet(self) -> None:
        """As long as anything is still confirmed or delivered, and some seconds more."""
        before, quiet_s = (-1, -1), 0
        for _ in range(QUIET_S_MAX):
            self.network.run(SECOND)
            self._sample()
            self._reopen()
            so_far = (
                sum(writer.unconfirmed for writer in self.writers),
                sum(reader.delivered for reader in self.readers),
            )
            quiet_s = quiet_s + 1 if so_far == before else 0
            before = so_far
            is_idle = all(broker.machine.is_idle for broker in self.network.brokers.values())
            if quiet_s >= QUIET_S and is_idle and not so_far[0]:
                return

    def _find_wrong(self) -> Iterator[str]:
        disks = [broker.disk for broker in self.network.brokers.values()]
        kept = {int(name, 16): log.history for disk in disks for name, log in disk.logs.items()}
        deleted = {int(name, 16): log for disk in disks for name, log in disk.deleted.items()}
        gone = {int(name, 16): log for disk in disks for name, log in disk.lost.items()}
        lost = {Position(pubend, each.tick) for pubend, log in gone.items() for each in log}
        every = {
            pubend: [*kept.get(pubend, ()), *deleted.get(pubend, ()), *gone.get(pubend, ())]
            for pubend in {**kept, **deleted, **gone}
        }
        for checker in self._checkers:
            checker.at_end(self.network)
            yield from checker.wrong
        may_give_up = self.options.retention.drops
        yield from _named(
            "delivery",
            broken_promises(
                self.writers,
                self.readers,
                every,
                lost=lost,
                parked=self._parked(),
                forgotten_hosts=self._faults.forgotten_hosts,
                may_give_up=may_give_up,
            ),
        )
        yield from _named("stored twice", stored_twice(kept))
        yield from _named("acknowledged", came_again(self.readers))
        for writer in self.writers:
            if writer.unconfirmed:
                yield f"[quiet] {writer.client.name}: {writer.unconfirmed} not confirmed"
        for reader in self.readers:
            if reader.life.opened is None or reader.life.ended:
                refusals = [each.refused.text for each in reader.life.ended]
                yield f"[quiet] {reader.client.name} is not open: {refusals}"

    def _parked(self) -> dict[str, set[Position]]:
        """By durable name: the messages that were put aside."""
        hosts = [broker.machine.host for broker in self.network.brokers.values()]
        return {
            name: {message.position for message in host.parking.of(name)}
            for host in hosts
            for name in host.durables
        }

    def _report(self) -> GuaranteedReport:
        lives = [life for reader in self.readers for life in reader.lives]
        digest = hashlib.sha256()
        for life in lives:
            digest.update(repr(life.items).encode())
        return GuaranteedReport(
            options=self.options,
            published=self._published,
            confirmed=sum(len(writer.confirmed) for writer in self.writers),
            refused=sum(len(writer.refused) for writer in self.writers),
            delivered=sum(reader.delivered for reader in self.readers),
            gaps=sum(len(life.missed) for life in lives),
            trims=self._trims.trims,
            failed=sum(reader.failures for reader in self.readers),
            parked=sum(len(each) for each in self._parked().values()),
            dropped=sum(
                queue.dropped
                for broker in self.network.brokers.values()
                for queue in broker.machine.queues.values()
            ),
            faults=dict(self._faults.counts),
            last_draw=self._rng.random(),
            deliveries_hash=digest.hexdigest()[:16],
        )


def _named(name: str, wrong: Iterator[str]) -> Iterator[str]:
    return (f"[{name}] {each}" for each in wrong)


def run_guaranteed(seed: int, *, options: GuaranteedOptions | None = None) -> GuaranteedReport:
    """The whole run of one seed; raises `SwarmFailed` with all that is needed to replay it."""
    swarm = GuaranteedSwarm(draw_guaranteed_options(seed) if options is None else options)
    try:
        return swarm.run()
    except SwarmFailed:
        raise
    except Exception as failed:
        raise SwarmFailed(f"[raised] {failed!r}\n\noptions:\n{swarm.options}") from failed
