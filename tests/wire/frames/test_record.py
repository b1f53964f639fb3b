from hypothesis import given
from hypothesis import strategies as st

from penstock.wire.frames.record import EMPTY_RECORD, FingerprintEntry, Record, RecordEntry

ENTRIES = st.lists(
    st.builds(RecordEntry, st.integers(0, 2**24 - 1), st.binary(max_size=30)), max_size=20
)


@given(ENTRIES)
def test_entries_come_back_in_order(entries: list[RecordEntry]) -> None:
    record = Record.of(entries)
    assert len(record) == len(entries)
    assert list(record) == entries


@given(ENTRIES, st.integers(0, 25))
def test_the_newest_are_the_first(entries: list[RecordEntry], count: int) -> None:
    assert Record.of(entries).newest(count) == Record.of(entries[:count])


@given(ENTRIES, st.integers(0, 600))
def test_within_keeps_as_many_as_fit(entries: list[RecordEntry], size_bytes: int) -> None:
    kept = Record.of(entries).within(size_bytes)
    assert len(kept.data) <= size_bytes
    assert list(kept) == entries[: len(kept)]
    if len(kept) < len(entries):
        assert len(kept.data) + 4 + len(entries[len(kept)].packed) > size_bytes


def test_no_entries_are_the_empty_record() -> None:
    assert Record.of([]) == EMPTY_RECORD
    assert EMPTY_RECORD.data == b""


def test_fingerprints_are_put_in_order() -> None:
    entry = FingerprintEntry.of([3, 1, 3], [9, 9, 2], [(3, 1.0), (1, 2.0)])
    assert entry == FingerprintEntry((1, 3), (2, 9), ((1, 2.0), (3, 1.0)))
