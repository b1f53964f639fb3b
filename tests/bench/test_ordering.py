"""What is timed is what it is said to be, and comes out right."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import msgspec
import pytest

from bench import BENCHES
from bench.ordering import (
    CASES,
    EVERYTHING,
    GOALS,
    IN_ORDER,
    LATE,
    LATE_SHARE,
    RATIOS,
    SPARSE,
    SPARSE_LATE,
    Traffic,
    delivered_seqs,
    matching_traffic,
    seconds,
    with_overtaking,
)
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.transport.settings import RecordSettings
from penstock.wire.frames.data import Data

COUNT = 60
ENCODER = Encoder(b"test")


@cache
def sent(wanted: Predicate, record: RecordSettings) -> Traffic:
    name = next(n for n, way in CASES.items() if (way.interest, way.record) == (wanted, record))
    return matching_traffic(CASES[name], ENCODER, COUNT)


def traffic_of(name: str) -> Traffic:
    return with_overtaking(sent(CASES[name].interest, CASES[name].record), CASES[name].late_share)


def numbers(traffic: Traffic) -> list[int]:
    return [frame.seq for frame, _ in traffic if isinstance(frame, Data)]


@pytest.mark.parametrize("name", CASES)
def test_everything_that_arrives_is_handed_over_once(name: str) -> None:
    traffic = traffic_of(name)
    got = delivered_seqs(CASES[name], ENCODER, traffic)
    # What still waits at the end is the last of it.
    assert set(got) <= set(numbers(traffic))
    assert len(set(got)) == len(got) >= COUNT - 3
    assert seconds(CASES[name], ENCODER, traffic) > 0


def test_late_messages_are_put_in_order_by_the_default() -> None:
    traffic = traffic_of(LATE)
    got = delivered_seqs(CASES[LATE], ENCODER, traffic)
    assert numbers(traffic) != sorted(numbers(traffic))
    assert got == sorted(got)


def test_as_many_are_late_as_is_said_and_time_goes_on() -> None:
    frame, _ = traffic_of(IN_ORDER)[0]
    many = [(msgspec.structs.replace(frame, seq=n), n) for n in range(4_000)]
    found = with_overtaking(many, LATE_SHARE)
    late = sum(later < sooner for sooner, later in pairwise(numbers(found)))
    assert late / len(found) == pytest.approx(LATE_SHARE, abs=0.012)
    assert [now for _, now in found] == list(range(4_000))


@pytest.mark.parametrize("name", [SPARSE, SPARSE_LATE])
def test_one_message_in_twenty_comes_and_says_what_the_25_before_it_were(name: str) -> None:
    frames = [frame for frame, _ in traffic_of(name) if isinstance(frame, Data)]
    assert max(frame.seq for frame in frames) / COUNT == pytest.approx(20, rel=0.4)
    assert all(CASES[name].interest.matches(frame.message) for frame in frames)
    assert all(EVERYTHING.matches(frame.message) for frame in frames)
    assert {frame.record.count for frame in frames if frame.seq > 25} == {25}


def test_goals_and_ratios_name_cases() -> None:
    assert {*GOALS, *(name for pair in RATIOS for name in pair)} <= {*CASES}
    assert "ordering" in BENCHES
