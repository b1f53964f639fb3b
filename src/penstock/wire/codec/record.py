"""Record entries, packed against the message that carries them.

A stream of bits, lowest bit of the first byte first, zeros up to a whole byte:

    +---+- - - - - - - - -+--------+- - - - - +- - - - - - - - - - - - - - - - +
    | S | counts if not S | values | names    | numbers if any                 |
    |   | 7b + 7b         |        | if not S | mask, 1b a name; 16b a number  |
    +---+- - - - - - - - -+--------+- - - - - +- - - - - - - - - - - - - - - - +

S says that names, and the number of values, are the carrying message's. Values
and names are each a set of fingerprints of w bits:

    +---+- - - - - - - - - - - - - -+---------+-----------+
    | E | bitmap if E: which of the | r lows  | r highs   |
    |   | carrying message's        | k b each| unary     |
    +---+- - - - - - - - - - - - - -+---------+-----------+

The r members that are not the carrying message's are sorted and each is told
by its distance from the one before, less one, in a Rice code of k = w - ⌈log2(r
+ 1)⌉ bits: the lows side by side, then each high as that many zeros and a one.
Ten 20-bit fingerprints, none shared, take 23 bytes, rarely 24. Shared ones cost
a bit each.

A set and its carrier have one spelling; every other is a `PeerError`.
"""

from functools import lru_cache
from itertools import accumulate
from struct import Struct
from typing import Final

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.frames.record import BloomEntry, FingerprintEntry
from penstock.wire.limits import ENTRY_BYTES_MAX, FINGERPRINT_BITS, FINGERPRINT_BITS_MAX

_COUNT_BITS: Final = 7
_COUNT_MASK: Final = (1 << _COUNT_BITS) - 1
_HALF: Final = Struct("<e")
_HALF_BITS: Final = 16


class _Side:
    """One of the carrying message's two sets, ready to be compared with."""

    __slots__ = ("bit_of", "members")

    def __init__(self, members: tuple[int, ...]) -> None:
        self.members = members
        self.bit_of = {member: 1 << i for i, member in enumerate(members)}

    def write(self, members: tuple[int, ...], width_bits: int) -> tuple[int, int]:
        """A set as a number and how many bits it has."""
        bit_of = self.bit_of
        if bit_of.keys().isdisjoint(members):
            stream, stream_bits = _rice(members, width_bits)
            return stream << 1, stream_bits + 1
        bitmap = sum([bit_of[member] for member in members if member in bit_of])
        fresh = tuple([member for member in members if member not in bit_of])
        stream, stream_bits = _rice(fresh, width_bits)
        head_bits = 1 + len(self.members)
        return stream << head_bits | bitmap << 1 | 1, stream_bits + head_bits

    def read(self, stream: int, count: int, width_bits: int) -> tuple[tuple[int, ...], int]:
        """The set at the low end of the stream and how many bits it had."""
        shared: list[int] = []
        head_bits = 1
        if stream & 1:
            head_bits += len(self.members)
            shared = [member for member, bit in self.bit_of.items() if stream >> 1 & bit]
            if not 0 < len(shared) <= count:
                raise PeerError(f"record entry: {len(shared)} shared fingerprints of {count}")
        fresh, fresh_bits = _unrice(stream >> head_bits, count - len(shared), width_bits)
        if not self.bit_of.keys().isdisjoint(fresh):
            raise PeerError("record entry: a shared fingerprint is spelt out")
        return tuple(sorted((*shared, *fresh))) if shared else fresh, head_bits + fresh_bits


