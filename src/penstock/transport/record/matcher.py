"""Finds the entries of a record that match a predicate.

    filters with enumerated values   found by one of the values; almost no entry is decoded
                                     (`value_lookup`)
    filters of names and ranges      tested once for all entries with the carrier's names, and
                                     again for each entry with numbers
    any others, or a mixture         tested against every entry, decoded
    as in the papers                 entries are Bloom sets (`bloom_entries`)

Does not know which messages have arrived, only which were sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.content.bloom import BloomParams
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Duration
from penstock.transport.record.bloom_entries import BloomEntryTest
from penstock.transport.record.digest_reader import DigestEntry
from penstock.transport.record.entry_match import CERTAIN, NO_MATCH, POSSIBLE, compile_entry_test
from penstock.transport.record.reader import CarriedEntryReader, EntryReader
from penstock.transport.record.value_lookup import ValueLookup
from penstock.wire.codec.record import SAME_NAMES, unpack_bloom
from penstock.wire.frames.data import Data
from penstock.wire.frames.record import BloomEntry, FingerprintEntry, PublicationRecord
from penstock.wire.quantise import delta_ns


class RecordMatch(NamedTuple):
    """A message sent before the carrying one that matches or may match."""

    # The carrier's sequence number minus the message's; 1 is the one just before.
    offset: int
    # Time from the sending of the message to that of the carrier.
    sent_before_ns: Duration
    # False if it matches as far as described, but the entry cannot decide a constraint [F17].
    is_certain: bool
    packed: bytes
    # Decodes `packed`; None for a Bloom set, which refers to no carrier.
    reader: CarriedEntryReader | EntryReader | None

    @property
    def entry(self) -> FingerprintEntry | BloomEntry | None:
        """The entry, decoded on each access; None if it is malformed."""
        return unpack_bloom(self.packed) if self.reader is None else self.reader.read(self.packed)


class RecordMatcher:
    """Matches records against one predicate; with `bloom`, by Bloom sets of that size.

    All subscriptions with the predicate test the same message in turn, so the last result
    is cached.
    """

    __slots__ = (
        "_bloom",
        "_bloom_test",
        "_encoder",
        "_entry_tests",
        "_last_count",
        "_last_frame",
        "_last_matches",
        "_malformed",
        "_needs_values",
        "_value_lookup",
    )

    def __init__(
        self, predicate: Predicate, encoder: Encoder, bloom: BloomParams | None = None
    ) -> None:
        self._encoder = encoder
        self._bloom = bloom
        tests = [
            (test, encoder.filter_fingerprints(f))
            for f in predicate.filters
            if (test := compile_entry_test(f, encoder)) is not None
        ]
        self._entry_tests = [test for test, _ in tests]
        self._needs_values = any(test.needs_values for test in self._entry_tests)
        self._value_lookup: ValueLookup | None = None
        if bloom is None and all(test.value_choices for test in self._entry_tests):
            self._value_lookup = ValueLookup(self._entry_tests, encoder)
        # A matcher by fingerprints may receive Bloom sets too, of the encoder's own size.
        self._bloom_test = BloomEntryTest(
            [fingerprints for _, fingerprints in tests], bloom or encoder.params, encoder
        )
        self._malformed = 0
        self._last_frame: Data | None = None
        self._last_matches: list[RecordMatch] = []
        self._last_count = 0

    @property
    def malformed(self) -> int:
        """Number of unreadable entries; they count as not matching."""
        looked_up = 0 if self._value_lookup is None else self._value_lookup.malformed
        return self._malformed + looked_up + self._bloom_test.malformed

    def match_record(self, frame: Data, count: int) -> list[RecordMatch]:
        """Return the matches among at least the `count` newest entries, newest first."""
        if frame is not self._last_frame or count > self._last_count:
            record = frame.record
            lookup = self._value_lookup
            count = count if count < record.count else record.count
            if lookup is None or frame.has_bloom_entries or 0 in record.data[: record.count]:
                self._last_matches = self._match_each(frame, count) if count > 0 else []
            else:
                scan = lookup.scan(record, count, frame.message)
                self._last_matches = (
                    _matches(record, scan.found, scan.spans.packed, scan.reader)
                    if scan is not None and scan.found
                    else []
                )
            self._last_frame, self._last_count = frame, count
        return self._last_matches

    def match_digest(self, entries: tuple[DigestEntry, ...]) -> list[RecordMatch]:
        """Return the matches among a digest's entries, newest first.

        `offset` counts back from the sequence number after the digest's newest message, and
        `sent_before_ns` from the sending of the digest.
        """
        fingerprints = None if self._value_lookup is None else self._value_lookup.fingerprints
        matches = []
        for offset, (sent_before_ns, packed, reader, entry) in enumerate(entries, start=1):
            if entry is None or (
                fingerprints is not None and fingerprints.isdisjoint(entry.values)
            ):
                continue
            result = self._test_entry(entry)
            if result:
                matches.append(
                    RecordMatch(offset, sent_before_ns, result == CERTAIN, packed, reader)
                )
        return matches

    def _match_each(self, frame: Data, count: int) -> list[RecordMatch]:
        """Test one entry after another."""
        record = frame.record
        if frame.has_bloom_entries or self._bloom is not None:
            matched = dict.fromkeys(self._bloom_test.matching_entries(frame, count), True)
            reader = (
                None
                if frame.has_bloom_entries
                else CarriedEntryReader(frame.message, self._encoder)
            )
            return _matches(record, matched, record.packed, reader)
        packed = record.packed_entries(count)
        reader = CarriedEntryReader(frame.message, self._encoder)
        if self._needs_values:
            found = self._find_by_reading(packed, reader)
        else:
            found = self._find_by_names(packed, reader)
        return _matches(record, found, packed.__getitem__, reader)

    # Each method returns the matching entries by index, and whether the match is certain.

    def _find_by_reading(self, packed: list[bytes], reader: CarriedEntryReader) -> dict[int, bool]:
        found = {}
        for i, entry in enumerate(packed):
            result = self._read_and_test(entry, reader)
            if result:
                found[i] = result == CERTAIN
        return found

    def _find_by_names(self, packed: list[bytes], reader: CarriedEntryReader) -> dict[int, bool]:
        """Test all entries with the carrier's names and no numbers once: these are most."""
        codec = reader.codec
        usual_result = self._test_entry(FingerprintEntry(codec.presence, ()))
        found = {}
        for i, entry in enumerate(packed):
            try:
                numbers = (
                    codec.numeric_values_of(entry) if entry and entry[0] & SAME_NAMES else None
                )
            except PeerError:
                self._malformed += 1
                continue
            result = usual_result
            if numbers:
                result = self._test_entry(FingerprintEntry(codec.presence, (), numbers))
            if numbers is None or (numbers and result == POSSIBLE):
                # It has its own names, or a number so near a bound that the values decide.
                result = self._read_and_test(entry, reader)
            if result:
                found[i] = result == CERTAIN
        return found

    def _read_and_test(self, packed: bytes, reader: CarriedEntryReader) -> int:
        entry = self._read(packed, reader)
        return NO_MATCH if entry is None else self._test_entry(entry)

    def _test_entry(self, entry: FingerprintEntry) -> int:
        result = NO_MATCH
        for test in self._entry_tests:
            result = max(result, test.test(entry))
            if result == CERTAIN:
                break
        return result

    def _read(self, packed: bytes, reader: CarriedEntryReader) -> FingerprintEntry | None:
        if not packed:
            return None
        entry = reader.read(packed)
        self._malformed += entry is None
        return entry


def _matches(
    record: PublicationRecord,
    found: dict[int, bool],
    packed_at: Callable[[int], bytes],
    reader: CarriedEntryReader | None,
) -> list[RecordMatch]:
    return [
        RecordMatch(i + 1, delta_ns(record.sent_before_100us(i)), found[i], packed_at(i), reader)
        for i in sorted(found)
    ]
