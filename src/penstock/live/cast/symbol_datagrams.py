"""Symbols on sockets: a datagram each, with a checksum; and trains of them put together again."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from penstock.kernel.errors import PeerError
from penstock.wire.codec.cast.symbols import next_symbol, read_symbol, train_headers
from penstock.wire.frames.cast.base import TRAIN_SYMBOLS_MAX
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols

_CHECKSUM: Final = Struct(">I")
_CHECKSUM_BYTES: Final = _CHECKSUM.size
# Generation, block and symbol: what no router changes, and what says where the bytes belong.
_PLACE: Final = slice(56, 64)
_HEADER_BYTES: Final = 68


class ReadTrain(NamedTuple):
    """A train, and the bytes of its symbols in the same order."""

    packet: Packet
    payloads: list[bytes]


def plain_datagrams(packet: Packet, payloads: Sequence[bytes]) -> list[bytes]:
    """The datagrams of a train."""
    return [
        b"".join((header, payload, _CHECKSUM.pack(crc32(payload, crc32(header[_PLACE])))))
        for header, payload in zip(train_headers(packet), payloads, strict=True)
    ]


def read_train(datagrams: Sequence[memoryview]) -> tuple[list[ReadTrain], int]:
    """The trains in datagrams that came together, and how many symbols were damaged."""
    found: list[ReadTrain] = []
    damaged = 0
    first: memoryview | None = None
    numbers: list[int] = []
    payloads: list[bytes] = []
    for datagram in datagrams:
        payload = datagram[_HEADER_BYTES:-_CHECKSUM_BYTES]
        checksum = crc32(payload, crc32(datagram[_PLACE]))
        if checksum != _CHECKSUM.unpack_from(datagram, len(datagram) - _CHECKSUM_BYTES)[0]:
            damaged += 1
            continue
        number = None if first is None else next_symbol(datagram, first)
        if number is None or number <= numbers[-1] or len(numbers) == TRAIN_SYMBOLS_MAX:
            if first is not None:
                found.append(_train(first, numbers, payloads))
            first, numbers, payloads = datagram, [], []
            number = int.from_bytes(datagram[60:64], "big")
        numbers.append(number)
        payloads.append(bytes(payload))
    if first is not None:
        found.append(_train(first, numbers, payloads))
    return found, damaged


def _train(first: memoryview, numbers: list[int], payloads: list[bytes]) -> ReadTrain:
    header, _payload, _tag = read_symbol(bytes(first))
    if not header.flags & Flag.PLAIN:
        raise PeerError("DATA: encrypted, and there is no key")
    return ReadTrain(
        Packet(header=header, body=Symbols(numbers=tuple(numbers)), origin=None), payloads
    )
