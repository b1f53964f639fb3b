"""Brokers, publishers and readers as processes, and what they have seen, for tests with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import penstock.streams
from tests.live.guaranteed.processes.checker import problems_of
from tests.live.guaranteed.processes.journal import last_of, read_journal
from tests.live.guaranteed.processes.process import BrokerProcess, Process, wait_until

STREAM: Final = "orders"
PROGRAMS: Final = "tests.live.guaranteed.processes"


class Reading(NamedTuple):
    """One durable subscription and its program."""

    stream: str
    process: Process
    journal: Path
    wanted: Callable[[int], bool]
    keeps_checkpoints: bool


class Publishing(NamedTuple):
    """One publisher of a stream."""

    process: Process
    journal: Path


class Network:
    """A tree of brokers with a publisher of each stream at the top and readers anywhere."""

    def __init__(self, directory: Path) -> None:
        self.brokers: Final[dict[str, BrokerProcess]] = {}
        self.readings: Final[dict[str, Reading]] = {}
        # By stream.
        self.publishings: Final[dict[str, Publishing]] = {}
        self._directory: Final = directory
        directory.mkdir(parents=True, exist_ok=True)

    def broker(
        self,
        name: str,
        *parents: str,
        store: Path | None = None,
        host: str = "127.0.0.1",
        inside: Sequence[str] = (),
        streams: Sequence[str] = (STREAM,),
    ) -> None:
        """Starts a broker below others, or the top, which has the streams; waits for it."""
        above = [self.brokers[parent].address for parent in parents]
        self.brokers[name] = broker = BrokerProcess(
            name, self._directory, parents=above, store=store, host=host, inside=inside
        )
        broker.start()
        broker.wait_ready()
        if not parents:
            asyncio.run(self._create(broker.address, streams))

    async def _create(self, address: str, streams: Sequence[str]) -> None:
        async with penstock.streams.connect(address, timeout="30s") as node:
            for stream in streams:
                await node.create_stream(stream)

    def publisher(
        self, at: str, *, per_s: float, stream: str = STREAM, payload_bytes: int = 0
    ) -> Process:
        """Starts the publisher of a stream."""
        address = self.brokers[at].address
        name = f"publisher-{stream}"
        journal = self._directory / f"{name}.journal"
        process = Process(
            name,
            [
                *("-m", f"{PROGRAMS}.publisher"),
                *(address, stream, name, str(journal), str(per_s), str(payload_bytes)),
            ],
            self._directory,
        )
        self.publishings[stream] = Publishing(process, journal)
        process.start()
        return process

    def reader(
        self,
        durable: str,
        at: str,
        *,
        stream: str = STREAM,
        inside: Sequence[str] = (),
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
                *(self.brokers[at].address, stream, durable, filter_, str(journal)),
                "checkpoint" if keeps_checkpoints else "cursor",
            ],
            self._directory,
            inside=inside,
        )
        self.readings[durable] = Reading(stream, process, journal, wanted, keeps_checkpoints)
        process.start()
        return process

    @property
    def confirmed(self) -> int:
        """The last number of the one stream that was confirmed."""
        return self.confirmed_of(STREAM)

    def confirmed_of(self, stream: str) -> int:
        """The last number that was confirmed."""
        return int(last_of(self.publishings[stream].journal, "confirmed") or 0)

    def read(self, durable: str) -> int:
        """The last number that a reader has got."""
        got = last_of(self.readings[durable].journal, "got")
        return int(got[-1][0]) if got else 0

    def longest_silence_s(self, since_ns: int) -> float:
        """The longest time for which a reader has got nothing, from then until its last message."""
        return max(
            _longest_silence_ns(read_journal(reading.journal), since_ns) / 1e9
            for reading in self.readings.values()
        )

    def wait_busy(self) -> None:
        """Waits until messages reach all readers."""
        for stream in self.publishings:
            self._wait_confirmed(stream, 0)
            self.wait_read(self.confirmed_of(stream), stream)

    def wait_read(self, upto: int, stream: str = STREAM) -> None:
        """Waits until all readers of a stream have got what they want of all up to a number."""
        for durable, reading in self.readings.items():
            if reading.stream != stream:
                continue
            last = max((n for n in range(1, upto + 1) if reading.wanted(n)), default=0)

            while (read := self.read(durable)) < last:
                self._wait_more(durable, read)

    def _wait_confirmed(self, stream: str, before: int) -> None:
        """Waits until more is confirmed than there was."""
        wait_until(f"{stream} goes on", lambda: self.confirmed_of(stream) > before)

    def _wait_more(self, durable: str, read: int) -> None:
        """Waits until a reader has got anything more: on a busy machine many steps take long."""
        process = self.readings[durable].process

        def is_more() -> bool:
            assert process.is_running, f"{durable} has ended: {process.said()}"
            return self.read(durable) > read

        wait_until(f"{durable} reads on behind {read}", is_more)

    def finish(self) -> int:
        """Ends publishing, waits for all readers, and checks what they have got.

        Returns how many messages were confirmed.
        """
        for stream, (publisher, _) in self.publishings.items():
            # One that was just started does not listen to signals yet.
            self._wait_confirmed(stream, self.confirmed_of(stream))
            assert publisher.stop() == 0, publisher.said()
        confirmed = {stream: self.confirmed_of(stream) for stream in self.publishings}
        for stream, upto in confirmed.items():
            self.wait_read(upto, stream)
        assert self.problems(confirmed) == {}
        return sum(confirmed.values())

    def problems(self, confirmed: Mapping[str, int]) -> dict[str, list[str]]:
        """What is wrong, by durable name; `confirmed` is the last number of each stream."""
        found = {
            durable: problems_of(
                read_journal(reading.journal),
                confirmed=confirmed[reading.stream],
                wanted=reading.wanted,
                keeps_checkpoints=reading.keeps_checkpoints,
            )
            for durable, reading in self.readings.items()
        }
        return {durable: lines[:10] for durable, lines in found.items() if lines}

    def processes(self) -> list[Process]:
        """All of them, in the order in which they depend on one another."""
        clients = [publishing.process for publishing in self.publishings.values()]
        readers = [reading.process for reading in self.readings.values()]
        return [*self.brokers.values(), *clients, *readers]

    def kill_all(self) -> None:
        """The end of a test, however it went."""
        for process in self.processes():
            process.resume()
            process.kill()


def _longest_silence_ns(rows: Iterable[Mapping[str, Any]], since_ns: int) -> int:
    """What came before is the beginning of a silence that was not over then."""
    stamps = [row["at_ns"] for row in rows if "got" in row]
    return max(
        (later - earlier for earlier, later in pairwise(stamps) if later >= since_ns), default=0
    )


@contextmanager
def network(directory: Path) -> Iterator[Network]:
    """A network whose processes end with the block."""
    net = Network(directory / "network")
    try:
        yield net
    finally:
        net.kill_all()
