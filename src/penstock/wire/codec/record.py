"""Record entries, packed against the message that carries them.

A stream of bits, lowest bit of the first byte first, zeros up to a whole byte:

    +---+- - - - - - - - -+--------+- - - - - +- - - - - - - - - - - - - - - -+
    | S | counts if not S | values | presence | numbers, if there are any:    |
    |   |                 |        | if not S | mask, then the numbers        |
    +---+- - - - - - - - -+--------+- - - - - +- - - - - - - - - - - - - - - -+
      1b  values 7b,                            mask 1b a presence tag,
          presence 7b                           number 16b (half precision)

S says that the presence tags, that is the names, are the carrying message's,
and as many values as it has. Values and presence are each a set:

    +---+- - - - - - - - - - - - - - - - - - -+-------------------+
    | E | bitmap if E: which of the carrying  | the other members |
    |   | message's members are in the set    | see rice.py       |
    +---+- - - - - - - - - - - - - - - - - - -+-------------------+
      1b  1b a member of the carrying message

Ten 20-bit fingerprints, none shared, take 23 bytes, rarely 24; a shared one
costs no more than its bit in the map. An entry has one spelling; every other is
a `PeerError`.
"""

from math import isnan
from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.rice import read_rice, write_rice
from penstock.wire.frames.record import BloomEntry, FingerprintEntry
from penstock.wire.limits import ENTRY_BYTES_MAX, FINGERPRINT_BITS, FINGERPRINT_BITS_MAX

_COUNT_BITS: Final = 7
_COUNT_MAX: Final = (1 << _COUNT_BITS) - 1
_HALF: Final = Struct("<e")
_HALF_BITS: Final = 16
_HALF_MASK: Final = (1 << _HALF_BITS) - 1


class EntryCodec:
    """Packs and opens the entries that one message carries."""

    __slots__ = ("_carrier", "_presence", "_values", "_width_bits")

    def __init__(self, carrier: FingerprintEntry, width_bits: int = FINGERPRINT_BITS) -> None:
        if not 0 < width_bits <= FINGERPRINT_BITS_MAX:
            raise UsageError(f"fingerprints have 1 to {FINGERPRINT_BITS_MAX} bits")
        self._carrier = carrier
        self._width_bits = width_bits
        self._values = _Side(carrier.values, width_bits)
        self._presence: _Side | None = None

    def pack(self, entry: FingerprintEntry) -> bytes:
        """The bytes for this entry; none, which says nothing, for one too large for the record."""
        stream, bits = self._values.write(entry.values)
        if self._has_shape(entry.presence, len(entry.values)):
            stream = stream << 1 | 1
            bits += 1
        else:
            counts = len(entry.values), len(entry.presence)
            if max(counts) > _COUNT_MAX:
                return b""
            presence, presence_bits = self._presence_side().write(entry.presence)
            stream = presence << bits | stream
            stream = stream << 1 + 2 * _COUNT_BITS | counts[1] << 1 + _COUNT_BITS | counts[0] << 1
            bits += presence_bits + 1 + 2 * _COUNT_BITS
        if entry.numbers:
            numbers, numbers_bits = _write_numbers(entry)
            stream |= numbers << bits
            bits += numbers_bits
        size_bytes = bits + 7 >> 3
        return stream.to_bytes(size_bytes, "little") if size_bytes <= ENTRY_BYTES_MAX else b""

    def unpack(self, data: bytes) -> FingerprintEntry | None:
        """The entry in these bytes, None when it says nothing; `PeerError` for anything else."""
        if not data:
            return None
        stream = int.from_bytes(data, "little")
        bits = 1
        presence = self._carrier.presence
        if stream & 1:
            values, read_bits = self._values.read(stream >> bits, len(self._carrier.values))
            bits += read_bits
        else:
            value_count = stream >> bits & _COUNT_MAX
            presence_count = stream >> bits + _COUNT_BITS & _COUNT_MAX
            bits += 2 * _COUNT_BITS
            values, read_bits = self._values.read(stream >> bits, value_count)
            bits += read_bits
            presence, read_bits = self._presence_side().read(stream >> bits, presence_count)
            bits += read_bits
            if self._has_shape(presence, value_count):
                raise PeerError("record entry: the carrying message's names are spelt out")
        numbers: tuple[tuple[int, float], ...] = ()
        if stream >> bits:
            numbers, read_bits = _read_numbers(stream >> bits, presence)
            bits += read_bits
        if bits + 7 >> 3 != len(data) or stream >> bits:
            raise PeerError(f"record entry: {bits} bits in {len(data)} bytes")
        return FingerprintEntry(presence, values, numbers)

    def _has_shape(self, presence: tuple[int, ...], value_count: int) -> bool:
        return value_count == len(self._carrier.values) and presence == self._carrier.presence

    def _presence_side(self) -> "_Side":
        if self._presence is None:
            self._presence = _Side(self._carrier.presence, self._width_bits)
        return self._presence


