"""How soon rates settle and how far they swing, on rates made up by hand."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.metrics.congestion.settling import Settling, settled_after_s, swing
from penstock.trace.records import Row
from tests.metrics.congestion.made import arrivals, by_time, publication, run_of
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.parts import measure_parts


def test_arrivals_settle_when_their_rate_is_what_it_stays() -> None:
    rows = arrivals("a", 20, 0, 3) + arrivals("a", 200, 3, 20)
    values = values_of(measure_rows(rows, [Settling], batch_rows=500, run=run_of(20)))
    assert values["settled_after"] == pytest.approx(3, abs=0.2)
    assert values["swing"] == pytest.approx(0, abs=0.01)
    assert "sent_settled_after" not in values


def test_what_is_sent_settles_by_itself() -> None:
    rows: list[Row] = [publication(n, 50 * n, 50 * n) for n in range(40, 200)]
    # It never left, so it tells nothing of the rate.
    rows += [publication(None, 50 * n, None) for n in range(40)]
    values = values_of(measure_rows(rows, [Settling], run=run_of(10)))
    assert values["sent_settled_after"] == pytest.approx(2, abs=0.3)
    assert "settled_after" not in values


def test_each_phase_settles_by_itself() -> None:
    rows = arrivals("a", 100, 0, 2) + arrivals("a", 20, 2, 3) + arrivals("a", 60, 3, 6)
    run = run_of(6, phases={"first": (0, 2), "less": (2, 6)})
    values = values_of(measure_rows(rows, [Settling], run=run))
    assert values["settled_after.first"] == 0
    assert values["settled_after.less"] == pytest.approx(1, abs=0.2)


def test_rates_that_never_come_near_settle_at_the_end() -> None:
    # Bursts of a slot each, a second apart, are never near their mean.
    slots = np.zeros(100, np.int64)
    slots[::20] = 100
    assert settled_after_s(slots) == 5


def test_the_worst_second_tells_the_swing() -> None:
    steady = np.full(200, 10)
    assert swing(steady) == 0
    steady[40:60] = 5
    assert swing(steady) == pytest.approx(1 - 100 / 190)
    assert swing(steady[:20]) is None
    assert swing(np.zeros(100, np.int64)) is None


def test_where_nothing_came_nothing_settles() -> None:
    assert settled_after_s(np.zeros(100, np.int64)) is None
    assert not measure_rows([], [Settling], recorded=["arrivals", "publications"]).values


def test_parts_of_a_run_add_up() -> None:
    one, other = arrivals("a", 20, 0, 13), arrivals("b", 90, 1, 13)
    run = run_of(13, phases={"start": (0, 3)})
    whole = measure_rows(by_time(one, other), [Settling], run=run)
    assert len(whole.values) == 3
    assert measure_parts([one, other], Settling, run=run).values == whole.values


def test_a_tie_is_within_a_tenth() -> None:
    counts = np.array([0, 1, 3, 1, 3, 3, 2, 2, 3, 0, 1, 3, 3, 2, 3, 2, 1, 1, 1, 3])
    assert settled_after_s(counts) == 0.05
