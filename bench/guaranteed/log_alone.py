"""The log of a pubend alone, beside sqlite: appends of 400 bytes, synced, with so many in flight.

Whoever appends waits for confirmations as a pubend's publishers do: never more than `in_flight` are
unconfirmed. sqlite commits as many at once, with WAL and `synchronous=FULL`. Rounds take turns, so
that a disturbance hits both.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from bench.result import Case, Result
from penstock.guaranteed.log_record import LogRecord
from penstock.live.log.check import check_log
from penstock.live.log.log import PubendLog
from penstock.live.log.writer import LogWriter

IN_FLIGHT: Final = (1, 100, 1_000)
BODY: Final = bytes(400)
_ROUNDS: Final = 5
# About 6 MB.
_WARM_UP_APPENDS: Final = 15_000
_FETCH_BYTES: Final = 256 << 10


class _Confirmations:
    """Passes on up to which number appends are synced."""

    def __init__(self) -> None:
        self.upto: Final[SimpleQueue[int]] = SimpleQueue()

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        del log, lease
        self.upto.put(upto)

    def on_rolled(self, log: str) -> None:
        del log

    def on_full(self, log: str, is_full: bool) -> None:
        raise RuntimeError(f"no room for {log}: {is_full}")

    def on_failed(self, error: BaseException) -> None:
        raise error


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
            ratios[f"log / sqlite, {in_flight} in flight"] = median(rates["log"]) / median(
                rates["sqlite"]
            )
        last = f"{place}/{IN_FLIGHT[-1]}-0"
        cases += [_fetch_case(last), _check_case(last)]
    return Result("log_alone", cases, ratios)


def _log_rate(directory: str, appends: int, in_flight: int) -> float:
    confirmations = _Confirmations()
    writer = LogWriter(confirmations)
    log = PubendLog("bench", directory, writer)
    log.open()
    number = confirmed = 0

    def append(count: int) -> None:
        nonlocal number, confirmed
        stop = number + count
        while confirmed < stop:
            while number < min(stop, confirmed + in_flight):
                number += 1
                log.append(number, LogRecord(number, number, "publisher", number, BODY), number)
            confirmed = confirmations.upto.get()

    # So that the first segments, which are small, are not measured.
    append(_WARM_UP_APPENDS if in_flight > 1 else 1)
    rate = _rate(lambda: append(appends), appends)
    log.close()
    writer.close()
    return rate


def _sqlite_rate(path: str, appends: int, in_flight: int) -> float:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute(
        "CREATE TABLE log (tick INTEGER PRIMARY KEY, published INTEGER, publisher TEXT, "
        "publication INTEGER, body BLOB)"
    )

    def append() -> None:
        for start in range(0, appends, in_flight):
            rows = [
                (tick, tick, "publisher", tick, BODY)
                for tick in range(start, min(start + in_flight, appends))
            ]
            db.execute("BEGIN")
            db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
            db.execute("COMMIT")

    rate = _rate(append, appends)
    db.close()
    return rate


def _fetch_case(directory: str) -> Case:
    """Reading all of a log in slices, as repairs do; from memory, as it was just written."""
    writer = LogWriter(_Confirmations())
    log = PubendLog("bench", directory, writer)
    last_tick = log.open().last_tick

    def read() -> None:
        start = 0
        while start <= last_tick:
            start = log.fetch(start, last_tick + 1, _FETCH_BYTES).stop

    rate = _rate(read, last_tick)
    log.close()
    writer.close()
    return Case("fetch in slices of 256 KB", "messages", rate, "1/s")


def _check_case(directory: str) -> Case:
    size_bytes = check_log(directory).size_bytes
    rate = _rate(lambda: check_log(directory), size_bytes)
    return Case("check", "bytes", rate / 1e6, "MB/s")


def _rate(call: Callable[[], object], count: int) -> float:
    start = perf_counter()
    call()
    return count / (perf_counter() - start)