class EntryCodec:
    """Packs and opens the entries that one message carries."""

    __slots__ = ("_carrier", "_names", "_values", "_width_bits")

    def __init__(self, carrier: FingerprintEntry, width_bits: int = FINGERPRINT_BITS) -> None:
        if not 0 < width_bits <= FINGERPRINT_BITS_MAX:
            raise UsageError(f"fingerprints have 1 to {FINGERPRINT_BITS_MAX} bits")
        self._carrier = carrier
        self._width_bits = width_bits
        self._values = _Side(carrier.values)
        self._names: _Side | None = None

    def pack(self, entry: FingerprintEntry) -> bytes:
        """The bytes for this entry; none, which says nothing, for one too large for the record."""
        values, values_bits = self._values.write(entry.values, self._width_bits)
        if self._has_shape(entry.names, len(entry.values)):
            stream, bits = values << 1 | 1, values_bits + 1
        else:
            bits = 1 + 2 * _COUNT_BITS
            stream = len(entry.values) << 1 | len(entry.names) << 1 + _COUNT_BITS | values << bits
            bits += values_bits
            names, names_bits = self._name_side().write(entry.names, self._width_bits)
            stream |= names << bits
            bits += names_bits
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
        try:
            return self._unpack(data)
        except UsageError as error:
            raise PeerError(f"record entry: {error}") from None

    def _unpack(self, data: bytes) -> FingerprintEntry:
        stream = int.from_bytes(data, "little")
        names = self._carrier.names
        if stream & 1:
            value_count, name_count, bits = len(self._carrier.values), None, 1
        else:
            value_count = stream >> 1 & _COUNT_MASK
            name_count = stream >> 1 + _COUNT_BITS & _COUNT_MASK
            bits = 1 + 2 * _COUNT_BITS
        values, read_bits = self._values.read(stream >> bits, value_count, self._width_bits)
        bits += read_bits
        if name_count is not None:
            names, read_bits = self._name_side().read(stream >> bits, name_count, self._width_bits)
            bits += read_bits
            if self._has_shape(names, value_count):
                raise PeerError("record entry: the carrying message's names are spelt out")
        numbers: tuple[tuple[int, float], ...] = ()
        if stream >> bits:
            numbers, read_bits = _read_numbers(stream >> bits, names)
            bits += read_bits
        if bits + 7 >> 3 != len(data) or stream >> bits:
            raise PeerError(f"record entry: {bits} bits in {len(data)} bytes")
        return FingerprintEntry(values, names, numbers)

    def _has_shape(self, names: tuple[int, ...], value_count: int) -> bool:
        return value_count == len(self._carrier.values) and names == self._carrier.names

    def _name_side(self) -> _Side:
        if self._names is None:
            self._names = _Side(self._carrier.names)
        return self._names


def pack_bloom(entry: BloomEntry) -> bytes:
    """A literal entry is its filter and nothing else."""
    return entry.bloom


def unpack_bloom(data: bytes) -> BloomEntry:
    """The literal entry in these bytes."""
    try:
        return BloomEntry(data)
    except UsageError as error:
        raise PeerError(f"record entry: {error}") from None


# The same message is in the record of the next few, mostly with the same members left to write.
@lru_cache(maxsize=4096)
def _rice(members: tuple[int, ...], width_bits: int) -> tuple[int, int]:
    if not members:
        return 0, 0
    if members[-1] >> width_bits:
        raise UsageError(f"fingerprint {members[-1]} has more than {width_bits} bits")
    low_bits = _low_bits(len(members), width_bits)
    mask = (1 << low_bits) - 1
    lows = highs = shift = 0
    previous = one_at = -1
    for member in members:
        distance = member - previous - 1
        assert distance >= 0, "fingerprints must be sorted and distinct"
        previous = member
        lows |= (distance & mask) << shift
        shift += low_bits
        one_at += (distance >> low_bits) + 1
        highs |= 1 << one_at
    return highs << shift | lows, shift + one_at + 1


def _unrice(stream: int, count: int, width_bits: int) -> tuple[tuple[int, ...], int]:
    if not count:
        return (), 0
    low_bits = _low_bits(count, width_bits)
    mask = (1 << low_bits) - 1
    lows_bits = count * low_bits
    zeros = bin(stream >> lows_bits)[:1:-1].split("1", count)
    if len(zeros) <= count:
        raise PeerError(f"record entry: fewer than {count} fingerprints")
    del zeros[count]
    distances = [
        (len(run) << low_bits | stream >> i * low_bits & mask) + 1 for i, run in enumerate(zeros)
    ]
    members = tuple(accumulate(distances, initial=-1))[1:]
    if members[-1] >> width_bits:
        raise PeerError(f"record entry: a fingerprint of more than {width_bits} bits")
    return members, lows_bits + sum(map(len, zeros)) + count


def _low_bits(count: int, width_bits: int) -> int:
    return max(width_bits - count.bit_length(), 0)


def _write_numbers(entry: FingerprintEntry) -> tuple[int, int]:
    place_of = {name: place for place, name in enumerate(entry.names)}
    mask = 0
    shift = len(entry.names)
    stream = 0
    for name, value in entry.numbers:
        mask |= 1 << place_of[name]
        stream |= int.from_bytes(_HALF.pack(value), "little") << shift
        shift += _HALF_BITS
    return stream | mask, shift


def _read_numbers(stream: int, names: tuple[int, ...]) -> tuple[tuple[tuple[int, float], ...], int]:
    shift = len(names)
    numbers = []
    for place, name in enumerate(names):
        if stream >> place & 1:
            half = (stream >> shift & 0xFFFF).to_bytes(2, "little")
            numbers.append((name, _HALF.unpack(half)[0]))
            shift += _HALF_BITS
    if not numbers:
        raise PeerError("record entry: bits follow its end")
    return tuple(numbers), shift
