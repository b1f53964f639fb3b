"""`penstock stream status` while publishers are slowed down, and while readers recover."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.cli import output
from penstock.cli.stream import texts
from penstock.cli.stream.status import _print as print_status

ID = "00f9c03bb1d25a4e"


def throttle(rate: float | None, *, by: str | None = "edge", pubend: str = ID) -> dict[str, Any]:
    return {
        "pubend": pubend,
        "throttled_seconds": 12.5,
        "limited_by": by,
        "rate_limit_per_second": rate,
        "demand_per_second": 1_250.0,
    }


def reading(*, is_recovering: bool, rate: float | None) -> dict[str, Any]:
    return {"pubend": ID, "is_recovering": is_recovering, "doubt_horizon_rate": rate}


def status(*streams: dict[str, Any]) -> dict[str, Any]:
    """The answer of a broker with these streams."""
    return {
        "broker": "b1",
        "clients": 1,
        "parents": [],
        "parents_away": 0,
        "streams": list(streams),
        "durables": [],
        "sync_p50_seconds": None,
        "sync_p99_seconds": None,
        "oldest_gap_seconds": None,
        "repeated_share": 0.0,
        "catch_up_readers": 0,
        "waiting_readers": 0,
        "queue_dropped": 0,
        "alarms": [],
    }


def stream(
    name: str, *throttles: dict[str, Any], readings: tuple[dict[str, Any], ...] = ()
) -> dict[str, Any]:
    return {
        "name": name,
        "pubends": [each["pubend"] for each in (*throttles, *readings)],
        "is_here": True,
        "taken_from": [],
        "messages": 0,
        "bytes": 0,
        "retention": None,
        "slow_host": "throttle",
        "held_by": None,
        "hosts": [],
        "unsynced": 0,
        "is_disk_full": False,
        "throttles": list(throttles),
        "readings": list(readings),
    }


def shown(capsys: pytest.CaptureFixture[str], *streams: dict[str, Any]) -> str:
    print_status(status(*streams))
    return capsys.readouterr().out


def test_who_slows_publishers_down_is_named_while_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = shown(capsys, stream("orders", throttle(312.5)), stream("trades", throttle(None)))
    assert said.endswith(
        "\n\nslowed down\tby\tallowed, 1/s\twanted, 1/s\tso far, s\n"
        "orders\tedge\t312.5\t1,250.0\t12.5\n"
    )
    # A law that knows no names.
    said = shown(capsys, stream("orders", throttle(2.0, by=None)))
    assert "orders\t?\t2.0\t" in said
    # Of several logs of a stream it is one.
    said = shown(capsys, stream("orders", throttle(None), throttle(1.0, pubend="0" * 16)))
    assert "\norders 0000000000000000\tedge\t1.0\t" in said


def test_recovering_readers_are_shown_with_their_speed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = shown(
        capsys,
        stream("orders", readings=(reading(is_recovering=True, rate=1.984),)),
        stream("trades", readings=(reading(is_recovering=True, rate=None),)),
        stream("others", readings=(reading(is_recovering=False, rate=1.0),)),
    )
    assert said.endswith(
        "\n\nrecovering\tseconds of the stream a second\norders\t1.98\ntrades\tno parent\n"
    )


@pytest.mark.parametrize(
    ("names", "away", "text"),
    [
        (["r1", "r2"], 0, "parents: linked to r1, r2\n"),
        (["r1"], 1, "parents: linked to r1; 1 is away\n"),
        (["r1"], 2, "parents: linked to r1; 2 are away\n"),
        ([], 2, "parents: none is linked, their streams stand still: the log of this broker"),
    ],
)
def test_parents_that_are_linked_and_those_that_are_away_are_told(
    names: list[str], away: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_status({**status(), "parents": names, "parents_away": away})
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("taken_from", "text"), [(["r1"], "taken from r1"), ([], "no parent serves it now")]
)
def test_a_stream_of_another_broker_names_the_parent_that_it_is_taken_from(
    taken_from: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {**stream("orders"), "is_here": False, "taken_from": taken_from}
    said = shown(capsys, found)
    assert f"orders\t\t\t\tanother broker stores it, {text}\n" in said
    assert texts.stream_json(found)["taken_from"] == taken_from


def test_where_all_is_well_nothing_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    well = stream("orders", throttle(None), readings=(reading(is_recovering=False, rate=1.0),))
    said = shown(capsys, well)
    assert "slowed down" not in said
    assert "recovering" not in said


def test_long_names_stay_within_100_columns_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    long = stream(
        "s" * 64, throttle(312.5, by="h" * 64), readings=(reading(is_recovering=True, rate=2),)
    )
    said = shown(capsys, long)
    assert "slowed down" in said
    assert "│" in said
    assert max(map(len, said.splitlines())) <= 100


def test_programs_are_told_in_any_case() -> None:
    found = texts.stream_json(stream("orders", throttle(None)))
    assert found["throttles"] == [throttle(None)]
    assert found["readings"] == []
