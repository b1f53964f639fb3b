"""Opens files that belong to casts alone, and reads and writes all that it is asked to."""

from __future__ import annotations

import os
from errno import ENXIO
from typing import Final

from penstock.kernel.errors import PenstockError, UsageError
from penstock.live.error_text import in_words

# Images of disks have large holes; for the system to look for small ones takes as long as reading.
_HOLE_BYTES_MIN: Final = 16 << 10


def open_own(path: str) -> int:
    """Opens a file to read and write, and makes it if there is none; follows no link."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise UsageError(
            f"cannot receive: {in_words(error)}; choose another directory, or remove what is there"
        ) from None


def read_at(fd: int, size_bytes: int, offset: int) -> bytes:
    """All that is asked for, or up to the end of the file; moves the file's own position."""
    if size_bytes >= _HOLE_BYTES_MIN and _is_hole(fd, size_bytes, offset):
        return bytes(size_bytes)
    data = os.pread(fd, size_bytes, offset)
    if len(data) == size_bytes:
        return data
    parts = [data]
    read_bytes = len(data)
    while data and read_bytes < size_bytes:
        data = os.pread(fd, size_bytes - read_bytes, offset + read_bytes)
        parts.append(data)
        read_bytes += len(data)
    return b"".join(parts)


def write_at(fd: int, data: bytes | memoryview, offset: int) -> None:
    """Writes everything."""
    written = os.pwrite(fd, data, offset)
    while written < len(data):
        more = os.pwrite(fd, memoryview(data)[written:], offset + written)
        if more <= 0:
            raise PenstockError("the disk takes no more bytes and says no error")
        written += more


def _is_hole(fd: int, size_bytes: int, offset: int) -> bool:
    """Whether nothing was ever written there, so that it need not be read."""
    try:
        return os.lseek(fd, offset, os.SEEK_DATA) >= offset + size_bytes
    except OSError as error:
        # No data up to the end of the file, which may lie before the place.
        return error.errno == ENXIO and offset + size_bytes <= os.fstat(fd).st_size
