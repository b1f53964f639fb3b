"""Symbols on sockets: a datagram each, sealed; and trains of them put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.live.cast.symbol_sealing import SymbolSealing
from penstock.wire.codec.cast.framing import HEADER_BYTES
from penstock.wire.codec.cast.header import SYMBOL_START, SYMBOL_STOP
from penstock.wire.codec.cast.symbols import next_symbol, read_symbol, train_headers
from penstock.wire.frames.cast.base import TRAIN_SYMBOLS_MAX
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols

_number: Final = int.from_bytes


class ReadTrain(NamedTuple):
    """A train, and the bytes of its symbols in the same order."""

    packet: Packet
    payloads: list[bytes]


def sealed_datagrams(
    packet: Packet, payloads: Sequence[bytes], sealing: SymbolSealing
) -> list[bytes]:
    """The datagrams of a train."""
    seal = sealing.seal
    return [
        header + seal(header, payload)
        for header, payload in zip(train_headers(packet), payloads, strict=True)
    ]


def read_train(
    datagrams: Sequence[memoryview], sealing: SymbolSealing
) -> tuple[list[ReadTrain], int]:
    """The trains in datagrams that came together, and how many symbols cannot be opened."""
    found: list[ReadTrain] = []
    refused = 0
    first = b""
    numbers: list[int] = []
    payloads: list[bytes] = []
    for view in datagrams:
        # Comparing and slicing bytes takes less time than doing so with a view.
        datagram = bytes(view)
        payload = sealing.open(datagram, datagram[HEADER_BYTES:])
        if payload is None:
            refused += 1
            continue
        number = next_symbol(datagram, first)
        if number is None or number <= numbers[-1] or len(numbers) == TRAIN_SYMBOLS_MAX:
            if first:
                found.append(_train(first, numbers, payloads))
            first, numbers, payloads = datagram, [], []
            number = _number(datagram[SYMBOL_START:SYMBOL_STOP])
        numbers.append(number)
        payloads.append(payload)
    if first:
        found.append(_train(first, numbers, payloads))
    return found, refused


def _train(first: bytes, numbers: list[int], payloads: list[bytes]) -> ReadTrain:
    header, _payload, _tag = read_symbol(first)
    return ReadTrain(
        Packet(header=header, body=Symbols(numbers=tuple(numbers)), origin=None), payloads
    )
