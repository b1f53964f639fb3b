"""A broker's directory: its lock, its store, and one log for each pubend.

What threads of the disk report is collected and passed on in the event loop, many at once.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import randbits
from shutil import rmtree
from typing import Final

import msgspec

from penstock.guaranteed.log_record import Fetched, LogRecord, LogSnapshot
from penstock.guaranteed.pubend.pubend import PubendState
from penstock.guaranteed.settings import Retention
from penstock.kernel.errors import UsageError
from penstock.kernel.machine import Append, Fetch, Save, Trim
from penstock.live.log.lock import DirectoryLock
from penstock.live.log.log import PubendLog
from penstock.live.log.store import STORE_NAME, SaveStore
from penstock.live.log.writer import LogWriter

_STREAM: Final = "stream/"
_LIFE: Final = "broker/life"
_NAME: Final = "broker/name"
_LOGS: Final = "logs"


class StreamEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the directory knows of a stream."""

    name: str
    pubend: int
    retention: Retention = Retention()


class BrokerDirectory:
    """`on_event` gets calls to make on the machine, in the event loop; `on_failed` a dead disk."""

    def __init__(
        self,
        path: Path,
        *,
        on_event: Callable[[], None],
        on_failed: Callable[[BaseException], None],
    ) -> None:
        self.path: Final = path
        self.events: Final[deque[tuple[object, ...]]] = deque()
        self._on_event: Final = on_event
        self._on_failed: Final = on_failed
        self._loop: Final = asyncio.get_running_loop()
        self._is_scheduled = False
        # Nobody waits for what is still to be stored then.
        self._is_closing = False
        try:
            (path / _LOGS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot use {path}: {error.strerror}: name another --directory"
            ) from None
        self._lock: Final = DirectoryLock(str(path))
        self._store: Final = SaveStore(
            str(path / STORE_NAME),
            on_saved=lambda serial: self._report("saved", serial),
            on_failed=self._fail,
        )
        self.saved: Final = self._store.items()
        self._writer: Final = LogWriter(self)
        self._logs: Final[dict[str, PubendLog]] = {}
        self._readers: Final = ThreadPoolExecutor(2, thread_name_prefix="penstock-log-reader")
        # Serials of the directory's own saves; those of machines are positive.
        self._own_serial = 0
        self.life: Final = int(self.saved.get(_LIFE, b"0")) + 1
        self._save_own(_LIFE, str(self.life).encode())

    def name(self, given: str | None, default: str) -> str:
        """The broker's name: as given, as stored, or the default, which is then stored."""
        stored = self.saved.get(_NAME, b"").decode()
        if given and stored and given != stored:
            raise UsageError(
                f"{self.path} belongs to the broker {stored!r}: leave --name out, or name another"
                " --directory"
            )
        name = given or stored or default
        if not stored:
            self._save_own(_NAME, name.encode())
        return name

    def streams(self) -> list[StreamEntry]:
        """The streams that this broker has."""
        return [
            msgspec.json.decode(value, type=StreamEntry)
            for key, value in self.saved.items()
            if key.startswith(_STREAM)
        ]

    def open_stream(self, entry: StreamEntry) -> PubendState:
        """Opens the log of a stream and finds what it has kept."""
        key = f"{entry.pubend:016x}"
        log = PubendLog(key, str(self.path / _LOGS / key), self._writer)
        recovered = log.open()
        self._logs[key] = log
        prefix = f"pubend/{key}/"
        own = {k.removeprefix(prefix): v for k, v in self.saved.items() if k.startswith(prefix)}
        return PubendState(
            id=entry.pubend,
            stream=entry.name,
            log=recovered,
            saved=own,
            retention=entry.retention,
        )

    def create_stream(self, name: str, retention: Retention) -> PubendState:
        """Creates a stream with one pubend, whose id is drawn."""
        entry = StreamEntry(name=name, pubend=randbits(63) or 1, retention=retention)
        state = self.open_stream(entry)
        self._save_own(f"{_STREAM}{name}", msgspec.json.encode(entry))
        return state

    def delete_stream(self, name: str, log: str) -> None:
        """Forgets a stream, then removes its log: never the other way round."""
        self._save_own(f"{_STREAM}{name}", None)
        self._logs.pop(log).close()
        rmtree(self.path / _LOGS / log, ignore_errors=True)

    def carry_out(self, output: Append | Fetch | Trim | Save) -> None:
        """Does what the machine asks for; answers come as events."""
        if isinstance(output, Append):
            record = output.record
            assert record is None or isinstance(record, LogRecord | LogSnapshot)
            log = self._logs.get(output.log)
            if log is not None:
                log.append(output.number, record, output.lease)
        elif isinstance(output, Save):
            self._store.save(output.serial, output.key, output.value)
        elif isinstance(output, Fetch):
            self._readers.submit(self._fetch, output)
        elif output.log in self._logs:
            self._logs[output.log].trim(output.upto)

    def size_bytes(self, pubend: int) -> int:
        """What the log of a pubend takes on disk."""
        return self._logs[f"{pubend:016x}"].size_bytes

    def close(self) -> None:
        """Returns when all that was asked for is on disk."""
        self._is_closing = True
        self._readers.shutdown()
        for log in self._logs.values():
            log.close()
        self._writer.close()
        self._store.close()
        self._lock.close()

    # What the threads of the log report

    def on_synced(self, log: str, upto: int, lease: int) -> None:
        """Records are on disk."""
        self._report("appended", log, upto, lease)

    def on_rolled(self, log: str) -> None:
        """A segment has begun."""
        self._report("rolled", log)

    def on_full(self, log: str, is_full: bool) -> None:
        """There is no room, or there is again."""
        self._report("disk_full", log, is_full)

    def on_failed(self, error: BaseException) -> None:
        """The disk is not to be trusted any more."""
        self._fail(error)

    def _fetch(self, output: Fetch) -> None:
        try:
            found: Fetched = self._logs[output.log].fetch(
                output.start, output.stop, output.bytes_max
            )
        except BaseException as error:
            self._fail(error)
        else:
            self._report("fetched", output.request, found)

    def _report(self, *event: object) -> None:
        self.events.append(event)
        if not self._is_scheduled and not self._is_closing:
            self._is_scheduled = True
            self._loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        self._is_scheduled = False
        self._on_event()

    def _fail(self, error: BaseException) -> None:
        self._loop.call_soon_threadsafe(self._on_failed, error)

    def _save_own(self, key: str, value: bytes | None) -> None:
        self._own_serial -= 1
        if value is None:
            self.saved.pop(key, None)
        else:
            self.saved[key] = value
        self._store.save(self._own_serial, key, value)


def free_bytes(path: Path) -> int:
    """Room on the disk of a directory."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize
