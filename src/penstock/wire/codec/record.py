"""Record entries, packed relative to the message that carries them.

First a stream of bits, lowest bit of the first byte first, zeros up to a whole byte:

    +---+---+- - - - - - - -+- - - - - - - -+-------+- - - - - - -+- - - - - - -+
    | S | E | bitmap if E:  | counts if not | value | presence if | mask, if    |
    |   |   | shared values | S             | code  | not S       | any numbers |
    +---+---+- - - - - - - -+- - - - - - - -+-------+- - - - - - -+- - - - - - -+
      1b  1b  1b a value      values 7b,              E, bitmap     1b a presence
              tag of the      presence 7b             if E, code    tag
              carrier

then whole bytes, the lowest of each field first:

    +- - - - - - - -+- - - - - - - - - - - -+----------------------+
    | numbers, half | presence tags, if not | value tags: the low  |
    | precision     | S: the low bytes      | bytes                |
    +- - - - - - - -+- - - - - - - - - - - -+----------------------+

S means that the entry has the same presence tags, that is names, as its carrier, and as many value
tags. A bitmap marks the carrier's tags that the entry shares. The other tags are a code and low
bytes: see `fingerprint_set`. The values' part of the head can be decoded without the rest, and
their low bytes come last, so that a search for one value, whose index among the carrier's values is
known, need not decode anything else.

Ten 20-bit fingerprints, none shared, take 23 bytes, five 12; a shared one costs only its bit in the
bitmap. An entry has one encoding with the bitmap and, if it shares values, one without, for a
publisher that packs entries independently of the carrier. All others are a `PeerError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import isnan
from struct import Struct
from typing import Final, NamedTuple

from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.fingerprint_set import (
    check_width,
    high_bits_code,
    high_bits_code_bits,
    pack_low_bytes,
    read_fingerprints,
    read_high_bits,
)
from penstock.wire.frames.record import BloomEntry, FingerprintEntry
from penstock.wire.limits import ENTRY_BYTES_MAX, FINGERPRINT_BITS, FINGERPRINT_BITS_MAX

# Flags in the first byte, and the bit offset of the bitmap of values.
SAME_NAMES: Final = 1
SHARES_VALUES: Final = 2
BITMAP_OFFSET: Final = 2

_COUNT_BITS: Final = 7
_COUNT_MAX: Final = (1 << _COUNT_BITS) - 1


class EntryValues(NamedTuple):
    """The value tags of an entry."""

    # Bit i: the entry shares the carrier's i-th value tag.
    bitmap: int
    # The value tags that are not shared.
    unshared: tuple[int, ...]
    # The bit offset in the head after the value code.
    stop_bit: int


def read_values(data: bytes, value_count: int, width_bits: int = FINGERPRINT_BITS) -> EntryValues:
    """The values of a non-empty entry whose carrier has `value_count` value tags.

    The rest of the entry is not decoded, so it may still be malformed.
    """
    bitmap, count, code, stop_bit = _read_code(data, value_count, width_bits)
    start = len(data) - count * (width_bits >> 3)
    return EntryValues(bitmap, read_fingerprints(code, count, data[start:], width_bits), stop_bit)


def read_value(
    data: bytes, value_count: int, from_end: int, width_bits: int = FINGERPRINT_BITS
) -> int | None:
    """One of the values that are not shared; `from_end` 1 is the last.

    None if there are fewer. Decodes even less of the entry than `read_values`.
    """
    _, count, code, _ = _read_code(data, value_count, width_bits)
    if from_end > count:
        return None
    low_bytes = width_bits >> 3
    start = len(data) - from_end * low_bytes
    low = int.from_bytes(data[start : start + low_bytes], "little")
    return read_high_bits(code, count, count - from_end, width_bits) << 8 * low_bytes | low


def _read_code(data: bytes, value_count: int, width_bits: int) -> tuple[int, int, int, int]:
    """The bitmap of values, the number of other values, their code, and its end in bits."""
    head = int.from_bytes(data, "little")
    bitmap = 0
    at = BITMAP_OFFSET
    if head & SHARES_VALUES:
        bitmap = head >> BITMAP_OFFSET & (1 << value_count) - 1
        if not bitmap:
            raise PeerError("record entry: a map of nothing")
        at += value_count
    count = value_count
    if not head & SAME_NAMES:
        count = head >> at & _COUNT_MAX
        at += 2 * _COUNT_BITS
    count -= bitmap.bit_count()
    start = len(data) - count * (width_bits >> 3)
    if count < 0 or start < 0 or count > 1 << width_bits:
        raise PeerError(f"record entry: {len(data)} bytes do not hold {count} fingerprints")
    code_bits = high_bits_code_bits(count, width_bits)
    stop_bit = at + code_bits
    if stop_bit > 8 * start:
        raise PeerError(f"record entry: {stop_bit} bits in {start} bytes")
    return bitmap, count, head >> at & (1 << code_bits) - 1, stop_bit


class EntryCodec:
    """Packs and unpacks the entries that one message carries.

    `presence`, sorted, and `values` are the fingerprints of its tags. Bitmaps index `values` in the
    given order; a value that occurs twice has two bits, which must be equal.
    """

    __slots__ = ("_width_bits", "presence", "value_set", "values")

    def __init__(
        self,
        presence: tuple[int, ...],
        values: tuple[int, ...],
        width_bits: int = FINGERPRINT_BITS,
    ) -> None:
        if not 0 < width_bits <= FINGERPRINT_BITS_MAX:
            raise UsageError(f"fingerprints have 1 to {FINGERPRINT_BITS_MAX} bits")
        self.presence: Final = presence
        self.values: Final = values
        self.value_set: Final = frozenset(values)
        self._width_bits: Final = width_bits

    def bitmap_of(self, shared: frozenset[int]) -> int:
        """The bitmap that marks these values, all of them carried, as shared."""
        values = self.values
        if len(self.value_set) == len(values):
            return sum([1 << values.index(member) for member in shared])
        return sum([1 << i for i, member in enumerate(values) if member in shared])

    def pack(self, entry: FingerprintEntry, *, is_standalone: bool = False) -> bytes:
        """The bytes of this entry; empty if it is too large for the record."""
        draft = EntryDraft(entry, self._width_bits)
        return draft.pack(self, frozenset() if is_standalone else draft.value_set & self.value_set)

    def unpack(self, data: bytes) -> FingerprintEntry | None:
        """The entry in these bytes, None if empty; raises `PeerError` if they are not valid."""
        if not data:
            return None
        bitmap, unshared, at = read_values(data, len(self.values), self._width_bits)
        values = unshared
        if bitmap:
            if not self.value_set.isdisjoint(unshared):
                raise PeerError("record entry: of shared fingerprints some are spelt out")
            shared = frozenset(_select(self.values, bitmap))
            values = tuple(sorted((*shared, *unshared)))
            if self.bitmap_of(shared) != bitmap:
                raise PeerError("record entry: a fingerprint is shared in one place of two")
        head = int.from_bytes(data, "little")
        presence = self.presence
        tail_at = len(data) - len(unshared) * (self._width_bits >> 3)
        if not head & SAME_NAMES:
            presence, at, tail_at = self._read_presence(data, head, at, tail_at)
            if presence == self.presence and len(unshared) + bitmap.bit_count() == len(self.values):
                raise PeerError("record entry: the carrying message's names are spelt out")
        numeric_values: tuple[tuple[int, float], ...] = ()
        if tail_at != at + 7 >> 3:
            numeric_values = _read_numeric_values(presence, head >> at, data[:tail_at])
            at += len(presence)
            tail_at -= 2 * len(numeric_values)
        if tail_at != at + 7 >> 3 or head >> at & (1 << 8 * tail_at - at) - 1:
            raise PeerError(f"record entry: {at} bits in {tail_at} bytes")
        return FingerprintEntry(presence, values, numeric_values)

    def numeric_values_of(self, data: bytes) -> tuple[tuple[int, float], ...]:
        """The numeric values of an entry with the carrier's names; decodes no value tags."""
        assert data[0] & SAME_NAMES
        _, count, _, at = _read_code(data, len(self.values), self._width_bits)
        tail_at = len(data) - count * (self._width_bits >> 3)
        if tail_at == at + 7 >> 3:
            return ()
        return _read_numeric_values(
            self.presence, int.from_bytes(data, "little") >> at, data[:tail_at]
        )

    def _read_presence(
        self, data: bytes, head: int, at: int, tail_at: int
    ) -> tuple[tuple[int, ...], int, int]:
        """The presence tags, and the offsets at which bits and low bytes continue."""
        counts_at = BITMAP_OFFSET + (len(self.values) if head & SHARES_VALUES else 0)
        count = head >> counts_at + _COUNT_BITS & _COUNT_MAX
        shared: tuple[int, ...] = ()
        if head >> at & 1:
            shared = _select(self.presence, head >> at + 1)
            if not shared:
                raise PeerError("record entry: a map of nothing")
            at += len(self.presence)
        at += 1
        count -= len(shared)
        start = tail_at - count * (self._width_bits >> 3)
        if count < 0 or start < 0 or count > 1 << self._width_bits:
            raise PeerError(f"record entry: {tail_at} bytes do not hold {count} names")
        code_bits = high_bits_code_bits(count, self._width_bits)
        code = head >> at & (1 << code_bits) - 1
        unshared = read_fingerprints(code, count, data[start:tail_at], self._width_bits)
        if not set(self.presence).isdisjoint(unshared):
            raise PeerError("record entry: a shared name is spelt out")
        return tuple(sorted((*shared, *unshared))), at + code_bits, start


