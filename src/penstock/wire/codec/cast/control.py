"""UP, DOWN and CONTROL_ACK on the wire."""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import Any, Final

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.cast.frame_table import CastTable
from penstock.wire.codec.cast.framing import BODY_BYTES_MAX, PACKET_FRAMING_BYTES
from penstock.wire.codec.reader import Reader
from penstock.wire.frames.cast.control import ControlAck, Down, Up

_OUTER: Final = Struct(">IB")
_CONTROL_ACK: Final = Struct(">II")


class UpCodec:
    """UP: a control frame on its way to a controller, without a header of its own.

    +----+------------+------------+
    | to | inner type | inner body |
    +----+------------+------------+
      4    1            ...
    """

    BYTES_MAX: Final = PACKET_FRAMING_BYTES + _OUTER.size + BODY_BYTES_MAX

    def __init__(self, carried: CastTable) -> None:
        self._carried: Final = carried

    def size(self, body: Up) -> int:
        """The size of the body in bytes."""
        return _OUTER.size + self._carried.size(body.body)

    def write(self, body: Up) -> bytes:
        """Encodes the body."""
        type_code, inner = self._carried.write(body.body)
        return _OUTER.pack(body.to, type_code) + inner

    def read(self, cursor: Reader) -> Up:
        """Decodes the body."""
        to, type_code = cursor.unpack(_OUTER)
        return Up(to=to, body=_read_carried(self._carried, type_code, cursor))


class DownCodec:
    """DOWN: a control frame from a controller to one node.

    +----+------------+------------+
    | to | inner type | inner body |
    +----+------------+------------+
      4    1            ...
    """

    BYTES_MAX: Final = PACKET_FRAMING_BYTES + _OUTER.size + BODY_BYTES_MAX

    def __init__(self, carried: CastTable) -> None:
        self._carried: Final = carried

    def size(self, body: Down) -> int:
        """The size of the body in bytes."""
        return _OUTER.size + self._carried.size(body.body)

    def write(self, body: Down) -> bytes:
        """Encodes the body."""
        type_code, inner = self._carried.write(body.body)
        return _OUTER.pack(body.to, type_code) + inner

    def read(self, cursor: Reader) -> Down:
        """Decodes the body."""
        to, type_code = cursor.unpack(_OUTER)
        return Down(to=to, body=_read_carried(self._carried, type_code, cursor))


def _read_carried(carried: CastTable, type_code: int, cursor: Reader) -> Any:
    row = carried.row_at(type_code)
    if row is None:
        raise PeerError(f"frames of type {type_code:#04x} are not carried by others")
    try:
        return row.codec.read(cursor)
    except struct_error:
        raise PeerError(f"{row.name}: the frame ends in the middle of a field") from None
    except (PeerError, UsageError) as error:
        raise PeerError(f"{row.name}: {error}") from None


class ControlAckCodec:
    """CONTROL_ACK: this control frame has arrived.

    +------+--------+
    | boot | number |
    +------+--------+
      4      4
    """

    BYTES_MAX: Final = PACKET_FRAMING_BYTES + _CONTROL_ACK.size

    @staticmethod
    def size(_body: ControlAck) -> int:
        """The size of the body in bytes."""
        return _CONTROL_ACK.size

    @staticmethod
    def write(body: ControlAck) -> bytes:
        """Encodes the body."""
        return _CONTROL_ACK.pack(body.boot, body.number)

    @staticmethod
    def read(cursor: Reader) -> ControlAck:
        """Decodes the body."""
        boot, number = cursor.unpack(_CONTROL_ACK)
        return ControlAck(boot=boot, number=number)
