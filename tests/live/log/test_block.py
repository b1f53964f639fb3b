"""Blocks as bytes and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.log_record import LogRecord, LogSnapshot
from penstock.live.log.block import (
    Block,
    Entry,
    aligned,
    block_at,
    block_bytes,
    block_parts,
    encode_entries,
    entries_of,
    find_block,
    messages_of,
    ticks_of,
)

U64 = st.integers(0, 2**64 - 1)
RECORDS = st.builds(
    LogRecord,
    tick=U64,
    published_ns=st.integers(-(2**63), 2**63 - 1),
    publisher=st.text(max_size=16),
    publication=U64,
    body=st.binary(max_size=300),
)
ENTRIES: st.SearchStrategy[list[Entry]] = st.lists(
    st.one_of(RECORDS, st.builds(LogSnapshot, st.binary(max_size=300))), max_size=8
)


def encoded(entries: list[Entry], segment_id: int = 7) -> bytes:
    snapshots = sum(isinstance(e, LogSnapshot) for e in entries)
    parts = encode_entries(entries)
    size_bytes = block_bytes(sum(map(len, parts)))
    block = Block(size_bytes, segment_id, 11, 10, 2**63, 9, 1, 2, -3, len(entries), snapshots)
    return b"".join(block_parts(block, parts))


@given(ENTRIES)
def test_a_block_comes_back(entries: list[Entry]) -> None:
    data = encoded(entries)
    block = block_at(data, 0, 7)
    assert block is not None
    assert aligned(block.length_bytes) == len(data)
    assert (block.first_number, block.stop_number) == (11, 11 + len(entries))
    assert entries_of(data, 0, block) == entries
    messages = [entry for entry in entries if isinstance(entry, LogRecord)]
    assert messages_of(data, 0, block) == messages
    assert ticks_of(data, 0, block) == [message.tick for message in messages]
    assert block.stop_message == 10 + len(messages)


@given(ENTRIES, st.data())
def test_a_changed_byte_is_noticed(entries: list[Entry], data: st.DataObject) -> None:
    changed = bytearray(encoded(entries))
    block = block_at(changed, 0, 7)
    assert block is not None
    place = data.draw(st.integers(0, block.length_bytes - 1))
    changed[place] ^= data.draw(st.integers(1, 255))
    assert block_at(changed, 0, 7) is None


@given(ENTRIES, st.integers(0, 3))
def test_a_block_is_found_behind_others(entries: list[Entry], sectors: int) -> None:
    other = encoded(entries, segment_id=8)
    start = aligned(len(other)) + 512 * sectors
    data = other.ljust(start, b"\0") + encoded(entries)
    found = find_block(data, 0, 7)
    assert found is not None
    assert found[0] == start
    assert find_block(data, start + 512, 7) is None