class EntryDraft:
    """An entry to be packed for one carrier after another.

    Consecutive carriers mostly have the same names and share the same values or none, so the bytes
    are reused.
    """

    __slots__ = ("_entry", "_packed", "_packed_key", "_width_bits", "value_set")

    def __init__(self, entry: FingerprintEntry, width_bits: int = FINGERPRINT_BITS) -> None:
        check_width(entry.values, width_bits)
        check_width(entry.presence, width_bits)
        self.value_set: Final = frozenset(entry.values)
        self._entry: Final = entry
        self._width_bits: Final = width_bits
        self._packed = b""
        # What the bytes depend on: the carrier's names and value count, the shared values, the
        # bitmap.
        self._packed_key: tuple[tuple[int, ...], int, frozenset[int], int] | None = None

    def pack(self, carrier: EntryCodec, shared: frozenset[int]) -> bytes:
        """The bytes for this carrier; empty if they are too large for the record.

        `shared` is the intersection of `value_set` and the carrier's values, or empty to pack the
        entry without reference to them.
        """
        bitmap = carrier.bitmap_of(shared) if shared else 0
        key = (carrier.presence, len(carrier.values), shared, bitmap)
        if key != self._packed_key:
            values: Sequence[int] = self._entry.values
            if shared:
                values = [value for value in values if value not in shared]
            self._packed = self._pack(carrier, bitmap, values)
            self._packed_key = key
        return self._packed

    def _pack(self, carrier: EntryCodec, bitmap: int, unshared: Sequence[int]) -> bytes:
        entry, width_bits = self._entry, self._width_bits
        count = len(unshared)
        if count * (width_bits >> 3) > ENTRY_BYTES_MAX:
            return b""
        code, code_bits = (
            high_bits_code(unshared, width_bits),
            high_bits_code_bits(count, width_bits),
        )
        tail = pack_low_bytes(unshared, width_bits)
        head, at = 0, BITMAP_OFFSET
        if bitmap:
            head = SHARES_VALUES | bitmap << BITMAP_OFFSET
            at += len(carrier.values)
            count += bitmap.bit_count()
        if count == len(carrier.values) and entry.presence == carrier.presence:
            head |= SAME_NAMES | code << at
            at += code_bits
        else:
            if max(count, len(entry.presence)) > _COUNT_MAX:
                return b""
            head |= (code << 2 * _COUNT_BITS | len(entry.presence) << _COUNT_BITS | count) << at
            at += 2 * _COUNT_BITS + code_bits
            names, names_bits, lows = _write_names(entry.presence, carrier.presence, width_bits)
            head |= names << at
            at += names_bits
            tail = lows + tail
        if entry.numeric_values:
            mask, halves = _write_numeric_values(entry)
            head |= mask << at
            at += len(entry.presence)
            tail = halves + tail
        packed = head.to_bytes(at + 7 >> 3, "little") + tail
        return packed if len(packed) <= ENTRY_BYTES_MAX else b""


