"""The lease of an idle log, in a file of its own: a log that is not written to does not grow.

    0                     4096
    +---------------------+---------------------+
    | slot 0              | slot 1              |
    +---------------------+---------------------+

    slot:  u32 crc32 | u32 0 | u64 serial | u64 lease | u64 synced upto

Slots take turns, so that a torn write hurts the older one. `synced upto` betrays damage at the very
end of the log, behind which there is no block to tell of it.
"""

from __future__ import annotations

from struct import Struct
from typing import Final
from zlib import crc32

from penstock.live.log.file_system import FileSystem, read_all, read_file, write_all

LEASE_NAME: Final = "lease"
_SLOT: Final = Struct("<IIQQQ")
# Of whatever size sectors are, two slots never share one.
_SLOT_BYTES: Final = 4096


class LeaseFile:
    """Open as long as the log is; whoever opens it syncs the directory, since it may be new."""

    def __init__(self, fs: FileSystem, directory: str) -> None:
        self._fs: Final = fs
        self._fd: Final = _opened(fs, f"{directory}/{LEASE_NAME}")
        # What an earlier process wrote may be in memory only.
        fs.fdatasync(self._fd)
        self._serial, self.lease, self.synced_upto = _decoded(
            read_all(fs, self._fd, 2 * _SLOT_BYTES, 0)
        )

    def write(self, lease: int, synced_upto: int) -> None:
        """Durable when it returns."""
        self._serial += 1
        slot = _encoded(self._serial, lease, synced_upto)
        write_all(self._fs, self._fd, slot, self._serial % 2 * _SLOT_BYTES)
        self.lease, self.synced_upto = lease, synced_upto

    def close(self) -> None:
        """Closes the file."""
        self._fs.close(self._fd)


def read_synced_upto(fs: FileSystem, directory: str) -> int:
    """What the file says was synced, without changing anything."""
    try:
        return _decoded(read_file(fs, f"{directory}/{LEASE_NAME}"))[2]
    except FileNotFoundError:
        return 0


def _opened(fs: FileSystem, path: str) -> int:
    try:
        return fs.open(path, write=True, synced=True)
    except FileNotFoundError:
        fd = fs.open(path, create=True, synced=True)
        write_all(fs, fd, bytes(2 * _SLOT_BYTES), 0)
        return fd


def _encoded(*fields: int) -> bytes:
    rest = _SLOT.pack(0, 0, *fields)[4:]
    return crc32(rest).to_bytes(4, "little") + rest


def _decoded(data: bytes) -> tuple[int, int, int]:
    """The highest serial, lease and `synced upto` of slots that are whole; zeros if none is."""
    highest = (0, 0, 0)
    for offset in (0, _SLOT_BYTES):
        slot = data[offset : offset + _SLOT.size]
        if len(slot) < _SLOT.size:
            continue
        crc, _, serial, lease, synced_upto = _SLOT.unpack(slot)
        if serial and crc == crc32(slot[4:]):
            highest = max(highest, (serial, lease, synced_upto))
    return highest
