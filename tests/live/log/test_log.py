"""A log on a real disk: threads, processes, and what is there the next time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from penstock.guaranteed.log_record import Fetched, LogSnapshot
from penstock.kernel.errors import UsageError
from penstock.live.log.check import check_log
from penstock.live.log.log import PubendLog
from penstock.live.log.segment import SegmentSizes
from penstock.live.log.writer import LogWriter
from tests.live.log.logs import TICK_STEP, Told, message

PATIENCE_S = 60


class Waiting(Told):
    """Lets a test wait for a number."""

    def __init__(self, upto: int) -> None:
        super().__init__()
        self._awaited = upto
        self.is_there = Event()

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        super().on_synced(log, upto, lease)
        if upto >= self._awaited:
            self.is_there.set()


def test_many_records_through_threads_come_back(tmp_path: Path) -> None:
    told = Waiting(3_000)
    writer = LogWriter(told, sizes=SegmentSizes(64 << 10, 256 << 10))
    log = PubendLog("a", str(tmp_path / "a"), writer)
    assert log.open().next_number == 1
    records = [message(n, size_bytes=200) for n in range(1, 3_001)]
    for number, record in enumerate(records, 1):
        log.append(number, record, record.tick + 100)
    assert told.is_there.wait(PATIENCE_S)
    assert told.rolled > 1
    log.append(3_001, LogSnapshot(b"state"), 40_000)
    log.close()
    writer.close()
    assert told.upto == 3_001
    assert not told.failed

    writer = LogWriter(Told())
    log = PubendLog("a", str(tmp_path / "a"), writer)
    recovered = log.open()
    assert (recovered.next_number, recovered.snapshot) == (3_002, b"state")
    assert list(log.fetch(0, 10**6, 1 << 30).records) == records
    assert log.count(10, 20_000) == 1_999
    assert sum(segment.messages for segment in recovered.segments) == 3_000
    log.close()
    writer.close()
    assert check_log(str(tmp_path / "a")).is_sound
    assert not list((tmp_path / "a").glob("*.new"))


def test_two_logs_share_a_writer(tmp_path: Path) -> None:
    told = Waiting(1)
    writer = LogWriter(told)
    logs = [PubendLog(name, str(tmp_path / name), writer) for name in "ab"]
    for log in logs:
        log.open()
        log.append(1, message(1), 100)
    for log in logs:
        log.close()
    writer.close()
    assert not told.failed
    assert [check_log(str(tmp_path / name)).messages for name in "ab"] == [1, 1]


def test_reading_while_others_write_and_trim(tmp_path: Path) -> None:
    told = Waiting(4_000)
    writer = LogWriter(told, sizes=SegmentSizes(16 << 10, 32 << 10))
    log = PubendLog("a", str(tmp_path / "a"), writer)
    log.open()
    errors: list[str] = []

    def read() -> None:
        tick = 0
        while tick <= 4_000 * TICK_STEP and not told.failed:
            # Never beyond what is synced, as a pubend asks.
            synced = told.upto * TICK_STEP + 1
            if synced <= tick:
                told.is_there.wait(0.001)
                continue
            fetched = log.fetch(tick, synced, 8_000)
            ticks = [n for n in range(tick, fetched.stop) if n and n % TICK_STEP == 0]
            seen = {record.tick for record in fetched.records}
            if any(n not in seen and not in_gap(n, fetched) and n % 500 for n in ticks):
                errors.append(f"{tick} to {fetched.stop}: {fetched.gaps} {sorted(seen)[:3]}")
            tick = fetched.stop

    readers = [Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1, 4_001):
        entry = LogSnapshot(b"") if number % 50 == 0 else message(number)
        log.append(number, entry, number * TICK_STEP + 100)
        if number % 100 == 0:
            log.trim((number - 90) * TICK_STEP)
    assert told.is_there.wait(PATIENCE_S)
    for reader in readers:
        reader.join(PATIENCE_S)
    log.close()
    writer.close()
    assert not told.failed
    assert not errors
    assert log.trimmed_upto


def in_gap(tick: int, fetched: Fetched) -> bool:
    return any(gap.start <= tick < gap.stop for gap in fetched.gaps)


def test_a_second_process_is_told_who_has_the_log(tmp_path: Path) -> None:
    program = (
        "import sys; from penstock.live.log.lock import DirectoryLock;"
        "lock = DirectoryLock(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    )
    directory = tmp_path / "a"
    directory.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", program, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        writer = LogWriter(Told(), threads=False)
        with pytest.raises(UsageError, match=f"in use by process {other.pid}: stop it") as caught:
            PubendLog("a", str(directory), writer).open()
        assert "\n" not in str(caught.value)
        other.kill()
    log = PubendLog("a", str(directory), LogWriter(Told(), threads=False))
    log.open()
    with pytest.raises(UsageError, match=f"in use by process {os.getpid()}"):
        PubendLog("a", str(directory), writer).open()
    log.close()


def test_a_directory_without_a_log_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no log"):
        check_log(str(tmp_path))
