"""The attributes of a message as one MessagePack map from names to values.

The map is decoded and type-checked in C. The bytes are first searched for lengths that this cannot
check, so that names and strings are measured only if one could be too long.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from penstock.content.limits import (
    ATTRIBUTES_MAX,
    INT_MAX,
    NAME_BYTES_MAX,
    STRING_BYTES_MAX,
)
from penstock.content.value import Value
from penstock.kernel.errors import PeerError

_Int = Annotated[int, msgspec.Meta(le=INT_MAX)]
# Bounds on names would double the cost here: msgspec does not cache keys with bounds.
_Attributes = Annotated[
    dict[str, bool | _Int | float | str], msgspec.Meta(max_length=ATTRIBUTES_MAX)
]
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Attributes).decode

# MessagePack's markers of strings of 32 bytes and more; shorter ones are within all bounds.
_STR8: Final = 0xD9
_STR16: Final = 0xDA


def write_attributes(attributes: Mapping[str, Value]) -> bytes:
    """Encodes the map in the message's own order."""
    return _encode(attributes)


def read_attributes(data: bytes) -> dict[str, Value]:
    """Decodes and validates attributes, so that a message can be built without further checks."""
    try:
        attributes: dict[str, Value] = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PeerError(f"attributes: {error}") from None
    # Also detects repeated names: the decoded map is shorter.
    if _encode(attributes) != data:
        raise PeerError("attributes: not in their shortest form, or a name twice")
    if _STR8 in data or _STR16 in data or "" in attributes:
        _check_lengths(attributes)
    return attributes


def _check_lengths(attributes: dict[str, Value]) -> None:
    for name, value in attributes.items():
        if not 0 < len(name.encode()) <= NAME_BYTES_MAX:
            raise PeerError(f"attributes: a name of {len(name.encode())} bytes")
        if type(value) is str and len(value.encode()) > STRING_BYTES_MAX:
            raise PeerError(f"attributes: a string of {len(value.encode())} bytes")
