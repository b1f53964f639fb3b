"""A broker's directory: its lock, its store, and one log for each pubend.

What threads of the disk report is collected and passed on in the event loop, many at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import randbits, token_hex
from shutil import rmtree
from socket import gethostname
from threading import Event, get_ident
from typing import Final, cast

import msgspec

from penstock.guaranteed.broker_state import BrokerState
from penstock.guaranteed.facts import StreamWanted
from penstock.guaranteed.log_record import Counted, Fetched, LogRecord, LogSnapshot
from penstock.guaranteed.pubend.pubend_state import PubendState
from penstock.guaranteed.settings import Retention
from penstock.guaranteed.sync_times import SyncTimes
from penstock.kernel.errors import UsageError
from penstock.kernel.machine import Append, Count, Fetch, Save, Trim
from penstock.live.error_text import in_words
from penstock.live.log.lock import DirectoryLock
from penstock.live.log.log import PubendLog
from penstock.live.log.store import STORE_NAME, SaveStore, read_stored
from penstock.live.log.writer import LogWriter

_log: Final = logging.getLogger("penstock.streams")
_STREAM: Final = "stream/"
_LIFE: Final = "broker/life"
_NAME: Final = "broker/name"
_LOGS: Final = "logs"
# The first save is that of the life.
_LIFE_SERIAL: Final = -1
_LIFE_S: Final = 10.0
_BROKER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class StreamEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What the directory knows of a stream."""

    name: str
    pubend: int
    retention: Retention = Retention()
    slow_host: str = "throttle"


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
        self._loop_thread: Final = get_ident()
        self._is_scheduled = False
        # Nobody waits for what is still to be stored then.
        self._is_closing = False
        self._is_life_saved: Final = Event()
        self._failure: BaseException | None = None
        try:
            (path / _LOGS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot use {path}: {error.strerror}: name another --directory"
            ) from None
        self._lock: Final = DirectoryLock(str(path))
        self._store: Final = SaveStore(
            str(path / STORE_NAME),
            on_saved=self._on_saved,
            on_failed=self._fail,
        )
        self.saved: Final = self._store.items()
        self._writer: Final = LogWriter(self, writes_here=True)
        self._logs: Final[dict[str, PubendLog]] = {}
        self._readers: Final = ThreadPoolExecutor(2, thread_name_prefix="penstock-log-reader")
        # Serials of the directory's own saves; those of machines are positive.
        self._own_serial = 0
        self._own_saves: Final[dict[int, Callable[[], None]]] = {}
        self.life: Final = int(self.saved.get(_LIFE, b"0")) + 1
        self._save_life()

    def state(self, name: str | None, *, parents: int, wall_ns: int) -> BrokerState:
        """What a broker starts with; opens all logs."""
        return BrokerState(
            name=self._name(name),
            life=self.life,
            wall_ns=wall_ns,
            pubends=[self.open_stream(entry) for entry in self.streams()],
            parents=parents,
            saved=self.saved,
        )

    def _name(self, given: str | None) -> str:
        """The broker's name: as given, as stored, or one that is drawn and stored."""
        stored = self.saved.get(_NAME, b"").decode()
        if given is not None and not _BROKER_NAME.fullmatch(given):
            raise UsageError(
                f"{given!r} is no name of a broker: use 1 to 64 letters, digits, '._-',"
                " and begin with a letter or digit"
            )
        if given and stored and given != stored:
            raise UsageError(
                f"{self.path} belongs to the broker {stored!r}: leave --name out, or name another"
                " --directory"
            )
        name = given or stored or _drawn_name()
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

    def stray_logs(self) -> list[str]:
        """Logs of no stream: the store is lost or older than they are, or a deletion was cut."""
        known = {f"{entry.pubend:016x}" for entry in self.streams()}
        return sorted(path.name for path in (self.path / _LOGS).iterdir() if path.name not in known)

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
            slow_host=entry.slow_host,
        )

    def create_stream(self, wanted: StreamWanted, then: Callable[[PubendState], None]) -> None:
        """Creates a stream with one pubend, whose id is drawn; `then` is called when it is stored.

        Not before: what is confirmed must be found again.
        """
        entry = StreamEntry(
            name=wanted.stream,
            pubend=randbits(63) or 1,
            retention=wanted.retention,
            slow_host=wanted.slow_host,
        )
        state = self.open_stream(entry)
        self._save_own(f"{_STREAM}{entry.name}", msgspec.json.encode(entry), lambda: then(state))

    def delete_stream(self, name: str, log: str, then: Callable[[], None]) -> None:
        """Forgets a stream, then removes its log: never the other way round."""
        self._logs.pop(log).close()

        def remove() -> None:
            rmtree(self.path / _LOGS / log, ignore_errors=True)
            then()

        self._save_own(f"{_STREAM}{name}", None, remove)

    def carry_out(self, output: Append | Fetch | Count | Trim | Save) -> None:
        """Does what the machine asks for; answers come as events."""
        if isinstance(output, Append):
            log = self._logs.get(output.log)
            if log is not None:
                records = cast("list[LogRecord | LogSnapshot]", output.records)
                log.append_many(output.upto, records, output.lease)
        elif isinstance(output, Save):
            self._store.save(output.serial, output.key, output.value)
        elif isinstance(output, Fetch):
            self._readers.submit(self._fetch, output)
        elif isinstance(output, Count):
            self._readers.submit(self._count, output)
        elif output.log in self._logs:
            self._logs[output.log].trim(output.upto)

    def write(self) -> None:
        """Writes what was appended, at once while the disk is quick; call it after appending."""
        self._writer.write_here()
        if self.events:
            self._on_event()

    @property
    def sync_times(self) -> SyncTimes:
        """How long writes of its logs took."""
        return self._writer.sync_times

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
        log = self._logs.get(output.log)
        # Of a stream that was deleted meanwhile there is nothing, and nobody is told of it.
        found = Fetched((), (), output.stop)
        try:
            if log is not None:
                found = log.fetch(output.start, output.stop, output.bytes_max)
        except BaseException as error:
            if self._is_open(output.log, log):
                self._fail(error)
                return
        self._report("fetched", output.request, found)

    def _count(self, output: Count) -> None:
        log = self._logs.get(output.log)
        counted = Counted(0)
        try:
            if log is not None:
                counted = log.counted(output.after, output.upto)
        except BaseException as error:
            if self._is_open(output.log, log):
                self._fail(error)
                return
        self._report("counted", output.request, counted)

    def _is_open(self, name: str, log: PubendLog | None) -> bool:
        """Whether what a thread reads was not deleted meanwhile, maybe with its files."""
        return self._logs.get(name) is log

    def _report(self, *event: object) -> None:
        self.events.append(event)
        # What happens in the event loop's own thread happens in `write`, which tells of it.
        if get_ident() != self._loop_thread and not self._is_scheduled and not self._is_closing:
            self._is_scheduled = True
            self._loop.call_soon_threadsafe(self._pass_on)

    def _on_saved(self, serial: int) -> None:
        if serial > 0:
            self._report("saved", serial)
        elif serial == _LIFE_SERIAL:
            self._is_life_saved.set()
        elif serial in self._own_saves and not self._is_closing:
            self._loop.call_soon_threadsafe(self._own_saves.pop(serial))

    def _save_life(self) -> None:
        """Others order what brokers say by their lives: one that was used must not come again."""
        self._save_own(_LIFE, str(self.life).encode())
        is_saved = self._is_life_saved.wait(_LIFE_S)
        if not is_saved or self._failure is not None:
            why = in_words(self._failure) if self._failure else "the disk does not answer"
            raise UsageError(f"cannot write to {self.path}: {why}: make room, or name another")

    def _pass_on(self) -> None:
        self._is_scheduled = False
        self._on_event()

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._is_life_saved.set()
        self._loop.call_soon_threadsafe(self._on_failed, error)

    def _save_own(
        self, key: str, value: bytes | None, then: Callable[[], None] | None = None
    ) -> None:
        self._own_serial -= 1
        if then is not None:
            self._own_saves[self._own_serial] = then
        if value is None:
            self.saved.pop(key, None)
        else:
            self.saved[key] = value
        self._store.save(self._own_serial, key, value)


def stream_names(path: Path) -> dict[str, str]:
    """The names of a directory's streams, by the names of their logs; changes nothing."""
    stored = read_stored(str(path / STORE_NAME), _STREAM)
    entries = (msgspec.json.decode(value, type=StreamEntry) for value in stored.values())
    return {f"{entry.pubend:016x}": entry.name for entry in entries}


def _drawn_name() -> str:
    """The name of this machine, and enough more to tell its brokers apart."""
    machine = re.sub("[^A-Za-z0-9]+", "-", gethostname()).strip("-")[:50]
    return f"{machine or 'broker'}-{token_hex(4)}"


def free_bytes(path: Path) -> int:
    """Room on the disk of a directory."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize
