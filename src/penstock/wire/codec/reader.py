"""A cursor over the bytes of one frame, for codecs that need not be fast."""

from enum import IntEnum
from struct import Struct
from typing import Final, TypeVar

from penstock.kernel.errors import PeerError
from penstock.wire.codec.codec_table import BODY_OFFSET

E = TypeVar("E", bound=IntEnum)

U8: Final = Struct(">B")
U16: Final = Struct(">H")
U32: Final = Struct(">I")
U64: Final = Struct(">Q")


class Reader:
    """Starts at the body; reading past the end raises `PeerError` or `struct.error`."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = BODY_OFFSET) -> None:
        self.data = data
        self.position = position

    def unpack(self, layout: Struct) -> tuple[int, ...]:
        """Reads the fields of a fixed layout."""
        fields = layout.unpack_from(self.data, self.position)
        self.position += layout.size
        return fields

    def unpack_one(self, layout: Struct) -> int:
        """Reads the only field of a layout."""
        return self.unpack(layout)[0]

    def read_uint(self, size_bytes: int) -> int:
        """Reads an unsigned integer of any width."""
        return int.from_bytes(self.read_bytes(size_bytes), "big")

    def read_bytes(self, size_bytes: int) -> bytes:
        """Reads `size_bytes` bytes."""
        end = self.position + size_bytes
        if end > len(self.data):
            raise PeerError("the frame ends in the middle of a field")
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def read_text(self, size_bytes: int) -> str:
        """Reads `size_bytes` bytes of UTF-8."""
        try:
            return self.read_bytes(size_bytes).decode()
        except UnicodeDecodeError:
            raise PeerError("a string is not UTF-8") from None

    def expect_end(self) -> None:
        """Refuses bytes after the last field."""
        left = len(self.data) - self.position
        if left:
            raise PeerError(f"the frame has ended and there are bytes left: {left}")


def decode_flag(name: str, value: int) -> bool:
    """Decodes a boolean byte."""
    if value > 1:
        raise PeerError(f"{name} must be 0 or 1, not {value}")
    return value == 1


def check_flags(value: int, known: int) -> int:
    """Refuses a byte of flags with unknown ones set."""
    if value & ~known:
        raise PeerError(f"flags {value:#04x} are not all known")
    return value


def decode_enum(kind: type[E], value: int) -> E:
    """Decodes a byte into a member of an enumeration."""
    # Calling an enum class takes ten times as long as this lookup.
    member = kind._value2member_map_.get(value)
    if member is None:
        raise PeerError(f"{value} names no {kind.__name__}")
    return member  # type: ignore[return-value]