class _Side:
    """One of the carrying message's two sets, ready to be compared with."""

    __slots__ = ("_bit_of", "_members", "_width_bits")

    def __init__(self, members: tuple[int, ...], width_bits: int) -> None:
        self._members = members
        self._bit_of = {member: 1 << place for place, member in enumerate(members)}
        self._width_bits = width_bits

    def write(self, members: tuple[int, ...]) -> tuple[int, int]:
        """A set as a number, and how many bits that has."""
        bit_of = self._bit_of
        fresh = tuple([member for member in members if member not in bit_of])
        stream, stream_bits = write_rice(fresh, self._width_bits)
        if len(fresh) == len(members):
            return stream << 1, stream_bits + 1
        bitmap = sum([bit_of[member] for member in members if member in bit_of])
        head_bits = 1 + len(self._members)
        return stream << head_bits | bitmap << 1 | 1, stream_bits + head_bits

    def read(self, stream: int, count: int) -> tuple[tuple[int, ...], int]:
        """The set of `count` members at the low end of a stream, and how many bits it had."""
        shared: list[int] = []
        head_bits = 1
        if stream & 1:
            head_bits += len(self._members)
            shared = [member for member, bit in self._bit_of.items() if stream >> 1 & bit]
            if not 0 < len(shared) <= count:
                raise PeerError(f"record entry: {len(shared)} shared fingerprints of {count}")
        fresh, fresh_bits = read_rice(stream >> head_bits, count - len(shared), self._width_bits)
        if not self._bit_of.keys().isdisjoint(fresh):
            raise PeerError("record entry: a shared fingerprint is spelt out")
        return tuple(sorted((*shared, *fresh))) if shared else fresh, head_bits + fresh_bits


def pack_bloom(entry: BloomEntry) -> bytes:
    """A literal entry is its set and nothing else, highest bit first."""
    return entry.bloom.to_bytes(entry.bloom_bytes, "big")


def unpack_bloom(data: bytes) -> BloomEntry | None:
    """The literal entry in these bytes, None when it says nothing."""
    return BloomEntry(int.from_bytes(data, "big"), len(data)) if data else None


def _write_numbers(entry: FingerprintEntry) -> tuple[int, int]:
    place_of = {name: place for place, name in enumerate(entry.presence)}
    bits = len(place_of)
    stream = 0
    for name, value in entry.numbers:
        stream |= 1 << place_of[name] | int.from_bytes(_HALF.pack(value), "little") << bits
        bits += _HALF_BITS
    return stream, bits


def _read_numbers(
    stream: int, presence: tuple[int, ...]
) -> tuple[tuple[tuple[int, float], ...], int]:
    bits = len(presence)
    numbers = []
    for place, name in enumerate(presence):
        if stream >> place & 1:
            (value,) = _HALF.unpack((stream >> bits & _HALF_MASK).to_bytes(2, "little"))
            if isnan(value):
                raise PeerError("record entry: a number is NaN")
            numbers.append((name, value))
            bits += _HALF_BITS
    if not numbers:
        raise PeerError("record entry: bits follow its end")
    return tuple(numbers), bits
