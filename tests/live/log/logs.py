"""Logs on a fake disk that run in the thread of the test, and what they should hold."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from penstock.guaranteed.log_record import Fetched, LogRecord, LogSnapshot, RecoveredLog
from penstock.live.log.log import PubendLog
from penstock.live.log.segment import SegmentSizes
from penstock.live.log.writer import LogWriter
from tests.live.log.fake_disk import CrashError, FakeDisk

DIRECTORY = "/logs/a"
TICK_STEP = 10
LEASE_AHEAD = 100
# So that a few records fill one.
SIZES = SegmentSizes(8 << 10, 32 << 10)


class Told:
    """Remembers what the writer says."""

    def __init__(self) -> None:
        self._by_log: dict[str, int] = {}
        self.upto = 0
        self.lease = 0
        self.rolled = 0
        self.full: list[bool] = []
        self.failed: list[BaseException] = []

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        assert upto >= self._by_log.get(log, 0), "what was synced is not any more"
        self._by_log[log] = upto
        self.upto, self.lease = upto, max(lease, self.lease)

    def on_rolled(self, log: str) -> None:
        self.rolled += 1

    def on_full(self, log: str, is_full: bool) -> None:
        self.full.append(is_full)

    def on_failed(self, error: BaseException) -> None:
        self.failed.append(error)


def message(number: int, *, size_bytes: int = 20, life: int = 0) -> LogRecord:
    """The message with this number; bodies of different lives differ."""
    body = f"{life}:{number}:".encode().ljust(size_bytes, b"x")
    return LogRecord(number * TICK_STEP, number * 1_000, f"p{number % 3}", number, body)


class LogOnDisk:
    """One life of a log: opened, and driven step by step."""

    _ids = count(1)

    def __init__(self, disk: FakeDisk, *, life: int = 0, sizes: SegmentSizes = SIZES) -> None:
        self.disk = disk
        self.life = life
        self.told = Told()
        # Ids of segments are as different as random ones, and the same in each run.
        self.writer = LogWriter(
            self.told,
            fs=disk,
            threads=False,
            sizes=sizes,
            new_id=lambda: next(self._ids) * 0x9E3779B97F4A7C15 % 2**64,
        )
        self.log = PubendLog("a", DIRECTORY, self.writer)
        self.recovered: RecoveredLog = self.log.open()
        self.next_number = self.recovered.next_number
        self.told.upto = self.next_number - 1
        self.run()

    def run(self) -> None:
        self.writer.run_pending()

    def write_without_sync(self) -> None:
        """Writes the next block and stops before the sync, as if the process were killed."""
        self.disk.crash_after = 1
        with suppress(CrashError):
            self.run()
        assert self.disk.calls[-2:] == ["pwrite", "fdatasync"]
        self.disk.crash_after = None

    def append(self, *, size_bytes: int = 20) -> LogRecord:
        record = message(self.next_number, size_bytes=size_bytes, life=self.life)
        self.log.append(self.next_number, record, record.tick + LEASE_AHEAD)
        self.next_number += 1
        return record

    def append_snapshot(self, state: bytes) -> None:
        lease = self.next_number * TICK_STEP + LEASE_AHEAD
        self.log.append(self.next_number, LogSnapshot(state), lease)
        self.next_number += 1

    def append_synced(self, count: int, *, size_bytes: int = 20) -> list[LogRecord]:
        """One sync for each."""
        records = []
        for _ in range(count):
            records.append(self.append(size_bytes=size_bytes))
            self.run()
        return records

    def everything(self) -> Fetched:
        return self.log.fetch(0, 2**64 - 2, 1 << 40)


def segment_paths(disk: FakeDisk) -> list[str]:
    """The segments on the disk, oldest first."""
    return [f"{DIRECTORY}/{name}" for name in disk.names(DIRECTORY) if name.endswith(".log")]
