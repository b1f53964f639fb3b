"""The file beside an unfinished object that says how far it is, and who receives it.

    0        8        12          28       36       40       44         48     52     56      64
    +--------+--------+-----------+--------+--------+--------+----------+------+------+-------+
    | magic  | format | object id | length | symbol | block  | manifest | node | boot | 0     |
    |        |        |           |        | bytes  | symbols| bytes    |      |      |       |
    +--------+--------+-----------+--------+--------+--------+----------+------+------+-------+
    | a bit for each verified block ...    | manifest ...                                     |
    +--------------------------------------+--------------------------------------------------+

Numbers are little-endian. Before FIRST has come, there is no more than the receiver's node id and
the number of its start: a receiver that is started again is the same node, and counts once.

Everything is written in place, and nothing in it is believed: a bit only says that a block is worth
a second look, and the manifest hashes to the object id or is none. So it may reach the disk in any
order, and late.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from random import SystemRandom
from struct import Struct
from time import monotonic, time
from typing import Final

from penstock.bloomcast.coding.block_layout import BlockLayout, announced_layout
from penstock.kernel.errors import PeerError, UsageError
from penstock.live.cast.bit_set import BitSet
from penstock.live.cast.file_io import open_own
from penstock.live.cast.manifest import manifest_bytes_max

_HEAD: Final = Struct("<8sI16sQIIIII8x")
_IDENTITY: Final = Struct("<II")
_IDENTITY_OFFSET: Final = 48
_MAGIC: Final = b"PSTKPART"
_FORMAT: Final = 1
_SYNC_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class PartObject:
    """What FIRST says of an object."""

    object_id: bytes
    layout: BlockLayout
    manifest_bytes: int


class PartState:
    """Open, and locked, as long as the object is received; `begin` says which object it is."""

    def __init__(self, path: str, *, clock: Callable[[], float] = monotonic) -> None:
        self.path: Final = path
        self._clock: Final = clock
        self._synced_at = clock()
        self._is_dirty = False
        self._is_open = True
        self.fd: Final = _locked(path)
        head = os.pread(self.fd, _HEAD.size, 0)
        node, boot = _identity_in(head)
        # Of an earlier attempt.
        self.object: PartObject | None = _object_in(head)
        self.node: Final = node or SystemRandom().randrange(1, 1 << 32)
        # Rises with each start.
        self.boot: Final = max(boot + 1, int(time()))
        # Until `begin`.
        self.is_resumed = False
        self.manifest_offset = _HEAD.size
        self.verified = BitSet(0)
        if self.object is None:
            self._write_head(None)
        else:
            os.pwrite(self.fd, _IDENTITY.pack(self.node, self.boot), _IDENTITY_OFFSET)

    def begin(self, announced: PartObject) -> None:
        """From now on it is about this object; what an attempt at another has left is dropped."""
        blocks_bytes = -(-announced.layout.blocks // 8)
        self.is_resumed = self.object == announced
        if not self.is_resumed:
            os.ftruncate(self.fd, 0)
            self._write_head(announced)
        self.object = announced
        self.manifest_offset = _HEAD.size + blocks_bytes
        os.ftruncate(self.fd, self.manifest_offset + announced.manifest_bytes)
        bits = os.pread(self.fd, blocks_bytes, _HEAD.size)
        self.verified = BitSet(announced.layout.blocks, bits)

    def set_verified(self, block: int) -> None:
        """Remembers that a block is right."""
        self.verified.add(block, block + 1)
        os.pwrite(self.fd, self.verified.byte(block // 8), _HEAD.size + block // 8)
        self._is_dirty = True

    def sync(self, *, is_last: bool = False) -> None:
        """Brings to disk what has changed, at most every two seconds."""
        now = self._clock()
        if self._is_dirty and (is_last or now >= self._synced_at + _SYNC_S):
            os.fdatasync(self.fd)
            self._is_dirty = False
            self._synced_at = now

    def close(self) -> None:
        """Lets another process in; without an object there is nothing to go on with."""
        if self._is_open:
            self._is_open = False
            if self.object is None:
                with suppress(FileNotFoundError):
                    os.unlink(self.path)
            os.close(self.fd)

    def _write_head(self, announced: PartObject | None) -> None:
        layout = BlockLayout(0, 0, 0) if announced is None else announced.layout
        head = _HEAD.pack(
            _MAGIC,
            _FORMAT,
            b"" if announced is None else announced.object_id,
            layout.length_bytes,
            layout.symbol_bytes,
            layout.block_symbols,
            0 if announced is None else announced.manifest_bytes,
            self.node,
            self.boot,
        )
        os.pwrite(self.fd, head, 0)


def _locked(path: str) -> int:
    while True:
        fd = open_own(path)
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            part = path.removesuffix(".state")
            raise UsageError(
                f"another process receives {part}: wait until it ends, or choose another directory"
            ) from None
        if os.fstat(fd).st_nlink:
            break
        # The process that had it has just removed it.
        os.close(fd)
    if os.fstat(fd).st_size and os.pread(fd, len(_MAGIC), 0) != _MAGIC:
        os.close(fd)
        raise UsageError(f"{path} is in the way: remove it")
    return fd


def _identity_in(head: bytes) -> tuple[int, int]:
    if len(head) < _HEAD.size:
        return 0, 0
    node, boot = _IDENTITY.unpack_from(head, _IDENTITY_OFFSET)
    # The last number of a start is not taken: the next would be larger.
    return (node, boot) if boot < (1 << 32) - 1 else (0, 0)


def _object_in(head: bytes) -> PartObject | None:
    """None if there is none, or it is damaged."""
    if len(head) < _HEAD.size:
        return None
    _, version, object_id, length_bytes, symbol_bytes, block_symbols, manifest_bytes, _, _ = (
        _HEAD.unpack(head)
    )
    if version != _FORMAT or not symbol_bytes:
        return None
    layout = BlockLayout(length_bytes, symbol_bytes, block_symbols)
    try:
        announced_layout(
            length_bytes,
            symbol_bytes=symbol_bytes,
            blocks=layout.blocks,
            block_symbols=block_symbols,
        )
    except PeerError:
        return None
    if not 0 < manifest_bytes <= manifest_bytes_max(symbol_bytes):
        return None
    return PartObject(object_id, layout, manifest_bytes)
