"""Encodes and decodes frames through a table of codecs.

    +---------+--------+----------------
    | version |  type  | body ...
    +---------+--------+----------------
      1         1

A codec encodes and decodes bodies; the table handles the two bytes before them, the bounds, and the
kind of error. A new frame is one more row.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import error as struct_error
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from penstock.kernel.errors import PeerError, UsageError, VersionError

VERSION: Final = 1
BODY_OFFSET: Final = 2

F = TypeVar("F")


class Codec(Protocol):
    """The interface of a codec module."""

    def write(self, frame: Any, /) -> bytes:
        """Encodes the body."""

    def read(self, data: bytes, /) -> Any:
        """Decodes a whole frame, whose body starts at `BODY_OFFSET`."""

    def size(self, frame: Any, /) -> int:
        """The size of the body in bytes."""


class CodecRow(NamedTuple):
    """One type of frame."""

    type_code: int
    name: str
    frame_class: type
    codec: Codec
    bytes_max: int


class CodecTable(Generic[F]):
    """The codecs of one family of frames."""

    __slots__ = ("_readers", "_sizers", "_writers", "rows")

    def __init__(self, rows: Iterable[CodecRow]) -> None:
        self.rows = tuple(rows)
        self._writers = {
            row.frame_class: (bytes((VERSION, row.type_code)), row.codec.write, row.bytes_max, row)
            for row in self.rows
        }
        self._sizers = {row.frame_class: (row.codec.size, row.bytes_max, row) for row in self.rows}
        self._readers = {row.type_code: (row.codec.read, row.bytes_max, row) for row in self.rows}
        assert len(self._writers) == len(self._readers) == len(self.rows), "a row is repeated"

    def encode(self, frame: F) -> bytes:
        """The bytes of a frame; raises `UsageError` if it exceeds the bound of its type."""
        prefix, write, bytes_max, row = self._writers[type(frame)]
        data = prefix + write(frame)
        if len(data) > bytes_max:
            raise _too_large(row, len(data))
        return data

    def size_of(self, frame: F) -> int:
        """The length that `encode` would return."""
        size, bytes_max, row = self._sizers[type(frame)]
        size_bytes = BODY_OFFSET + size(frame)
        if size_bytes > bytes_max:
            raise _too_large(row, size_bytes)
        return size_bytes

    def decode(self, data: bytes) -> F:
        """The frame in `data`, all of it; raises `PeerError` if it is not valid."""
        if len(data) < BODY_OFFSET:
            raise PeerError(f"a frame has {BODY_OFFSET} bytes at least, this one {len(data)}")
        if data[0] != VERSION:
            raise VersionError(f"version {data[0]} of the wire format is not known, only {VERSION}")
        reader = self._readers.get(data[1])
        if reader is None:
            raise PeerError(f"frames of type {data[1]:#04x} are not known here")
        read, bytes_max, row = reader
        if len(data) > bytes_max:
            raise PeerError(f"{row.name}: {len(data)} bytes are more than {bytes_max}")
        try:
            return read(data)  # type: ignore[no-any-return]
        except struct_error:
            raise PeerError(f"{row.name}: the frame ends in the middle of a field") from None
        except (PeerError, UsageError) as error:
            # The rules are in `frames`: a frame that we may not build is not accepted either.
            raise PeerError(f"{row.name}: {error}") from None


def _too_large(row: CodecRow, size_bytes: int) -> UsageError:
    return UsageError(
        f"{row.name} of {size_bytes} bytes: at most {row.bytes_max} fit, send less at once"
    )
