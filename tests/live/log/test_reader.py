"""Fetching and counting, beside a list of all messages."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.log_record import LogRecord
from penstock.live.log import tail
from penstock.live.log.index import LogIndex, View
from penstock.live.log.segment import SegmentSizes
from tests.live.log.fake_disk import FakeDisk
from tests.live.log.logs import SIZES, TICK_STEP, LogOnDisk

LAST = 400


@cache
def large_log() -> tuple[LogOnDisk, list[LogRecord]]:
    """Several segments with several runs each; snapshots between; some trimmed."""
    log = LogOnDisk(FakeDisk(), sizes=SegmentSizes(128 << 10, 128 << 10))
    records = []
    while log.next_number < LAST:
        if log.next_number % 50 == 0:
            log.append_snapshot(b"state")
        for _ in range(log.next_number % 7 + 1):
            records.append(log.append(size_bytes=log.next_number * 37 % 4_000))
        log.run()
    log.log.trim(2_500)
    log.run()
    return log, records


TICKS = st.integers(0, 10 * LAST + 50)


@given(TICKS, TICKS, st.integers(1, 200_000))
def test_a_fetch_is_what_a_list_says(start: int, length: int, bytes_max: int) -> None:
    log, records = large_log()
    trimmed_upto = log.log.trimmed_upto
    assert 0 < trimmed_upto <= 2_500
    stop = start + length + 1
    fetched = log.log.fetch(start, stop, bytes_max)
    kept = [r for r in records if r.tick > trimmed_upto]
    assert list(fetched.records) == [r for r in kept if start <= r.tick < min(stop, fetched.stop)]
    if start <= trimmed_upto:
        (gap,) = fetched.gaps
        assert (gap.start, gap.stop) == (start, trimmed_upto + 1)
        assert sum(start <= r.tick <= trimmed_upto for r in records) <= gap.messages <= len(records)
    else:
        assert fetched.gaps == ()
    assert not any(stop <= r.tick < fetched.stop for r in kept), "nothing is skipped"
    if fetched.stop < stop:
        assert fetched.records, "at least one was read"
        size_bytes = sum(len(r.body) for r in fetched.records[:-1])
        assert size_bytes <= bytes_max


@given(TICKS, TICKS)
def test_a_count_is_what_a_list_says(after: int, upto: int) -> None:
    log, records = large_log()
    counted = log.log.count(after, upto)
    exact = sum(after < r.tick <= upto for r in records)
    if after >= log.log.trimmed_upto:
        assert counted == exact
    elif after < upto:
        assert exact <= counted or upto <= log.log.trimmed_upto


def test_what_is_not_synced_is_not_seen_and_not_said_to_be_silence() -> None:
    log = LogOnDisk(FakeDisk())
    (synced,) = log.append_synced(1)
    waiting = log.append()
    fetched = log.log.fetch(0, 1_000, 1 << 20)
    assert fetched.records == (synced,)
    assert fetched.stop == waiting.tick
    log.run()
    fetched = log.log.fetch(0, 1_000, 1 << 20)
    assert fetched.records == (synced, waiting)
    assert fetched.stop == 1_000


def test_a_fetch_reaches_up_to_the_next_message() -> None:
    log = LogOnDisk(FakeDisk())
    log.append_synced(3)
    assert log.log.fetch(11, 15, 1 << 20).stop == 20
    assert 10 < log.log.fetch(0, 25, 1).stop <= 20


def test_a_log_is_kept_behind_its_last_snapshot() -> None:
    log = LogOnDisk(FakeDisk())
    log.append_snapshot(b"")
    while log.told.rolled < 2:
        log.append_synced(1, size_bytes=900)
    log.log.trim(10**9)
    log.run()
    assert log.log.trimmed_upto == 0
    log.append_snapshot(b"later")
    log.run()
    # Remembered until it could be done.
    assert log.log.trimmed_upto > 0
    assert log.log.first_tick == log.everything().records[0].tick


def test_an_idle_log_does_not_grow() -> None:
    log = LogOnDisk(FakeDisk())
    log.append_synced(1)
    size_bytes = log.log.size_bytes
    for lease in range(1_000, 1_100):
        log.log.append(1, None, lease)
        log.run()
    assert log.told.lease == 1_099
    assert log.log.size_bytes == size_bytes


def test_opening_reads_full_segments_by_their_footers() -> None:
    disk = FakeDisk()
    log = LogOnDisk(disk)
    while log.told.rolled < 12:
        log.append_synced(1, size_bytes=900)
    log.append_snapshot(b"state")
    log.run()
    log.log.close()
    disk.read_bytes = 0
    log = LogOnDisk(disk)
    last_bytes = SIZES.max_bytes
    assert disk.read_bytes < 2 * last_bytes + 12 * 2_048 < log.log.size_bytes
    assert log.log.count(0, 10**9) == log.next_number - 2


def test_a_snapshot_is_wanted_when_much_lies_behind_the_last_one() -> None:
    disk = FakeDisk()
    with patch.object(tail, "SNAPSHOT_RECORDS_MAX", 10):
        log = LogOnDisk(disk)
        log.append_synced(9)
        assert log.told.rolled == 0
        log.append_synced(1)
        assert log.told.rolled == 1
        log.append_snapshot(b"state")
        log.append_synced(9)
        log.log.close()
        # What an earlier process left counts too.
        log = LogOnDisk(disk)
        log.append_synced(1)
        assert log.told.rolled == 1


def answer_rolls(log: LogOnDisk, state: bytes, answered: int) -> int:
    """Appends a snapshot whenever one is wanted, as a pubend does; returns how many so far."""
    while answered < log.told.rolled:
        answered += 1
        log.append_snapshot(state)
        log.run()
        assert answered < 100, "each snapshot wants another one"
    return answered


def test_a_snapshot_that_needs_a_segment_wants_no_other_one() -> None:
    log = LogOnDisk(FakeDisk())
    while log.told.rolled < 1:
        log.append_synced(1, size_bytes=900)
    # Two of them do not fit into the largest segment.
    assert answer_rolls(log, bytes(20_000), 0) == 1


def test_large_snapshots_come_no_faster_than_what_lies_behind_them_and_let_a_log_be_trimmed() -> (
    None
):
    log = LogOnDisk(FakeDisk())
    answered = 0
    for _ in range(300):
        log.append_synced(1, size_bytes=900)
        answered = answer_rolls(log, bytes(20_000), answered)
        log.log.trim(TICK_STEP * (log.next_number - 20))
        log.run()
    assert 2 < answered <= 300 * 1_024 // 20_000 + 1
    assert log.log.trimmed_upto > TICK_STEP * (log.next_number - 150)
    assert log.log.size_bytes < 6 * SIZES.max_bytes


def test_what_is_trimmed_during_a_fetch_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogOnDisk(FakeDisk())
    while log.told.rolled < 2:
        log.append_synced(1, size_bytes=900)
    log.append_snapshot(b"")
    log.run()
    view = LogIndex.view

    def trimming(index: LogIndex) -> View:
        log.log.trim(10 * log.next_number)
        log.run()
        return view(index)

    monkeypatch.setattr(LogIndex, "view", trimming)
    fetched = log.log.fetch(0, 10 * log.next_number, 1 << 20)
    assert log.log.trimmed_upto
    assert [(gap.start, gap.stop) for gap in fetched.gaps] == [(0, log.log.trimmed_upto + 1)]
