"""Finds the entries of a record that contain a value of a filter, without decoding them.

Almost all entries describe messages that do not match, so rejecting them must be fast.
Filters with enumerated values are looked up by the values of one attribute. An entry
contains a value in one of two ways:

1. The carrying message has the value too, found by attribute name, and the entry's bitmap
   has a bit for it. The bitmap starts in the entry's first byte, and the first bytes of
   all entries are contiguous.
2. The low bytes of its fingerprint are in the entry. They are searched in all entries at
   once; at each hit, the remaining bits are compared.

Neither needs the fingerprints of the carrying message. Entries found are then tested
against the rest of the filter. Does not know which messages have arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.content.value import Key, key_of
from penstock.kernel.errors import PeerError
from penstock.transport.record.byte_search import ByteSearch
from penstock.transport.record.entry_match import CERTAIN, NO_MATCH, EntryTest
from penstock.transport.record.reader import CarriedEntryReader
from penstock.wire.codec.record import (
    BITMAP_OFFSET,
    SHARES_VALUES,
    EntryValues,
    read_value,
    read_values,
)
from penstock.wire.frames.record import EntrySpans, PublicationRecord

# Translation tables for first bytes: whether the entry shares any value with the carrier, and
# whether it shares the value of each bitmap bit in the first byte.
_SHARING_TABLE: Final = bytes([byte & SHARES_VALUES != 0 for byte in range(256)])
_BIT_TABLES: Final = [
    bytes([byte & SHARES_VALUES and byte >> bit & 1 for byte in range(256)])
    for bit in range(BITMAP_OFFSET, 8)
]


class ValueLookup:
    """Looks up filters that each enumerate the values of an attribute."""

    __slots__ = (
        "_by_fingerprint",
        "_by_name",
        "_encoder",
        "_find_low_bytes",
        "_width_bits",
        "fingerprints",
        "malformed",
    )

    def __init__(self, entry_tests: Sequence[EntryTest], encoder: Encoder) -> None:
        self._encoder = encoder
        self._width_bits = encoder.fingerprint_bits
        self._by_name: dict[str, dict[Key, _WantedValue]] = {}
        self._by_fingerprint: dict[int, _WantedValue] = {}
        for entry_test in entry_tests:
            self._add(entry_test)
        low_bytes, mask = self._width_bits >> 3, (1 << (self._width_bits & ~7)) - 1
        lows = [(value & mask).to_bytes(low_bytes, "little") for value in self._by_fingerprint]
        self._find_low_bytes = ByteSearch(lows).find
        # Every matching message has at least one of these.
        self.fingerprints = frozenset(self._by_fingerprint)
        self.malformed = 0

    def scan(self, record: PublicationRecord, count: int, message: Message) -> RecordScan | None:
        """Scan the `count` newest entries; None without a hit. No entry may be empty."""
        data, total = record.data, record.count
        first_at = record.first_bytes_offset
        first_bytes = data[first_at : first_at + count]
        rest_start = first_at + total
        positions = self._find_low_bytes(data, rest_start, rest_start + sum(data[:count]) - count)
        shared = (
            self._shared_with_carrier(first_bytes, message)
            if 1 in first_bytes.translate(_SHARING_TABLE)
            else None
        )
        if not positions and not shared:
            return None
        scan = RecordScan(
            record, count, CarriedEntryReader(message, self._encoder), self._width_bits
        )
        for wanted_value, bit in shared or ():
            for i in scan.entries_with_bit(first_bytes, bit):
                scan.test_entry(wanted_value, i)
        for position in positions:
            i, value = scan.value_at(position)
            found = None if value is None else self._by_fingerprint.get(value)
            if found is not None:
                scan.test_entry(found, i)
        self.malformed += scan.malformed
        return scan

    def _add(self, entry_test: EntryTest) -> None:
        name, fingerprints = entry_test.value_choices[0]
        by_key = self._by_name.setdefault(name, {})
        for key, value in fingerprints.items():
            wanted_value = self._by_fingerprint.setdefault(value, _WantedValue())
            wanted_value.add(entry_test)
            by_key[key] = wanted_value

    def _shared_with_carrier(
        self, first_bytes: bytes, message: Message
    ) -> list[tuple[_WantedValue, int]]:
        """Return the carrier's wanted values that some entry may share, with their bits."""
        # Not `message.keys`: that would compute the keys of all attributes.
        attributes = message.attributes
        shared = []
        for name, by_key in self._by_name.items():
            value = attributes.get(name)
            wanted_value = None if value is None else by_key.get(key_of(value))
            if wanted_value is not None:
                bit = BITMAP_OFFSET + list(attributes).index(name)
                if bit > 7 or 1 in first_bytes.translate(_BIT_TABLES[bit - BITMAP_OFFSET]):
                    shared.append((wanted_value, bit))
        return shared


