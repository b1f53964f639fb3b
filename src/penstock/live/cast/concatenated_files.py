"""The regular files of an object as one byte string, which is read at any place.

Files must stay as they are from the time they are listed: what was hashed would not be what is
sent. Size and time of change are compared behind each read.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.live.cast.file_io import read_at
from penstock.live.cast.manifest import FileEntry
from penstock.live.error_text import in_words

_OPEN_MAX: Final = 64


class ConcatenatedFiles:
    """Files below `root` by their entries; the one with the empty path is `root` itself."""

    def __init__(self, root: str, entries: Sequence[FileEntry]) -> None:
        self._root: Final = root
        # Where an empty one begins, another begins, too.
        self._entries: Final = [entry for entry in entries if entry.size_bytes]
        ends = list(accumulate(entry.size_bytes for entry in self._entries))
        self._starts: Final = [0, *ends[:-1]]
        self.length_bytes: Final = ends[-1] if ends else 0
        # Those that were read last come last.
        self._open: Final[OrderedDict[int, int]] = OrderedDict()

    def read(self, offset: int, size_bytes: int) -> bytes:
        """The bytes at a place, all of which must be inside."""
        assert offset + size_bytes <= self.length_bytes, "nothing lies behind the last file"
        parts = []
        index = bisect_right(self._starts, offset) - 1
        while size_bytes:
            inside = offset - self._starts[index]
            part_bytes = min(size_bytes, self._entries[index].size_bytes - inside)
            parts.append(self._read_file(index, inside, part_bytes))
            offset += part_bytes
            size_bytes -= part_bytes
            index += 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Closes the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _read_file(self, index: int, offset: int, size_bytes: int) -> bytes:
        entry = self._entries[index]
        path = os.path.join(self._root, entry.path) if entry.path else self._root
        try:
            fd = self._opened(index, path)
            data = read_at(fd, size_bytes, offset)
            status = os.fstat(fd)
        except OSError as error:
            raise UsageError(f"cannot send what cannot be read: {in_words(error)}") from None
        if status.st_size != entry.size_bytes or status.st_mtime_ns != entry.mtime_ns:
            raise file_changed(path)
        return data

    def _opened(self, index: int, path: str) -> int:
        fd = self._open.get(index)
        if fd is not None:
            self._open.move_to_end(index)
            return fd
        # The path that was named may be a link, but no file below it was listed as one.
        flags = os.O_NOFOLLOW if self._entries[index].path else 0
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
        self._open[index] = fd
        if len(self._open) > _OPEN_MAX:
            os.close(self._open.popitem(last=False)[1])
        return fd


def file_changed(path: str) -> UsageError:
    """The error that ends a cast whose files do not stay as they are."""
    return UsageError(f"{path} has changed: run the command again when nothing writes to it")
