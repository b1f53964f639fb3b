"""Brokers, publishers and readers as processes, and what they have seen, for tests with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import penstock.streams
from tests.live.guaranteed.processes.checker import problems_of
from tests.live.guaranteed.processes.journal import last_of, read_journal
from tests.live.guaranteed.processes.process import BrokerProcess, Process, wait_until

STREAM: Final = "orders"
PROGRAMS: Final = "tests.live.guaranteed.processes"


class Reading(NamedTuple):
    """One durable subscription and its program."""

    process: Process
    journal: Path
    wanted: Callable[[int], bool]
    keeps_checkpoints: bool


class Network:
    """A tree of brokers with one publisher at the top and readers anywhere."""

    def __init__(self, directory: Path) -> None:
        self.brokers: Final[dict[str, BrokerProcess]] = {}
        self.readings: Final[dict[str, Reading]] = {}
        self._directory: Final = directory
        self._published: Final = directory / "published.journal"
        self._publisher: Process | None = None
        directory.mkdir(parents=True, exist_ok=True)

    def broker(self, name: str, *parents: str, store: Path | None = None) -> None:
        """Starts a broker below others, or the top; waits until it listens."""
        above = [self.brokers[parent].address for parent in parents]
        self.brokers[name] = broker = BrokerProcess(
            name, self._directory, parents=above, store=store
        )
        broker.start()
        broker.wait_ready()
        if not parents:
            asyncio.run(self._create(broker.address))

    async def _create(self, address: str) -> None:
        async with penstock.streams.connect(address, timeout="30s") as node:
            await node.create_stream(STREAM)

    def publisher(self, at: str, *, per_s: float) -> Process:
        """Starts the publisher."""
        address = self.brokers[at].address
        self._publisher = process = Process(
            "publisher",
            [
                *("-m", f"{PROGRAMS}.publisher"),
                *(address, STREAM, "publisher", str(self._published), str(per_s)),
            ],
            self._directory,
        )
        process.start()
        return process

    def reader(
        self,
        durable: str,
        at: str,
        *,
        filter_: str = "true",
        wanted: Callable[[int], bool] = lambda _number: True,
        keeps_checkpoints: bool = False,
    ) -> Process:
        """Starts a reader."""
        journal = self._directory / f"{durable}.journal"
        process = Process(
            durable,
            [
                *("-m", f"{PROGRAMS}.reader"),
                *(self.brokers[at].address, STREAM, durable, filter_, str(journal)),
                "checkpoint" if keeps_checkpoints else "cursor",
            ],
            self._directory,
        )
        self.readings[durable] = Reading(process, journal, wanted, keeps_checkpoints)
        process.start()
        return process

    @property
    def confirmed(self) -> int:
        """The last number that was confirmed."""
        return int(last_of(self._published, "confirmed") or 0)

    def read(self, durable: str) -> int:
        """The last number that a reader has got."""
        got = last_of(self.readings[durable].journal, "got")
        return int(got[-1][0]) if got else 0

    def wait_busy(self) -> None:
        """Waits until messages reach all readers."""
        wait_until("a message is confirmed", lambda: self.confirmed > 0)
        self.wait_read(self.confirmed)

    def wait_read(self, upto: int) -> None:
        """Waits until all readers have got what they want of all up to a number."""
        for durable, reading in self.readings.items():
            last = max((n for n in range(1, upto + 1) if reading.wanted(n)), default=0)

            while (read := self.read(durable)) < last:
                self._wait_more(durable, read)

    def _wait_more(self, durable: str, read: int) -> None:
        """Waits until a reader has got anything more: on a busy machine many steps take long."""
        process = self.readings[durable].process

        def is_more() -> bool:
            assert process.is_running, f"{durable} has ended: {process.said()}"
            return self.read(durable) > read

        wait_until(f"{durable} reads on behind {read}", is_more)

    def finish(self) -> int:
        """Ends publishing, waits for all readers, and checks what they have got."""
        assert self._publisher is not None
        # One that was just started does not listen to signals yet.
        before = self.confirmed
        wait_until("the publisher goes on", lambda: self.confirmed > before)
        assert self._publisher.stop() == 0, self._publisher.said()
        confirmed = self.confirmed
        self.wait_read(confirmed)
        assert self.problems(confirmed) == {}
        return confirmed

    def problems(self, confirmed: int) -> dict[str, list[str]]:
        """What is wrong, by durable name."""
        found = {
            durable: problems_of(
                read_journal(reading.journal),
                confirmed=confirmed,
                wanted=reading.wanted,
                keeps_checkpoints=reading.keeps_checkpoints,
            )
            for durable, reading in self.readings.items()
        }
        return {durable: lines[:10] for durable, lines in found.items() if lines}

    def processes(self) -> list[Process]:
        """All of them, in the order in which they depend on one another."""
        clients = [self._publisher] if self._publisher is not None else []
        readers = [reading.process for reading in self.readings.values()]
        return [*self.brokers.values(), *clients, *readers]

    def kill_all(self) -> None:
        """The end of a test, however it went."""
        for process in self.processes():
            process.resume()
            process.kill()


@contextmanager
def network(directory: Path) -> Iterator[Network]:
    """A network whose processes end with the block."""
    net = Network(directory / "network")
    try:
        yield net
    finally:
        net.kill_all()