class _WantedValue:
    """A value, and the filters that are looked up by it."""

    __slots__ = ("entry_tests", "is_sufficient")

    def __init__(self) -> None:
        self.entry_tests: list[EntryTest] = []
        # Whether the value alone satisfies one of the filters.
        self.is_sufficient = False

    def add(self, entry_test: EntryTest) -> None:
        """Add a filter."""
        self.entry_tests.append(entry_test)
        self.is_sufficient |= entry_test.tests_values_only and len(entry_test.value_choices) == 1


class RecordScan:
    """One scan of a record, which decodes entries only when necessary.

    `found` maps the index of each matching entry to whether the match is certain.
    """

    __slots__ = ("_count", "_record", "_spans", "_width_bits", "found", "malformed", "reader")

    def __init__(
        self, record: PublicationRecord, count: int, reader: CarriedEntryReader, width_bits: int
    ) -> None:
        self.reader = reader
        self.found: dict[int, bool] = {}
        self.malformed = 0
        self._record = record
        self._count = count
        self._width_bits = width_bits
        self._spans: EntrySpans | None = None

    @property
    def spans(self) -> EntrySpans:
        """The positions of the entries, computed on first use."""
        if self._spans is None:
            self._spans = EntrySpans(self._record, self._count)
        return self._spans

    def entries_with_bit(self, first_bytes: bytes, bit: int) -> list[int]:
        """Return the entries that share values and have this bit in their bitmap."""
        if bit < 8:
            marks = first_bytes.translate(_BIT_TABLES[bit - BITMAP_OFFSET])
            return [i for i, marked in enumerate(marks) if marked]
        return [i for i in self.spans.with_bit(bit) if first_bytes[i] & SHARES_VALUES]

    def value_at(self, position: int) -> tuple[int, int | None]:
        """Return the entry at a position, and the value there; None if no value starts there."""
        i, bytes_left = self.spans.find(position)
        # Values are contiguous at the end of an entry.
        from_end, remainder = divmod(bytes_left, self._width_bits >> 3)
        if remainder or not from_end:
            return i, None
        try:
            packed = self.spans.packed(i)
            return i, read_value(packed, self.reader.value_count, from_end, self._width_bits)
        except PeerError:
            self.malformed += 1
            return i, None

    def test_entry(self, wanted_value: _WantedValue, i: int) -> None:
        """Test an entry that contains the value against the rest of its filters."""
        if wanted_value.is_sufficient:
            self.found[i] = True
        if self.found.get(i):
            return
        packed = self.spans.packed(i)
        try:
            entry_values = read_values(packed, self.reader.value_count, self._width_bits)
        except PeerError:
            self.malformed += 1
            return
        result = NO_MATCH
        for entry_test in wanted_value.entry_tests:
            if _has_all_choices(entry_test, entry_values, self.reader.message.keys):
                result = max(result, self._test_rest(entry_test, packed))
        if result:
            self.found[i] = result == CERTAIN

    def _test_rest(self, entry_test: EntryTest, packed: bytes) -> int:
        if entry_test.tests_values_only:
            return CERTAIN
        entry = self.reader.read(packed)
        if entry is None:
            self.malformed += 1
            return NO_MATCH
        return entry_test.test(entry)


def _has_all_choices(
    entry_test: EntryTest, entry_values: EntryValues, keys: Mapping[str, Key]
) -> bool:
    """Whether the entry has an allowed value, own or shared, for each enumerated attribute."""
    for name, fingerprints in entry_test.value_choices:
        if any(value in entry_values.unshared for value in fingerprints.values()):
            continue
        key = keys.get(name)
        if (
            key is None
            or key not in fingerprints
            or not entry_values.bitmap >> list(keys).index(name) & 1
        ):
            return False
    return True
