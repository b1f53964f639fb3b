"""Frames on a TCP connection: each is preceded by its length.

    +--------+-------------------------+
    | length | version, type, body ... |   and the next
    +--------+-------------------------+
      4        length

Knows no socket: chunks of bytes in, frames out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

from penstock.kernel.errors import PeerError
from penstock.wire.codec.codec_table import CodecTable
from penstock.wire.codec.reader import U32

F = TypeVar("F")

LENGTH_BYTES: Final = U32.size


def frame_bytes(table: CodecTable[F], frame: F) -> bytes:
    """The bytes of a frame on a connection, with its length."""
    data = table.encode(frame)
    return U32.pack(len(data)) + data


def frame_bytes_max(table: CodecTable[Any]) -> int:
    """The largest length that a frame of this table may have."""
    return max(row.bytes_max for row in table.rows)


class FrameSplitter:
    """Finds the frames in the chunks that a connection delivers.

    Holds less than one frame. What it holds is joined only when a frame is complete, so that each
    byte is copied a fixed number of times, however small the chunks.
    """

    __slots__ = ("_bytes_max", "_held", "_needed_bytes")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._held = bytearray()
        # How many bytes must be held before there is anything new to see.
        self._needed_bytes = LENGTH_BYTES

    @property
    def held_bytes(self) -> int:
        """How many bytes of an unfinished frame are held: not 0 at the end means it was cut."""
        return len(self._held)

    def split(self, chunk: bytes) -> Iterator[bytes]:
        """The frames that end in this chunk, without their lengths; take all of them.

        Raises `PeerError` for a length beyond the bound, behind the frames before it, and again for
        every later chunk: where the next frame begins is not known any more.
        """
        held = self._held
        if held:
            held += chunk
            if len(held) < self._needed_bytes:
                return
            chunk = bytes(held)
            held.clear()
        position, end = 0, len(chunk)
        needed_bytes, bytes_max = LENGTH_BYTES, self._bytes_max
        while end - position >= LENGTH_BYTES:
            (length,) = U32.unpack_from(chunk, position)
            if length > bytes_max:
                # Kept, so that every later chunk is refused too.
                held += chunk[position : position + LENGTH_BYTES]
                self._needed_bytes = LENGTH_BYTES
                raise PeerError(f"a frame of {length} bytes: at most {bytes_max} are allowed")
            needed_bytes = LENGTH_BYTES + length
            stop = position + needed_bytes
            if stop > end:
                break
            yield chunk[position + LENGTH_BYTES : stop]
            position = stop
            needed_bytes = LENGTH_BYTES
        held += chunk[position:]
        self._needed_bytes = needed_bytes
