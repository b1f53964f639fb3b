"""The file beside an unfinished object that says how far it is.

    0        8        12          28       36       40       44         48        64
    +--------+--------+-----------+--------+--------+--------+----------+---------+
    | magic  | format | object id | length | symbol | block  | manifest | 0       |  numbers are
    |        |        |           |        | bytes  | symbols| bytes    |         |  little-endian
    +--------+--------+-----------+--------+--------+--------+----------+---------+
    | a bit for each verified block ...    | manifest ...                         |
    +--------------------------------------+--------------------------------------+

Everything is written in place, and nothing in it is believed: a bit only says that a block is worth
a second look, and the manifest hashes to the object id or is none. So it may reach the disk in any
order, and late.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB, flock
from struct import Struct
from time import monotonic
from typing import Final

from penstock.bloomcast.coding.block_layout import BlockLayout
from penstock.kernel.errors import UsageError
from penstock.live.cast.bit_set import BitSet
from penstock.live.cast.file_io import open_own

_HEAD: Final = Struct("<8sI16sQIII16x")
_MAGIC: Final = b"PSTKPART"
_FORMAT: Final = 1
_SYNC_S: Final = 2.0


class PartState:
    """Open, and locked, as long as the object is received."""

    def __init__(
        self,
        path: str,
        *,
        object_id: bytes,
        layout: BlockLayout,
        manifest_bytes: int,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.path: Final = path
        self._clock: Final = clock
        self._synced_at = clock()
        self._is_dirty = False
        self._blocks_bytes: Final = -(-layout.blocks // 8)
        self.manifest_offset: Final = _HEAD.size + self._blocks_bytes
        self.fd: Final = _locked(path)
        head = _HEAD.pack(
            _MAGIC,
            _FORMAT,
            object_id,
            layout.length_bytes,
            layout.symbol_bytes,
            layout.block_symbols,
            manifest_bytes,
        )
        # Whether it tells of an earlier attempt at this very object.
        self.is_resumed: Final = os.pread(self.fd, _HEAD.size, 0) == head
        if not self.is_resumed:
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, head, 0)
        os.ftruncate(self.fd, self.manifest_offset + manifest_bytes)
        self.verified: Final = BitSet(
            layout.blocks, os.pread(self.fd, self._blocks_bytes, _HEAD.size)
        )

    def set_verified(self, block: int) -> None:
        """Remembers that a block is right."""
        self.verified.add(block, block + 1)
        os.pwrite(self.fd, self.verified.byte(block // 8), _HEAD.size + block // 8)
        self._is_dirty = True

    def sync(self) -> None:
        """Brings to disk what has changed, at most every two seconds."""
        now = self._clock()
        if self._is_dirty and now >= self._synced_at + _SYNC_S:
            os.fdatasync(self.fd)
            self._is_dirty = False
            self._synced_at = now

    def close(self) -> None:
        """Lets another process in."""
        os.close(self.fd)


def _locked(path: str) -> int:
    fd = open_own(path)
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise UsageError(f"another process receives {path.removesuffix('.state')}") from None
    if os.fstat(fd).st_size and os.pread(fd, len(_MAGIC), 0) != _MAGIC:
        os.close(fd)
        raise UsageError(f"{path} is in the way: remove it")
    return fd
