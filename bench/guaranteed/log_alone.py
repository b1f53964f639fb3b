"""The log of a pubend alone, beside sqlite: appends of 400 bytes, synced, with so many in flight.

Whoever appends waits for confirmations as a pubend's publishers do: never more than `in_flight` are
unconfirmed, and what may be sent is appended as a broker appends what one step of it brought.
sqlite commits as many at once, with WAL and `synchronous=FULL`. Both store the same columns, and
both pay for making their files grow. Rounds take turns, so that a disturbance hits both.

One append at a time is a confirmation: its time stands beside that of a bare `fdatasync`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns
from typing import Final

from bench.result import Case, Result
from penstock.guaranteed.log_record import LogRecord
from penstock.live.log.log import PubendLog
from penstock.live.log.writer import LogWriter

IN_FLIGHT: Final = (1, 100, 1_000)
BODY: Final = bytes(400)
_ROUNDS: Final = 5
# About 6 MB.
_WARM_UP_APPENDS: Final = 15_000
_SECTOR: Final = bytes(512)
_SYNCED_FILE_BYTES: Final = 1 << 20
# The ratio with this many has a goal.
_MANY: Final = IN_FLIGHT[-1]


class Confirmations:
    """Passes on up to which number appends are synced."""

    def __init__(self) -> None:
        self.upto: Final[SimpleQueue[int]] = SimpleQueue()

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        """All appends up to this number are on disk."""
        del log, lease
        self.upto.put(upto)

    def on_rolled(self, log: str) -> None:
        """A segment has begun."""
        del log

    def on_full(self, log: str, is_full: bool) -> None:
        """There is no room."""
        raise RuntimeError(f"no room for {log}: {is_full}")

    def on_failed(self, error: BaseException) -> None:
        """The disk has failed."""
        raise error


class OpenLog:
    """A log to append to; `in_flight` is what may be unconfirmed."""

    def __init__(self, directory: str, in_flight: int) -> None:
        self._in_flight: Final = in_flight
        self._confirmations: Final = Confirmations()
        self._writer: Final = LogWriter(self._confirmations)
        self._log: Final = PubendLog("bench", directory, self._writer)
        self._log.open()
        self._number = self._confirmed = 0

    def append(self, count: int) -> None:
        """Appends so many, and returns when they are confirmed."""
        stop = self._number + count
        while self._confirmed < stop:
            upto = min(stop, self._confirmed + self._in_flight)
            records = [
                LogRecord(number, number, "publisher", number, BODY)
                for number in range(self._number + 1, upto + 1)
            ]
            if records:
                self._number = upto
                self._log.append_many(upto, records, upto)
            self._confirmed = self._confirmations.upto.get()

    def close(self) -> None:
        """Ends its threads."""
        self._log.close()
        self._writer.close()


def measure(*, directory: str | None = None, appends: int = 20_000) -> Result:
    """Appends per second; `directory` chooses the disk."""
    with TemporaryDirectory(dir=directory) as place:
        cases, ratios = [], {}
        for in_flight in IN_FLIGHT:
            count = appends if in_flight > 1 else max(100, appends // 20)
            rates: dict[str, list[float]] = {"log": [], "sqlite": []}
            for number in range(_ROUNDS):
                fresh = Path(place) / f"{in_flight}-{number}"
                rates["log"].append(_log_rate(str(fresh), count, in_flight))
                rates["sqlite"].append(_sqlite_rate(f"{fresh}.sqlite", count, in_flight))
            for name, found in rates.items():
                case = f"{name}, {in_flight} in flight"
                cases.append(Case(case, "appends", median(found), "1/s"))
            ratios[_ratio_name(in_flight)] = median(rates["log"]) / median(rates["sqlite"])
        bare_ms, append_ms = _latencies_ms(Path(place), max(100, appends // 20))
    goal_ms = f"<= {bare_ms + 0.5:.2f}"
    cases += [
        Case("bare fdatasync of a sector", "p50", bare_ms, "ms"),
        Case("one append until it is told", "p50", append_ms, "ms", goal_ms),
    ]
    return Result("log_alone", cases, ratios, {_ratio_name(_MANY): ">= 2"})


def _ratio_name(in_flight: int) -> str:
    return f"log / sqlite, {in_flight} in flight"


def _log_rate(directory: str, appends: int, in_flight: int) -> float:
    log = OpenLog(directory, in_flight)
    # So that the first segments, which are small, are not measured.
    log.append(_WARM_UP_APPENDS if in_flight > 1 else 1)
    rate = rate_of(lambda: log.append(appends), appends)
    log.close()
    return rate


def _sqlite_rate(path: str, appends: int, in_flight: int) -> float:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute(
        "CREATE TABLE log (tick INTEGER PRIMARY KEY, published INTEGER, publisher TEXT, "
        "publication INTEGER, body BLOB)"
    )
    tick = 0

    def append(count: int) -> None:
        nonlocal tick
        stop = tick + count
        while tick < stop:
            upto = min(tick + in_flight, stop)
            rows = [(n, n, "publisher", n, BODY) for n in range(tick, upto)]
            db.execute("BEGIN")
            db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
            db.execute("COMMIT")
            tick = upto

    append(_WARM_UP_APPENDS if in_flight > 1 else 1)
    rate = rate_of(lambda: append(appends), appends)
    db.close()
    return rate


def _latencies_ms(place: Path, appends: int) -> tuple[float, float]:
    """The median of bare syncs, and of appends until whoever appends is told."""
    log = OpenLog(str(place / "one"), 1)
    log.append(100)
    fd = os.open(place / "synced", os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, bytes(_SYNCED_FILE_BYTES), 0)
    os.fsync(fd)
    bare_ns: list[int] = []
    append_ns: list[int] = []
    for number in range(appends):
        os.pwrite(fd, _SECTOR, number * len(_SECTOR) % _SYNCED_FILE_BYTES)
        bare_ns.append(_timed_ns(lambda: os.fdatasync(fd)))
        append_ns.append(_timed_ns(lambda: log.append(1)))
    os.close(fd)
    log.close()
    return median(bare_ns) / 1e6, median(append_ns) / 1e6


def _timed_ns(call: Callable[[], object]) -> int:
    start_ns = perf_counter_ns()
    call()
    return perf_counter_ns() - start_ns


def rate_of(call: Callable[[], object], count: int) -> float:
    """So many in a second."""
    start = perf_counter()
    call()
    return count / (perf_counter() - start)
