"""How a host recovers, by hand: the link is back at 10 s, the host is with the others at 12.5 s."""

from __future__ import annotations

import pytest

from penstock.metrics.streams.recovery import StreamRecovery
from penstock.trace.records import Row
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.streams.made import crossing, link, run_of, stream

PHASES = {"outage": [0, 10], "back": [10, 20]}
RUN = run_of(20, phases=PHASES)


def host(at_s: float, behind_s: float, *, recovering: bool = False, pubend: str = "PB-1") -> Row:
    return stream(
        at_s,
        "SB2",
        behind_s=behind_s,
        recovering=recovering,
        window_s=at_s - 10,
        doubt_rate=behind_s,
        pubend=pubend,
    )


ROWS: list[Row] = [
    stream(10, "PB", published=40, demanded=40),
    stream(11, "PB", published=10, demanded=40),
    stream(11, "PB", published=30, demanded=40, pubend="PB-2"),
    stream(12.5, "PB", published=20, demanded=60),
    stream(14, "PB", published=50, demanded=60),
    stream(14.5, "PB", published=20, demanded=20),
    stream(16.5, "PB", published=79, demanded=80),
    host(1, 0.1),
    host(10, 9),
    host(11, 8),
    host(11, 2, pubend="PB-2"),
    # Near, but it has not left recovery; then one of two pubends is behind.
    host(12, 1.5, recovering=True),
    host(12.25, 1.6),
    host(12.25, 0.1, pubend="PB-2"),
    host(12.5, 1.5),
    host(13, 7),
    host(13, 0, pubend="PB-2"),
]
LINKS: list[Row] = [
    crossing(10, necessary_bytes=9_999),
    crossing(11, necessary_bytes=1_000),
    crossing(12.5, necessary_bytes=1_000),
    crossing(12.5, necessary_bytes=500, link="IB-SB2"),
    crossing(13, necessary_bytes=9_999),
    link(10, rate_bps=8_000),
    link(11, rate_bps=8_000),
    link(12.5, rate_bps=16_000),
    link(12.5, rate_bps=8_000_000, name="IB-SB2"),
]


def found(rows: list[Row]) -> dict[str, float]:
    values = values_of(measure_rows(rows, [StreamRecovery], run=RUN))
    ending = ".SB2.back"
    return {name.removesuffix(ending): v for name, v in values.items() if name.endswith(ending)}


def test_a_recovery_ends_with_the_first_sample_in_which_no_pubend_is_behind() -> None:
    values = found(ROWS)
    assert values["recovered_after"] == 2.5
    assert values["recovery_publish_rate"] == 60 / 2.5
    assert values["recovery_publish_share"] == 60 / 140
    assert values["recovery_publish_jain"] == 0.5 * 60**2 / (30**2 + 30**2)
    assert values["recovery_window"] == pytest.approx((1 + 1 + 2 + 2.25 + 2.25 + 2.5) / 6)
    # Of two pubends at 11 s.
    assert values["recovery_doubt_rate_max"] == 5
    assert "recovery_bound" not in values


def test_publishers_have_their_full_rate_when_they_had_it_for_two_seconds() -> None:
    # At 16.5 s the last two seconds are those since 14.5 s.
    assert found(ROWS)["full_rate_after"] == 4


def test_the_bound_is_what_the_slowest_link_needs_at_the_rates_that_it_had() -> None:
    values = found([*ROWS, *LINKS])
    assert values["recovery_bound"] == 1.5
    assert values["recovery_over_bound"] == pytest.approx(2.5 / 1.5)


def test_a_host_that_is_not_behind_needs_no_time_and_publishers_have_their_rate() -> None:
    rows = [stream(11, "PB", published=40, demanded=40), host(11, 1.5), host(12, 9)]
    assert found(rows) == {"recovered_after": 0, "full_rate_after": 0}


def test_a_host_may_be_behind_only_as_the_phase_begins() -> None:
    assert found([host(10, 9), host(11, 0)])["recovered_after"] == 1
    assert found([host(10, 9)]) == {}


def test_a_host_that_does_not_recover_has_no_time_and_its_span_is_the_phase() -> None:
    rows: list[Row] = [*LINKS, host(11, 9), host(20, 9), stream(20, "PB", published=40)]
    values = found(rows)
    assert not {"recovered_after", "recovery_over_bound", "full_rate_after"} & {*values}
    assert values["recovery_publish_rate"] == 4
    assert values["recovery_bound"] == 1.5
    assert "recovery_publish_share" not in values


def test_without_phases_or_readers_there_is_nothing() -> None:
    assert not measure_rows(ROWS, [StreamRecovery], run=run_of(20)).values
    assert not measure_rows([stream(11, "PB")], [StreamRecovery], run=RUN).values
    assert not measure_rows(LINKS, [StreamRecovery], run=RUN).values
