"""DATA on the wire: a datagram per symbol, or the headers of a train.

Machines know the numbers of symbols, drivers their bytes: a driver puts a header before each
symbol and takes it off again. Simulated links carry no bytes of symbols; the headers of a train,
one behind the other, let a simulation decode what it sends as a socket would.
"""

from __future__ import annotations

from struct import error as struct_error
from typing import Final

from penstock.kernel.errors import PeerError, UsageError, VersionError
from penstock.wire.codec.cast.framing import HEADER_BYTES
from penstock.wire.codec.cast.header import SYMBOL_START, SYMBOL_STOP, HeaderCodec
from penstock.wire.codec.codec_table import VERSION
from penstock.wire.codec.reader import U32
from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.cast.base import TRAIN_SYMBOLS_MAX
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols

DATA_TYPE: Final = 0xCE
CHECKSUM_BYTES: Final = 4
TAG_BYTES: Final = 16
SYMBOL_BYTES_MAX: Final = 8_192
DATA_BYTES_MAX: Final = HEADER_BYTES + SYMBOL_BYTES_MAX + TAG_BYTES
# By the flags of a header: `flags & Flag.PLAIN` takes as long as to write all of it.
_TAG_BYTES: Final = tuple(
    [CHECKSUM_BYTES if flags & Flag.PLAIN.value else TAG_BYTES for flags in range(256)]
)
_PREFIX: Final = bytes((VERSION, DATA_TYPE))


def write_symbol(header: Header, payload: bytes | memoryview, tag: bytes) -> bytes:
    """The datagram of one symbol.

    +--------+---------+------------------------------+
    | header | payload | CRC-32 if PLAIN, else tag    |
    +--------+---------+------------------------------+
      68       ...       4 or 16
    """
    assert len(tag) == _TAG_BYTES[header.flags], "the tag does not go with the flags"
    return b"".join((HeaderCodec.write(header, DATA_TYPE), payload, tag))


def read_symbol(
    data: bytes | memoryview,
) -> tuple[Header, bytes | memoryview, bytes | memoryview]:
    """The header, payload and tag of a datagram; the last two are parts of `data`."""
    if len(data) > DATA_BYTES_MAX:
        raise PeerError(f"DATA: {len(data)} bytes are more than {DATA_BYTES_MAX}")
    header = _read_header(data)
    tag_start = len(data) - _TAG_BYTES[header.flags]
    if tag_start < HEADER_BYTES:
        raise PeerError("DATA: the frame ends in the middle of a field")
    return header, data[HEADER_BYTES:tag_start], data[tag_start:]


def next_symbol(data: bytes | memoryview, first: bytes | memoryview) -> int | None:
    """The symbol of a datagram that goes on with the train of `first`; None: it does not."""
    # Most headers need not be decoded: a train has one.
    if (
        data[:SYMBOL_START] != first[:SYMBOL_START]
        or data[SYMBOL_STOP:HEADER_BYTES] != first[SYMBOL_STOP:HEADER_BYTES]
    ):
        return None
    return int.from_bytes(data[SYMBOL_START:SYMBOL_STOP], "big")


def train_headers(packet: Packet) -> list[bytes]:
    """The header of each symbol of a train; they differ in the number of the symbol only."""
    numbers = _numbers_of(packet)
    header = HeaderCodec.write(packet.header, DATA_TYPE)
    before, behind = header[:SYMBOL_START], header[SYMBOL_STOP:]
    return [before + U32.pack(number) + behind for number in numbers]


def size_of_train(packet: Packet, symbol_bytes: int, is_plain: bool) -> int:
    """The size of all datagrams of a train."""
    tag_bytes = CHECKSUM_BYTES if is_plain else TAG_BYTES
    return len(_symbols_of(packet).numbers) * (HEADER_BYTES + symbol_bytes + tag_bytes)


class TrainCodec:
    """A train without its payloads.

    +--------+--------
    | header | ...     for each symbol
    +--------+--------
      68
    """

    BYTES_MAX: Final = HEADER_BYTES * TRAIN_SYMBOLS_MAX

    @staticmethod
    def size(packet: Packet) -> int:
        """The size of the headers in bytes."""
        return HEADER_BYTES * len(_symbols_of(packet).numbers)

    @staticmethod
    def write(packet: Packet) -> bytes:
        """Encodes the headers."""
        return b"".join(train_headers(packet))

    @staticmethod
    def read(data: bytes) -> Packet:
        """Decodes the headers."""
        size_bytes = len(data)
        if size_bytes > TrainCodec.BYTES_MAX or size_bytes % HEADER_BYTES:
            raise PeerError(f"DATA: {size_bytes} bytes are no headers of a train")
        header = _read_header(data)
        numbers = []
        for start in range(0, size_bytes, HEADER_BYTES):
            number = next_symbol(data[start : start + HEADER_BYTES], data)
            if number is None:
                raise PeerError("DATA: the headers of a train differ in more than their symbols")
            numbers.append(number)
        try:
            return Packet(header=header, body=Symbols(numbers=tuple(numbers)), origin=None)
        except UsageError as error:
            raise PeerError(f"DATA: {error}") from None


def _read_header(data: bytes | memoryview) -> Header:
    if data[:2] != _PREFIX:
        _refuse_prefix(data)
    try:
        return HeaderCodec.read(data)
    except struct_error:
        raise PeerError("DATA: the frame ends in the middle of a field") from None
    except (PeerError, UsageError) as error:
        raise PeerError(f"DATA: {error}") from None


def _refuse_prefix(data: bytes | memoryview) -> None:
    if len(data) < len(_PREFIX):
        raise PeerError("DATA: the frame ends in the middle of a field")
    if data[0] != VERSION:
        raise VersionError(f"version {data[0]} of the wire format is not known, only {VERSION}")
    raise PeerError(f"a frame of type {data[1]:#04x} is no DATA")


def _symbols_of(packet: Packet) -> Symbols:
    assert isinstance(packet.body, Symbols), "only DATA goes in trains"
    return packet.body


def _numbers_of(packet: Packet) -> tuple[int, ...]:
    numbers = _symbols_of(packet).numbers
    if numbers[0] != packet.header.symbol:
        raise UsageError(
            f"a train begins with the symbol of its header, {packet.header.symbol}, not with"
            f" {numbers[0]}"
        )
    # They ascend from the first, which the header has checked.
    check_unsigned(32, symbol=numbers[-1])
    return numbers
