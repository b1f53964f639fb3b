"""What the newest messages of a log take, from what is known of its stretches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.log_record import LogRecord
from penstock.guaranteed.pubend.retention import RECORD_BYTES, LogSize
from penstock.guaranteed.settings import Retention

SIZES = st.lists(st.integers(0, 300), max_size=60)


@given(sizes=SIZES, messages=st.integers(0, 70))
def test_it_is_off_by_less_than_the_stretch_in_which_it_begins(
    sizes: list[int], messages: int
) -> None:
    log = LogSize(Retention(size_bytes=16_000))
    for tick, size in enumerate(sizes):
        log.add([LogRecord(tick, tick, "p", tick, bytes(size))])
    taken = sizes[max(0, len(sizes) - messages) :]
    exact = sum(size + RECORD_BYTES for size in taken)
    assert abs(log.newest_bytes(messages) - exact) <= 1_000
    if messages >= len(sizes):
        assert log.newest_bytes(messages) == log.size_bytes == exact


@given(count=st.integers(0, 100), messages=st.integers(0, 100))
def test_it_is_exact_where_all_messages_have_one_size(count: int, messages: int) -> None:
    log = LogSize(Retention(size_bytes=16_000))
    for tick in range(count):
        log.add([LogRecord(tick, tick, "p", tick, bytes(60))])
    assert log.newest_bytes(messages) == min(messages, count) * (60 + RECORD_BYTES)
