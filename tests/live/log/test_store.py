"""Values by key, durable when they are told to be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.log.store import SaveStore


class Opened:
    """A store and what it told."""

    def __init__(self, path: Path) -> None:
        self.saved: list[int] = []
        self.failed: list[BaseException] = []
        self.store = SaveStore(str(path), on_saved=self.saved.append, on_failed=self.failed.append)


def test_the_last_value_of_a_key_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened = Opened(path)
    assert opened.store.items() == {}
    for serial in range(1, 101):
        opened.store.save(serial, f"row/{serial % 3}", b"%d" % serial)
    opened.store.save(101, "other", b"x")
    opened.store.save(102, "row/0", None)
    opened.store.close()
    assert opened.saved == list(range(1, 103))
    assert opened.failed == []

    again = Opened(path)
    assert again.store.items("row/") == {"row/1": b"100", "row/2": b"98"}
    assert again.store.items() == {"other": b"x", "row/1": b"100", "row/2": b"98"}
    again.store.close()


def test_a_failed_commit_is_told_once_and_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    opened = Opened(path)
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE saved")
    other.close()
    opened.store.save(1, "a", b"")
    opened.store.save(2, "b", b"")
    opened.store.close()
    assert opened.saved == []
    assert len(opened.failed) == 1


def test_a_commit_is_durable() -> None:
    """WAL with FULL syncs at each commit; NORMAL would not."""
    opened = SaveStore(":memory:", on_saved=lambda _: None, on_failed=lambda _: None)
    assert opened._db.execute("PRAGMA synchronous").fetchone() == (2,)
    opened.close()


def test_other_files_and_formats_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(UsageError, match="cannot be opened as a store"):
        Opened(path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA user_version=9")
    db.close()
    with pytest.raises(UsageError, match="has store format 9, this release reads 1"):
        Opened(other)
