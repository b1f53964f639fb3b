"""A disk in memory that loses what was not synced: the whole, parts of it, or in another order.

Writes go to files as programs see them, and are kept beside as sectors that are not on disk yet.
A crash keeps some of these and drops the others. Names in directories are the same: created,
renamed and removed ones survive only if their directory was synced, or by luck, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EIO, ENOSPC
from random import Random
from typing import TypeAlias, TypeVar

SECTOR_BYTES = 512
# What paths name after it; None for nothing. A rename changes two.
NameChange: TypeAlias = "tuple[tuple[str, File | None], ...]"
Survivor = TypeVar("Survivor")


class CrashError(BaseException):
    """The power is cut here; nothing of the program runs on."""


class File:
    """Contents as programs see them, and as they are on disk."""

    def __init__(self) -> None:
        self.seen = bytearray()
        self.stored = bytearray()
        # Sectors in the order in which they were written.
        self.unsynced: list[tuple[int, bytes]] = []
        # Places that the disk cannot read.
        self.unreadable: set[int] = set()

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

    def sync_range(self, start: int, stop: int) -> None:
        """As a write that is synced: what was written elsewhere before stays as it is."""
        inside = [item for item in self.unsynced if start - SECTOR_BYTES < item[0] < stop]
        self.unsynced = [item for item in self.unsynced if item not in inside]
        self._store(inside)

    def lose(self, keeps: Callable[[list[tuple[int, bytes]]], Iterable[tuple[int, bytes]]]) -> None:
        self._store(keeps(self.unsynced))
        self.seen[:] = self.stored
        self.unsynced.clear()

    def _store(self, sectors: Iterable[tuple[int, bytes]]) -> None:
        for at, data in sectors:
            if len(self.stored) < at + len(data):
                self.stored.extend(bytes(at + len(data) - len(self.stored)))
            self.stored[at : at + len(data)] = data


@dataclass
class FakeDisk:
    """Implements `FileSystem`; tests set what goes wrong."""

    files: dict[str, File] = field(default_factory=dict)
    stored_names: dict[str, File] = field(default_factory=dict)
    # Changes that are not on disk yet, each of which survives whole or not at all.
    unsynced_names: list[NameChange] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)
    unsynced_directories: set[str] = field(default_factory=set)
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
        # Opened so that a write is synced when it returns; descriptors are never used again.
        self._synced: set[int] = set()
        self._fd = 2

    # What programs call

    def open(
        self, path: str, *, write: bool = False, create: bool = False, synced: bool = False
    ) -> int:
        if create:
            self._step("create")
            self.files[path] = File()
            self.unsynced_names.append(((path, self.files[path]),))
        elif path not in self.files:
            raise FileNotFoundError(path)
        self._fd += 1
        self._open[self._fd] = self.files[path]
        if synced:
            self._synced.add(self._fd)
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
        if fd in self._synced:
            self._step("fdatasync")
            if "fdatasync" not in self.ignored:
                file.sync_range(offset, offset + len(data))
        return len(data)

    def pwritev(self, fd: int, parts: Sequence[bytes], offset: int) -> int:
        return self.pwrite(fd, b"".join(parts), offset)

    def pread(self, fd: int, size_bytes: int, offset: int) -> bytes:
        if any(offset <= bad < offset + size_bytes for bad in self._open[fd].unreadable):
            raise OSError(EIO, "input/output error")
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
        self.unsynced_names.append(((target, file), (source, None)))

    def unlink(self, path: str) -> None:
        self._step("unlink")
        self.room_bytes += len(self.files.pop(path).seen)
        self.unsynced_names.append(((path, None),))

    def make_directory(self, path: str) -> bool:
        is_new = path not in self.directories
        if is_new:
            self.directories.add(path)
            self.unsynced_directories.add(path)
        return is_new

    def names(self, directory: str) -> list[str]:
        inside = (path.rpartition("/") for path in self.files)
        return sorted(name for parent, _, name in inside if parent == directory)

    def sync_directory(self, path: str) -> None:
        self._step("sync_directory")
        if "sync_directory" not in self.ignored:
            inside = [c for c in self.unsynced_names if _parent(c[0][0]) == path]
            self._store_names(inside)
            self.unsynced_directories -= {d for d in self.directories if _parent(d) == path}

    def free_bytes(self, path: str) -> int:
        return self.room_bytes

    def lock(self, directory: str) -> FakeLock:
        return FakeLock()

    # What tests do

    def crash(self, random: Random) -> None:
        """Cuts the power: some sectors and names that were not synced survive."""
        self.crash_keeping(
            lambda sectors: _survivors(sectors, random),
            names=_survivors(self.unsynced_names, random),
        )

    def crash_keeping(
        self,
        keeps: Callable[[list[tuple[int, bytes]]], Iterable[tuple[int, bytes]]],
        *,
        names: Iterable[NameChange] = (),
    ) -> None:
        """Cuts the power; `keeps` says which sectors survive, `names` which changes of names."""
        every = {id(f): f for f in [*self.files.values(), *self.stored_names.values()]}
        self._store_names(names)
        for file in every.values():
            file.lose(keeps)
        # Of a directory that is not there, nothing is; luck is for files.
        for path in list(self.stored_names):
            if _parent(path) in self.unsynced_directories:
                del self.stored_names[path]
        self.directories -= self.unsynced_directories
        self.unsynced_directories.clear()
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
        try:
            yield
        finally:
            self.ignored = before

    def contents(self, path: str) -> bytes:
        """What programs see."""
        return bytes(self.files[path].seen)

    def overwrite(self, path: str, offset: int, data: bytes) -> None:
        """Changes what is on disk, behind the program's back."""
        file = self.files[path]
        file.seen[offset : offset + len(data)] = data
        file.stored[offset : offset + len(data)] = data

    def _store_names(self, changes: Iterable[NameChange]) -> None:
        stored = list(changes)
        for change in stored:
            for path, file in change:
                if file is None:
                    self.stored_names.pop(path, None)
                else:
                    self.stored_names[path] = file
        self.unsynced_names = [c for c in self.unsynced_names if c not in stored]

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


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _survivors(sectors: list[Survivor], random: Random) -> list[Survivor]:
    """Nothing, everything, a first part (torn), or any of them (reordered)."""
    kind = random.randrange(4)
    if kind == 0:
        return []
    if kind == 1:
        return sectors
    if kind == 2:
        return sectors[: random.randint(0, len(sectors))]
    return [sector for sector in sectors if random.random() < 0.5]
