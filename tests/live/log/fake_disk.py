"""A disk in memory that loses what was not synced: the whole, parts of it, or in another order.

Writes go to files as programs see them, and are kept beside as sectors that are not on disk yet.
A crash keeps some of these and drops the others, as `Survival` draws. Names in directories are the
same: created, renamed and removed ones survive only if the directory was synced, or by luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import ENOSPC
from random import Random

SECTOR_BYTES = 512


class CrashError(BaseException):
    """The power is cut here; nothing of the program runs on."""


class File:
    """Contents as programs see them, and as they are on disk."""

    def __init__(self) -> None:
        self.seen = bytearray()
        self.stored = bytearray()
        # Sectors in the order in which they were written.
        self.unsynced: list[tuple[int, bytes]] = []

    def write(self, data: bytes, offset: int) -> None:
        if len(self.seen) < offset + len(data):
            self.seen.extend(bytes(offset + len(data) - len(self.seen)))
        self.seen[offset : offset + len(data)] = data
        first, stop = offset // SECTOR_BYTES, -(-(offset + len(data)) // SECTOR_BYTES)
        for sector in range(first, stop):
            at = sector * SECTOR_BYTES
            self.unsynced.append((at, bytes(self.seen[at : at + SECTOR_BYTES])))

    def sync(self) -> None:
        self.stored[:] = self.seen
        self.unsynced.clear()

    def lose(self, keeps: Callable[[list[tuple[int, bytes]]], Iterable[tuple[int, bytes]]]) -> None:
        for at, data in keeps(self.unsynced):
            if len(self.stored) < at + len(data):
                self.stored.extend(bytes(at + len(data) - len(self.stored)))
            self.stored[at : at + len(data)] = data
        self.seen[:] = self.stored
        self.unsynced.clear()


@dataclass
class FakeDisk:
    """Implements `FileSystem`; tests set what goes wrong."""

    files: dict[str, File] = field(default_factory=dict)
    stored_names: dict[str, File] = field(default_factory=dict)
    # Changes of names that are not on disk yet: (path, file or None for removed).
    unsynced_names: list[tuple[str, File | None]] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    room_bytes: int = 1 << 40
    # Writes take at most so many bytes at once.
    write_bytes_max: int | None = None
    # Operations until the power is cut; None for never.
    crash_after: int | None = None
    # Syncs of data until the power is cut, between a write and its sync.
    crash_after_syncs: int | None = None
    # Raised by the operations of these names.
    errors: dict[str, OSError] = field(default_factory=dict)
    # Operations that are left out: a sync that was forgotten.
    ignored: set[str] = field(default_factory=set)
    read_bytes: int = 0
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open: dict[int, File] = {}
        self._paths: dict[int, str] = {}
        self._fd = 2

    # What programs call

    def open(self, path: str, *, write: bool = False, create: bool = False) -> int:
        if create:
            self._step("create")
            self.files[path] = File()
            self.unsynced_names.append((path, self.files[path]))
        elif path not in self.files:
            raise FileNotFoundError(path)
        self._fd += 1
        self._open[self._fd] = self.files[path]
        self._paths[self._fd] = path
        return self._fd

    def close(self, fd: int) -> None:
        del self._open[fd]

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        self._step("pwrite")
        file = self._open[fd]
        data = data[: self.write_bytes_max]
        growth_bytes = max(0, offset + len(data) - len(file.seen))
        if growth_bytes > self.room_bytes:
            raise OSError(ENOSPC, "no space left")
        self.room_bytes -= growth_bytes
        file.write(data, offset)
        return len(data)

    def pread(self, fd: int, size_bytes: int, offset: int) -> bytes:
        data = bytes(self._open[fd].seen[offset : offset + size_bytes])
        self.read_bytes += len(data)
        return data

    def fdatasync(self, fd: int) -> None:
        self._step("fdatasync")
        if "fdatasync" not in self.ignored:
            self._open[fd].sync()

    def size_bytes(self, fd: int) -> int:
        return len(self._open[fd].seen)

    def rename(self, source: str, target: str) -> None:
        self._step("rename")
        file = self.files.pop(source)
        self.files[target] = file
        # One change, as in a journal: the new name, and the old one gone.
        self.unsynced_names += [(target, file), (source, None)]

    def unlink(self, path: str) -> None:
        self._step("unlink")
        self.room_bytes += len(self.files.pop(path).seen)
        self.unsynced_names.append((path, None))

    def make_directory(self, path: str) -> bool:
        is_new = path not in self.directories
        self.directories.add(path)
        return is_new

    def names(self, directory: str) -> list[str]:
        inside = (path.rpartition("/") for path in self.files)
        return sorted(name for parent, _, name in inside if parent == directory)

    def sync_directory(self, path: str) -> None:
        self._step("sync_directory")
        if "sync_directory" not in self.ignored:
            self._store_names(len(self.unsynced_names))

    def free_bytes(self, path: str) -> int:
        return self.room_bytes

    def lock(self, directory: str) -> FakeLock:
        return FakeLock()

    # What tests do

    def crash(self, random: Random) -> None:
        """Cuts the power: of each file some unsynced sectors survive, of names a first part."""
        self.crash_keeping(
            lambda sectors: _survivors(sectors, random),
            names=random.randint(0, len(self.unsynced_names)),
        )

    def crash_keeping(
        self,
        keeps: Callable[[list[tuple[int, bytes]]], Iterable[tuple[int, bytes]]],
        *,
        names: int = 0,
    ) -> None:
        """Cuts the power; `keeps` says which sectors survive."""
        every = {id(f): f for f in [*self.files.values(), *self.stored_names.values()]}
        self._store_names(names)
        for file in every.values():
            file.lose(keeps)
        self.files = dict(self.stored_names)
        self.unsynced_names.clear()
        self._open.clear()
        self.crash_after = self.crash_after_syncs = None

    @contextmanager
    def forgetting(self, call: str, *, really: bool = True) -> Iterator[None]:
        """Leaves out a sync: the bug that a test must find."""
        before = set(self.ignored)
        if really:
            self.ignored.add(call)
        yield
        self.ignored = before

    def contents(self, path: str) -> bytes:
        """What programs see."""
        return bytes(self.files[path].seen)

    def overwrite(self, path: str, offset: int, data: bytes) -> None:
        """Changes what is on disk, behind the program's back."""
        file = self.files[path]
        file.seen[offset : offset + len(data)] = data
        file.stored[offset : offset + len(data)] = data

    def _store_names(self, count: int) -> None:
        for path, file in self.unsynced_names[:count]:
            if file is None:
                self.stored_names.pop(path, None)
            else:
                self.stored_names[path] = file
        del self.unsynced_names[:count]

    def _step(self, call: str) -> None:
        self.calls.append(call)
        if self.crash_after is not None:
            if self.crash_after == 0:
                raise CrashError
            self.crash_after -= 1
        if self.crash_after_syncs is not None and call == "fdatasync":
            if self.crash_after_syncs == 0:
                raise CrashError
            self.crash_after_syncs -= 1
        if call in self.errors:
            raise self.errors[call]


class FakeLock:
    """Nobody else is there."""

    def close(self) -> None:
        pass


def _survivors(sectors: list[tuple[int, bytes]], random: Random) -> list[tuple[int, bytes]]:
    """Nothing, everything, a first part (torn), or any of them (reordered)."""
    kind = random.randrange(4)
    if kind == 0:
        return []
    if kind == 1:
        return sectors
    if kind == 2:
        return sectors[: random.randint(0, len(sectors))]
    return [sector for sector in sectors if random.random() < 0.5]
