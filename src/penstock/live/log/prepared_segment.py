"""The next segment of a log: a file that is filled with zeros piece by piece before it is used."""

from __future__ import annotations

from typing import Final

from penstock.live.log.block import SECTOR_BYTES
from penstock.live.log.file_system import FileSystem, write_all
from penstock.live.log.segment import encoded_header

UNFINISHED_SUFFIX: Final = ".new"
# Zeros are synced piece by piece: a large write-back would delay the syncs of other logs.
FILL_BYTES: Final = 1 << 20
_ZEROS: Final = bytes(FILL_BYTES)


class PreparedSegment:
    """An open file under the name that it has until it is used; its owner closes it.

    What is synced is its bytes: its name need not be before it is used, and is changed then.
    """

    def __init__(self, fs: FileSystem, directory: str, segment_id: int, size_bytes: int) -> None:
        self._fs: Final = fs
        self.path: Final = f"{directory}/segment-{segment_id:016x}{UNFINISHED_SUFFIX}"
        self.id: Final = segment_id
        self.size_bytes: Final = size_bytes
        self._filled_bytes = 0
        self.fd: Final = fs.open(self.path, create=True, synced=True)

    @property
    def filled_bytes(self) -> int:
        """How much is on disk."""
        return self._filled_bytes

    @property
    def is_whole(self) -> bool:
        """Whether it can be used."""
        return self._filled_bytes == self.size_bytes

    def fill_piece(self) -> None:
        """Writes the next piece."""
        start = self._filled_bytes
        if not start:
            header = encoded_header(self.id).ljust(SECTOR_BYTES, b"\0")
            write_all(self._fs, self.fd, header, 0)
            start = SECTOR_BYTES
        data = _ZEROS[: self.size_bytes - start]
        write_all(self._fs, self.fd, data, start)
        self._filled_bytes = start + len(data)

    def remove(self) -> None:
        """It is not used; what a crash leaves of it, the next start removes."""
        self._fs.close(self.fd)
        self._fs.unlink(self.path)
