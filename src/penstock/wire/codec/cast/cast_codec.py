"""Encodes and decodes whole frames of casts, with the MAC that they end with."""

from __future__ import annotations

from struct import error as struct_error
from typing import Final

from penstock.kernel.errors import PeerError, UsageError, VersionError
from penstock.wire.codec.cast.cast_frames import BODIES, NEIGHBOUR_FRAMES, PACKETS
from penstock.wire.codec.cast.frame_table import CastRow
from penstock.wire.codec.cast.framing import SHORT_FRAMING_BYTES
from penstock.wire.codec.cast.mac import MAC_BYTES, Sealer
from penstock.wire.codec.cast.symbols import DATA_TYPE, TrainCodec
from penstock.wire.codec.codec_table import BODY_OFFSET, VERSION
from penstock.wire.codec.reader import U8, Reader, check_flags
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet

_TTL_START: Final = 3
_TTL_STOP: Final = 4


class CastCodec:
    """Frames and their bytes under one key.

    A symbol on a socket goes through `symbols.write_symbol` and `read_symbol`. With `has_trains`,
    for simulations, DATA is encoded as the headers of its train, without symbols and tags.
    """

    __slots__ = ("_has_trains", "_sealer")

    def __init__(self, sealer: Sealer, *, has_trains: bool = False) -> None:
        self._sealer: Final = sealer
        self._has_trains: Final = has_trains

    def encode(self, frame: CastFrame) -> bytes:
        """The bytes of a frame; raises `UsageError` if it exceeds the bound of its type."""
        if type(frame) is not Packet:
            type_code, fields = NEIGHBOUR_FRAMES.write(frame)
            data = bytes((VERSION, type_code, 0)) + fields
            return data + self._sealer.seal(data)
        if frame.origin is None:
            self._expect_trains()
            return TrainCodec.write(frame)
        data = PACKETS.write(frame)
        return data + self._sealer.seal(_without_ttl(data))

    def size_of(self, frame: CastFrame) -> int:
        """The length that `encode` would return; of DATA on a socket see `size_of_train`."""
        if type(frame) is not Packet:
            return SHORT_FRAMING_BYTES + NEIGHBOUR_FRAMES.size(frame)
        if frame.origin is None:
            self._expect_trains()
            return TrainCodec.size(frame)
        return PACKETS.size(frame) + MAC_BYTES

    def decode(self, data: bytes) -> CastFrame:
        """The frame in `data`, all of it; raises `PeerError` if it is not valid."""
        if len(data) < BODY_OFFSET:
            raise PeerError(f"a frame has {BODY_OFFSET} bytes at least, this one {len(data)}")
        if data[0] != VERSION:
            raise VersionError(f"version {data[0]} of the wire format is not known, only {VERSION}")
        type_code = data[1]
        if type_code == DATA_TYPE:
            if not self._has_trains:
                raise PeerError("DATA: a symbol is no frame of its own")
            return TrainCodec.read(data)
        packet_row = BODIES.row_at(type_code)
        row = packet_row or NEIGHBOUR_FRAMES.row_at(type_code)
        if row is None:
            raise PeerError(f"frames of type {type_code:#04x} are not known here")
        if len(data) > row.bytes_max:
            raise PeerError(f"{row.name}: {len(data)} bytes are more than {row.bytes_max}")
        fields, mac = data[:-MAC_BYTES], data[-MAC_BYTES:]
        try:
            # Before any field is believed.
            self._sealer.verify(_without_ttl(fields) if packet_row else fields, mac)
            return PACKETS.read(fields) if packet_row else _read_between_neighbours(row, fields)
        except struct_error:
            raise PeerError(f"{row.name}: the frame ends in the middle of a field") from None
        except (PeerError, UsageError) as error:
            # The rules are in `frames`: a frame that we may not build is not accepted either.
            raise PeerError(f"{row.name}: {error}") from None

    def _expect_trains(self) -> None:
        if not self._has_trains:
            raise UsageError("DATA goes over a socket symbol by symbol: use write_symbol")


def _read_between_neighbours(row: CastRow, data: bytes) -> CastFrame:
    cursor = Reader(data)
    check_flags(cursor.unpack_one(U8), known=0)
    frame: CastFrame = row.codec.read(cursor)
    cursor.expect_end()
    return frame


def _without_ttl(data: bytes) -> bytes:
    # Routers lower it on the way, without the frame being theirs.
    return data[:_TTL_START] + data[_TTL_STOP:]
