"""Rates of receivers and their fair shares, counted by hand."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import SECOND
from penstock.metrics.congestion.fair_shares import FairShares, unfair_by
from penstock.trace.records import Expected, Row
from tests.metrics.congestion.made import arrivals, by_time, run_of
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts


def expected(who: str, at_s: float) -> Expected:
    return Expected("p-1", 0, 1, who, round(at_s * SECOND))


def test_each_receiver_has_its_rate_in_the_experiment_and_in_each_phase() -> None:
    rows = by_time(arrivals("a", 100, 0, 4), arrivals("b", 50, 2, 6))
    run = run_of(4, phases={"start": (0, 2), "early": (0, 0.5)})
    assert values_of(measure_rows(rows, [FairShares], run=run)) == {
        "rate.a": 100,
        "rate.b": 25,
        "rate.a.start": 100,
        "rate.b.start": 0,
        "rate.a.early": 100,
        "rate.b.early": 0,
    }


def test_who_expected_something_and_got_nothing_has_a_rate_of_0() -> None:
    # What "c" expects is published after the experiment; "d" gets something only then.
    rows: list[Row] = [expected("b", 0.5), expected("c", 2.5), *arrivals("a", 10, 0, 2)]
    rows += arrivals("d", 10, 2, 3)
    values = values_of(measure_rows(rows, [FairShares], run=run_of(2)))
    assert values == {"rate.a": 10, "rate.b": 0}


@pytest.mark.parametrize(("receivers", "reported"), [(32, 32), (33, 0)])
def test_of_many_receivers_no_rates_are_reported(receivers: int, reported: int) -> None:
    rows = by_time(*(arrivals(f"s-{n}", 1, 0, 1) for n in range(receivers)))
    assert len(measure_rows(rows, [FairShares]).values) == reported


def test_the_worst_receiver_tells_how_unfair_a_phase_is() -> None:
    # All want 180 together and get 90, of which 20, 35 and 35 would be fair.
    assert unfair_by([20, 60, 100], [20, 35, 35]) == 0
    assert unfair_by([20, 60, 100], [10, 40, 40]) == 0.5
    assert unfair_by([20, 0], [0, 0]) == 0
    assert unfair_by([], []) == 0


def test_the_ample_phase_tells_what_each_receiver_wants() -> None:
    rows = by_time(
        *(arrivals("a", 20, 0, 2), arrivals("b", 100, 0, 2)),
        *(arrivals("a", 20, 2, 4), arrivals("b", 40, 2, 4)),
        *(arrivals("a", 10, 4, 6), arrivals("b", 50, 4, 6)),
    )
    phases = {"all": (0, 2), "less": (2, 4), "worse": (4, 6)}
    values = values_of(measure_rows(rows, [FairShares], run=run_of(6, phases=phases, ample="all")))
    assert values["unfair.all"] == 0
    # Of 60 messages a second the first should have its 20.
    assert values["unfair.less"] == pytest.approx(0)
    assert values["unfair.worse"] == pytest.approx(0.5)
    without = values_of(measure_rows(rows, [FairShares], run=run_of(6, phases=phases)))
    assert not [name for name in without if name.startswith("unfair")]


def test_parts_of_a_run_add_up() -> None:
    one = [*arrivals("a", 20, 0, 4)]
    other = [expected("c", 1), *arrivals("b", 60, 0, 3)]
    run = run_of(4, phases={"all": (0, 2), "less": (2, 4)}, ample="all")
    rows = [expected("c", 1), *by_time(arrivals("a", 20, 0, 4), arrivals("b", 60, 0, 3))]
    whole = measure_rows(rows, [FairShares], run=run)
    assert measure_parts([other, one], FairShares, run=run).values == whole.values
