"""How much of a link's rate carries what has to cross it, by hand."""

from __future__ import annotations

from penstock.metrics.streams.goodput import LinkGoodput
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import crossing, link, run_of

ROWS = [
    link(1, rate_bps=8_000),
    link(2, rate_bps=16_000),
    link(2, rate_bps=8_000, name="IB-PB"),
    link(2, rate_bps=None, name="IB-SB1"),
    crossing(0, necessary_bytes=9_999),
    crossing(1, first=1, necessary_bytes=400),
    crossing(1, first=1, necessary_bytes=100),
    crossing(2, repeat=9),
    crossing(2, first=1, necessary_bytes=100, link="IB-SB1"),
]


def test_what_is_repeated_is_no_use_of_a_link_and_one_without_a_limit_has_none() -> None:
    phases = {"early": [0, 1], "late": [1, 2]}
    assert values_of(measure_rows(ROWS, [LinkGoodput], run=run_of(2, phases=phases))) == {
        "link_goodput.PB-IB": 500 * 8 / 24_000,
        "link_goodput.PB-IB.early": 0.5,
        "link_goodput.PB-IB.late": 0,
    }


def test_both_tables_are_needed() -> None:
    assert not measure_rows(ROWS[:4], [LinkGoodput], recorded=["crossings"]).values
    assert not measure_rows(ROWS[4:], [LinkGoodput]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [LinkGoodput], run=run_of(2))
    assert measure_parts([ROWS, []], LinkGoodput, run=run_of(2)).values == whole.values
