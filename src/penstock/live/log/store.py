"""The store for what machines save: one value per key, in sqlite.

A journal that is written ahead (WAL) with `synchronous=FULL` syncs once at each commit, and so is
durable at commit with half the syncs of a rollback journal. What arrives during one commit goes
into the next. A failed commit is never tried again, but for a disk without room: sqlite has undone
that one as a whole, and it is repeated until there is room.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from errno import ENOSPC
from os.path import exists
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import Final, TypeAlias
from urllib.parse import quote

from penstock.kernel.errors import UsageError

FORMAT: Final = 1
STORE_NAME: Final = "store.sqlite"
RETRY_S: Final = 0.5
_Saved: TypeAlias = tuple[int, str, bytes | None]


class SaveStore:
    """`on_saved` and `on_failed` are called in the thread of the store."""

    def __init__(
        self,
        path: str,
        *,
        on_saved: Callable[[int], None],
        on_failed: Callable[[BaseException], None],
        retry_s: float = RETRY_S,
    ) -> None:
        self._retry_s: Final = retry_s
        self._on_saved: Final = on_saved
        self._on_failed: Final = on_failed
        self._queue: Final[SimpleQueue[_Saved | None]] = SimpleQueue()
        self._db: Final = _opened(path)
        self._thread: Final = Thread(target=self._run, name="penstock-store", daemon=True)
        self._is_started = False

    def items(self, prefix: str = "") -> dict[str, bytes]:
        """What was stored under keys that begin so; before anything is saved."""
        assert not self._is_started, "items are read at the start"
        rows = self._db.execute(
            "SELECT key, value FROM saved WHERE substr(key, 1, ?) = ? ORDER BY key",
            (len(prefix), prefix),
        )
        return dict(rows.fetchall())

    def save(self, serial: int, key: str, value: bytes | None) -> None:
        """Stores a value, None deletes it; `on_saved` tells when it is on disk."""
        self._queue.put((serial, key, value))
        if not self._is_started:
            self._is_started = True
            self._thread.start()

    def close(self) -> None:
        """Returns when all is stored."""
        if self._is_started:
            self._queue.put(None)
            self._thread.join()
        self._db.close()

    def _run(self) -> None:
        queue, is_open = self._queue, True
        try:
            while is_open and (first := queue.get()) is not None:
                batch = [first]
                while True:
                    while not queue.empty() and is_open:
                        more = queue.get()
                        if more is None:
                            is_open = False
                        else:
                            batch.append(more)
                    if self._commit(batch):
                        break
                    if not is_open:
                        raise OSError(ENOSPC, "no room for what is to be saved")
                    sleep(self._retry_s)
                for serial, _, _ in batch:
                    self._on_saved(serial)
        except BaseException as error:
            self._on_failed(error)

    def _commit(self, batch: list[_Saved]) -> bool:
        """False if there is no room on the disk."""
        # The last value of a key is enough: all of a batch become durable at once.
        last = {key: value for _, key, value in batch}
        try:
            self._write(last)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            return False
        return True

    def _write(self, last: Mapping[str, bytes | None]) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        db.executemany(
            "INSERT OR REPLACE INTO saved VALUES (?, ?)",
            [(key, value) for key, value in last.items() if value is not None],
        )
        db.executemany(
            "DELETE FROM saved WHERE key = ?",
            [(key,) for key, value in last.items() if value is None],
        )
        db.execute("COMMIT")


def read_stored(path: str, prefix: str) -> dict[str, bytes]:
    """What a store has under keys that begin so, whoever uses it; nothing if it cannot be read."""
    if not exists(path):
        return {}
    # Without a journal nobody uses it: then sqlite need not make files beside it.
    mode = "mode=ro" if exists(f"{path}-wal") else "immutable=1"
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True)) as db:
            rows = db.execute(
                "SELECT key, value FROM saved WHERE substr(key, 1, ?) = ?", (len(prefix), prefix)
            )
            return dict(rows.fetchall())
    except sqlite3.DatabaseError:
        return {}


def _opened(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        # The default of Apple's build, and harmless elsewhere: sync to the medium.
        db.execute("PRAGMA fullfsync=1")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise UsageError(
                f"{path} has store format {version}, this release reads {FORMAT}:"
                " use the one that wrote it, or an empty directory"
            )
        db.execute(
            "CREATE TABLE IF NOT EXISTS saved (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
        )
        db.execute(f"PRAGMA user_version={FORMAT}")
    except sqlite3.DatabaseError as error:
        db.close()
        raise UsageError(
            f"{path} cannot be opened as a store ({error}): restore it, or name an empty directory"
        ) from None
    except UsageError:
        db.close()
        raise
    return db
