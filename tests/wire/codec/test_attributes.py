import math
import struct

import pytest

from penstock.content.value import Value
from penstock.kernel.errors import PeerError
from penstock.wire.codec.attributes import read_attributes, write_attributes


def string(text: bytes) -> bytes:
    """A MessagePack string in its shortest form."""
    if len(text) < 32:
        return bytes([0xA0 | len(text)]) + text
    return (b"\xd9" + bytes([len(text)]) if len(text) < 256 else b"\xda" + _u16(len(text))) + text


def _u16(number: int) -> bytes:
    return struct.pack(">H", number)


A = string(b"a")

BAD = {
    "nothing": b"",
    "no map": b"\x01",
    "null": b"\xc0",
    "a null value": b"\x81" + A + b"\xc0",
    "bytes as a value": b"\x81" + A + b"\xc4\x01x",
    "a list as a value": b"\x81" + A + b"\x91\x01",
    "a map as a value": b"\x81" + A + b"\x80",
    "an extension as a value": b"\x81" + A + b"\xd4\x01\x00",
    "a timestamp as a value": b"\x81" + A + b"\xd6\xff\x00\x00\x00\x00",
    "the unused marker": b"\x81" + A + b"\xc1",
    "an integer as a name": b"\x81\x01\x01",
    "bytes as a name": b"\x81\xc4\x01a\x01",
    "an empty name": b"\x81\xa0\x01",
    "a name of 65 bytes": b"\x81" + string(b"n" * 65) + b"\x01",
    "a name of 33 characters and 66 bytes": b"\x81" + string("é".encode() * 33) + b"\x01",
    "a name of 300 bytes": b"\x81" + string(b"n" * 300) + b"\x01",
    "a name that is not UTF-8": b"\x81\xa1\xff\x01",
    "a name with a surrogate": b"\x81\xa3\xed\xa0\x80\x01",
    "a name twice": b"\x82" + A + b"\x01" + A + b"\x02",
    "a string of 1001 bytes": b"\x81" + A + string(b"x" * 1001),
    "a string of 501 characters and 1002 bytes": b"\x81" + A + string("é".encode() * 501),
    "a string that is not UTF-8": b"\x81" + A + b"\xa2\xc3\x28",
    "a string with a surrogate": b"\x81" + A + b"\xa3\xed\xa0\x80",
    "an integer of 2^63": b"\x81" + A + b"\xcf\x80" + bytes(7),
    "an integer of 2^64 - 1": b"\x81" + A + b"\xcf" + b"\xff" * 8,
    "an integer longer than need be": b"\x81" + A + b"\xcd\x00\x01",
    "a signed form of a positive integer": b"\x81" + A + b"\xd0\x01",
    "a float of four bytes": b"\x81" + A + b"\xca" + struct.pack(">f", 1.5),
    "a string header longer than need be": b"\x81" + A + b"\xd9\x01x",
    "a map header longer than need be": b"\xde\x00\x01" + A + b"\x01",
    "a map header of four bytes": b"\xdf\x00\x00\x00\x01" + A + b"\x01",
    "fewer attributes than said": b"\x82" + A + b"\x01",
    "more attributes than said": b"\x81" + A + b"\x01" + string(b"b") + b"\x01",
    "bytes after the map": b"\x80\x00",
    "65 attributes": b"\xde\x00\x41" + b"".join(string(b"%d" % i) + b"\x01" for i in range(65)),
    "a map of 2^32 - 1": b"\xdf\xff\xff\xff\xff" + A + b"\x01",
    "a string of 2^32 - 1": b"\x81" + A + b"\xdb\xff\xff\xff\xff",
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in BAD.items()])
def test_refused(data: bytes) -> None:
    with pytest.raises(PeerError, match=r"^attributes: [^\n]+$"):
        read_attributes(data)


GOOD: dict[str, dict[str, Value]] = {
    "none": {},
    "every kind": {"i": 1, "f": 1.5, "b": True, "s": "x"},
    "edges of integers": {"low": -(2**63), "high": 2**63 - 1, "u32": 2**32, "minus": -33},
    "longest name and string": {"n" * 64: "x" * 1000},
    "longest name of two-byte characters": {"é" * 32: "é" * 500},
    "strings that look like markers": {"Ù": "ÚÙÛ", "\xa0": "\xa0"},
    "an empty string": {"a": ""},
    "no whole float becomes an integer": {"a": 1.0, "b": -0.0, "c": math.inf},
    "64 attributes": {str(i): i for i in range(64)},
}


@pytest.mark.parametrize("attributes", [pytest.param(a, id=name) for name, a in GOOD.items()])
def test_read_as_written(attributes: dict[str, Value]) -> None:
    again = read_attributes(write_attributes(attributes))
    # repr tells 1 from 1.0 and True, and the zeros apart.
    assert repr(again) == repr(attributes)


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000])
def test_every_nan_keeps_its_bits(bits: int) -> None:
    data = b"\x81" + A + b"\xcb" + bits.to_bytes(8, "big")
    assert write_attributes(read_attributes(data)) == data