def pack_bloom(entry: BloomEntry) -> bytes:
    """A literal entry is its Bloom set and nothing else, highest bit first."""
    return entry.bloom.to_bytes(entry.bloom_bytes, "big")


def unpack_bloom(data: bytes) -> BloomEntry | None:
    """The literal entry in these bytes, None if empty."""
    return BloomEntry(int.from_bytes(data, "big"), len(data)) if data else None


def _select(members: tuple[int, ...], bitmap: int) -> tuple[int, ...]:
    """The members that the low bits of `bitmap` mark."""
    return tuple([member for i, member in enumerate(members) if bitmap >> i & 1])


# A publisher's messages have few different sets of names.
@lru_cache(maxsize=1_024)
def _write_names(
    names: tuple[int, ...], carrier_names: tuple[int, ...], width_bits: int
) -> tuple[int, int, bytes]:
    """Presence tags that differ from the carrier's: bits for the head, their count, low bytes."""
    bitmap = sum([1 << i for i, name in enumerate(carrier_names) if name in names])
    unshared = [name for name in names if name not in carrier_names]
    code = high_bits_code(unshared, width_bits)
    bits = 1 + high_bits_code_bits(len(unshared), width_bits)
    if bitmap:
        code = code << len(carrier_names) | bitmap
        bits += len(carrier_names)
    return code << 1 | (bitmap > 0), bits, pack_low_bytes(unshared, width_bits)


def _write_numeric_values(entry: FingerprintEntry) -> tuple[int, bytes]:
    index_of = {name: i for i, name in enumerate(entry.presence)}
    mask = sum([1 << index_of[name] for name, _ in entry.numeric_values])
    halves = [value for _, value in entry.numeric_values]
    return mask, _halves(len(halves)).pack(*halves)


def _read_numeric_values(
    presence: tuple[int, ...], mask: int, data: bytes
) -> tuple[tuple[int, float], ...]:
    """The numeric values at the end of these bytes."""
    names = _select(presence, mask)
    start = len(data) - 2 * len(names)
    if not names or start < 0:
        raise PeerError(f"record entry: {len(data)} bytes do not hold {len(names)} numbers")
    numeric_values = tuple(zip(names, _halves(len(names)).unpack_from(data, start), strict=True))
    if any(isnan(value) for _, value in numeric_values):
        raise PeerError("record entry: a number is NaN")
    return numeric_values


@cache
def _halves(count: int) -> Struct:
    return Struct(f"<{count}e")
