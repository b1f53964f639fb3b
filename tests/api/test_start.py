"""Where to begin: words, times and positions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from penstock.api.position import Position
from penstock.api.start import Start, StartKind, StartPoint, start_point
from penstock.kernel.errors import UsageError

NOW_NS = 1_000 * 10**9
HALF_PAST = datetime(1970, 1, 1, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "point"),
    [
        ("now", StartPoint(StartKind.NOW)),
        ("first", StartPoint(StartKind.FIRST)),
        ("-30s", StartPoint(StartKind.TIME, time_ns=970 * 10**9)),
        ("-1.5ms", StartPoint(StartKind.TIME, time_ns=NOW_NS - 1_500_000)),
        ("-7d", StartPoint(StartKind.TIME, time_ns=0)),
        (HALF_PAST, StartPoint(StartKind.TIME, time_ns=1_800 * 10**9)),
        (
            HALF_PAST.astimezone(timezone(timedelta(hours=5))),
            StartPoint(StartKind.TIME, time_ns=1_800 * 10**9),
        ),
        ("1970-01-02", StartPoint(StartKind.TIME, time_ns=86_400 * 10**9)),
        ("1970-01-01T00:30:00Z", StartPoint(StartKind.TIME, time_ns=1_800 * 10**9)),
        (Position(7, 255), StartPoint(StartKind.POSITION, position=Position(7, 255))),
        ("7.ff", StartPoint(StartKind.POSITION, position=Position(7, 255))),
    ],
)
def test_a_start_is_understood(start: Start, point: StartPoint) -> None:
    assert start_point(start, now_ns=NOW_NS, of_stream=True) == point
    assert start_point(start, now_ns=NOW_NS, of_stream=False) == point


def test_last_is_for_caches_and_not_for_streams() -> None:
    assert start_point("last", now_ns=0, of_stream=False) == StartPoint(StartKind.LAST)
    with pytest.raises(
        UsageError, match=r'^start of a stream cannot be "last": write "first", "no'
    ):
        start_point("last", now_ns=0, of_stream=True)


@pytest.mark.parametrize(
    "start", ["", "Now", "later", "-", "-soon", "--5s", "30s", "2026-13-01T00:00Z", None, 5, b"now"]
)
def test_what_is_no_start_is_refused(start: Any) -> None:
    with pytest.raises(
        UsageError, match=r'^start cannot be .*: write "now", "first", how far back'
    ):
        start_point(start, now_ns=NOW_NS, of_stream=True)


@pytest.mark.parametrize(
    ("start", "instead"),
    [
        (datetime(2026, 1, 1), r"datetime\(\.\.\., tzinfo=UTC\)"),
        ("2026-01-01T00:00", "2026-01-01T00:00:00Z for UTC"),
    ],
)
def test_a_time_needs_a_zone(start: Start, instead: str) -> None:
    text = f"^start 2026-01-01T00:00:00 has no time zone: write {instead}$"
    with pytest.raises(UsageError, match=text):
        start_point(start, now_ns=NOW_NS, of_stream=True)
