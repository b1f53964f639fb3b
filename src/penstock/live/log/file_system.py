"""Calls to the operating system that the log makes, as one object that tests replace.

The names are those of `os`. Whoever writes a test can tear, reorder, shorten or fail any of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EIO
from typing import Final, Protocol

from penstock.kernel.errors import PenstockError
from penstock.live.log.lock import DirectoryLock

_READ_BYTES_MAX: Final = 1 << 30
_PIECE_BYTES: Final = 1 << 20
# What is given up at once of a disk that cannot read.
_BAD_BYTES: Final = 4096


class Closeable(Protocol):
    """Something that is held until it is closed."""

    def close(self) -> None:
        """Lets go of it."""


class FileSystem(Protocol):
    """What a log asks of a disk."""

    def open(
        self, path: str, *, write: bool = False, create: bool = False, synced: bool = False
    ) -> int:
        """Opens a file; `create` makes an empty one, in place of any that was there.

        With `synced`, a write returns when its bytes are on disk.
        """

    def close(self, fd: int) -> None:
        """Closes a file."""

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        """Writes at a place; returns how many bytes were written, maybe fewer than given."""

    def pwritev(self, fd: int, parts: Sequence[bytes], offset: int) -> int:
        """Writes parts one behind the other; maybe fewer bytes than given, as `pwrite`."""

    def pread(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Reads at a place, maybe fewer bytes than asked for."""

    def fdatasync(self, fd: int) -> None:
        """Returns when all that was written to the file is on disk, its size included."""

    def size_bytes(self, fd: int) -> int:
        """The size of an open file."""

    def rename(self, source: str, target: str) -> None:
        """Gives a file another name, in place of any file of that name."""

    def unlink(self, path: str) -> None:
        """Removes a file."""

    def make_directory(self, path: str) -> bool:
        """Makes a directory; False if it was there."""

    def names(self, directory: str) -> list[str]:
        """The names in a directory, sorted."""

    def sync_directory(self, path: str) -> None:
        """Returns when all names that were created, renamed and removed are so on disk."""

    def free_bytes(self, path: str) -> int:
        """How much room there is."""

    def lock(self, directory: str) -> Closeable:
        """Keeps other processes out of a directory."""


class OsFileSystem:
    """The file system of this machine."""

    def open(
        self, path: str, *, write: bool = False, create: bool = False, synced: bool = False
    ) -> int:
        """See `FileSystem`."""
        flags = os.O_RDWR if write or create else os.O_RDONLY
        if create:
            flags |= os.O_CREAT | os.O_TRUNC
        if synced:
            # A write and its sync in one call: a thread that has to wait for the interpreter after
            # each call, because others are busy, waits once.
            flags |= os.O_DSYNC
        return os.open(path, flags | os.O_CLOEXEC, 0o600)

    def close(self, fd: int) -> None:
        """See `FileSystem`."""
        os.close(fd)

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:
        """See `FileSystem`."""
        return os.pwrite(fd, data, offset)

    def pwritev(self, fd: int, parts: Sequence[bytes], offset: int) -> int:
        """See `FileSystem`."""
        return os.pwritev(fd, parts, offset)

    def pread(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """See `FileSystem`."""
        return os.pread(fd, min(size_bytes, _READ_BYTES_MAX), offset)

    def fdatasync(self, fd: int) -> None:
        """See `FileSystem`."""
        os.fdatasync(fd)

    def size_bytes(self, fd: int) -> int:
        """See `FileSystem`."""
        return os.fstat(fd).st_size

    def rename(self, source: str, target: str) -> None:
        """See `FileSystem`."""
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """See `FileSystem`."""
        os.unlink(path)

    def make_directory(self, path: str) -> bool:
        """See `FileSystem`."""
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            return False
        return True

    def names(self, directory: str) -> list[str]:
        """See `FileSystem`."""
        return sorted(os.listdir(directory))

    def sync_directory(self, path: str) -> None:
        """See `FileSystem`."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def free_bytes(self, path: str) -> int:
        """See `FileSystem`."""
        stat = os.statvfs(path)
        return stat.f_bavail * stat.f_frsize

    def lock(self, directory: str) -> Closeable:
        """See `FileSystem`."""
        return DirectoryLock(directory)


def write_all(fs: FileSystem, fd: int, data: bytes, offset: int) -> None:
    """Writes everything: a short write is completed."""
    written = fs.pwrite(fd, data, offset)
    while written < len(data):
        # Short writes are rare, so only they pay for a copy.
        more = fs.pwrite(fd, data[written:], offset + written)
        if more <= 0:
            raise PenstockError("the disk takes no more bytes and says no error")
        written += more


def write_parts(fs: FileSystem, fd: int, parts: Sequence[bytes], offset: int) -> None:
    """Writes parts one behind the other, all of them."""
    written = fs.pwritev(fd, parts, offset)
    if written < sum(map(len, parts)):
        write_all(fs, fd, b"".join(parts)[written:], offset + written)


def read_all(fs: FileSystem, fd: int, size_bytes: int, offset: int) -> bytes:
    """Reads all that is asked for, or up to the end of the file."""
    data = fs.pread(fd, size_bytes, offset)
    if len(data) == size_bytes:
        return data
    parts = [data]
    read_bytes = len(data)
    while data and read_bytes < size_bytes:
        data = fs.pread(fd, size_bytes - read_bytes, offset + read_bytes)
        parts.append(data)
        read_bytes += len(data)
    return b"".join(parts)


def read_into(fs: FileSystem, fd: int, buffer: bytearray, *, skips_bad: bool = False) -> bytearray:
    """The whole of a file, in this buffer if it is large enough: quicker than fresh memory.

    With `skips_bad`, zeros stand for what the disk cannot read.
    """
    size_bytes = fs.size_bytes(fd)
    if len(buffer) < size_bytes:
        buffer = bytearray(size_bytes)
    del buffer[size_bytes:]
    offset, piece_bytes = 0, _PIECE_BYTES
    with memoryview(buffer) as view:
        while offset < size_bytes:
            wanted_bytes = min(piece_bytes, size_bytes - offset)
            try:
                piece = fs.pread(fd, wanted_bytes, offset)
            except OSError as error:
                if error.errno != EIO or not skips_bad:
                    raise
                if piece_bytes > _BAD_BYTES:
                    piece_bytes = _BAD_BYTES
                    continue
                piece = bytes(wanted_bytes)
            if not piece:
                break
            view[offset : offset + len(piece)] = piece
            offset += len(piece)
    del buffer[offset:]
    return buffer


def read_file(fs: FileSystem, path: str) -> bytes:
    """The whole of a file."""
    fd = fs.open(path)
    try:
        return read_all(fs, fd, fs.size_bytes(fd), 0)
    finally:
        fs.close(fd)


def replace_file(fs: FileSystem, directory: str, name: str, data: bytes) -> None:
    """Gives a file new contents: after a crash it holds either the old or the new ones."""
    target = f"{directory}/{name}"
    fresh = f"{target}.new"
    fd = fs.open(fresh, create=True)
    try:
        write_all(fs, fd, data, 0)
        fs.fdatasync(fd)
    finally:
        fs.close(fd)
    fs.rename(fresh, target)
    fs.sync_directory(directory)
