import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.wire.frames.record import (
    EMPTY_RECORD,
    EntrySpans,
    FingerprintEntry,
    PublicationRecord,
    RecordEntry,
)

ENTRIES = st.lists(
    st.builds(RecordEntry, st.integers(0, 2**24 - 1), st.binary(max_size=30)), max_size=20
)


@given(ENTRIES)
def test_entries_come_back_in_order(entries: list[RecordEntry]) -> None:
    record = PublicationRecord.of(entries)
    assert len(record) == len(entries)
    assert list(record) == entries
    assert [record.packed(i) for i in range(len(record))] == [entry.packed for entry in entries]
    assert [record.sent_before_100us(i) for i in range(len(record))] == [
        entry.sent_before_100us for entry in entries
    ]


@given(st.integers(1, 12), st.integers(1, 5))
def test_first_bytes_stand_side_by_side(count: int, size_bytes: int) -> None:
    packed = [bytes([i] * size_bytes) for i in range(count)]
    record = PublicationRecord.from_columns(range(count), packed)
    firsts = record.data[record.first_bytes_offset : record.first_bytes_offset + count]
    assert firsts == bytes(range(count))
    assert record.data[record.rest_offset :] == b"".join(entry[1:] for entry in packed)
    assert [entry.packed for entry in record] == packed


@given(st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=12), st.data())
def test_every_byte_is_known_to_be_its_entrys(packed: list[bytes], data: st.DataObject) -> None:
    record = PublicationRecord.from_columns(range(len(packed)), packed)
    count = data.draw(st.integers(1, len(packed)))
    spans = EntrySpans(record, count)
    at = record.rest_offset
    for i, entry in enumerate(packed[:count]):
        assert spans.packed(i) == entry
        for left in range(len(entry) - 1, 0, -1):
            assert spans.find(at) == (i, left)
            at += 1
    for bit in range(8, 40):
        having = [i for i, e in enumerate(packed[:count]) if int.from_bytes(e, "little") >> bit & 1]
        assert spans.with_bit(bit) == having


def test_an_entry_without_bytes_has_no_first_one() -> None:
    record = PublicationRecord.from_columns([1, 2, 3], [b"ab", b"", b"c"])
    assert record.data == bytes.fromhex("020001 000001 000002 000003") + b"acb"


def test_every_entry_needs_a_departure() -> None:
    with pytest.raises(UsageError, match="every entry needs a departure"):
        PublicationRecord.from_columns([1], [b"a", b"b"])


@given(ENTRIES, st.integers(0, 25))
def test_the_newest_are_the_first(entries: list[RecordEntry], count: int) -> None:
    assert PublicationRecord.of(entries).newest(count) == PublicationRecord.of(entries[:count])


@given(ENTRIES, st.integers(0, 600))
def test_within_keeps_as_many_as_fit(entries: list[RecordEntry], size_bytes: int) -> None:
    kept = PublicationRecord.of(entries).truncated_to(size_bytes)
    assert len(kept.data) <= size_bytes
    assert list(kept) == entries[: len(kept)]
    if len(kept) < len(entries):
        assert len(kept.data) + 4 + len(entries[len(kept)].packed) > size_bytes


def test_no_entries_are_the_empty_record() -> None:
    assert PublicationRecord.of([]) == EMPTY_RECORD
    assert EMPTY_RECORD.data == b""


def test_fingerprints_are_put_in_order() -> None:
    entry = FingerprintEntry.of([3, 1, 3], [9, 9, 2], [(3, 1.0), (1, 2.0)])
    assert entry == FingerprintEntry((1, 3), (2, 9), ((1, 2.0), (3, 1.0)))
