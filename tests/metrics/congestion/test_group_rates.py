"""What groups have for themselves and what they share, counted by hand."""

from __future__ import annotations

from dataclasses import replace

from penstock.kernel.instant import SECOND
from penstock.metrics.congestion.group_rates import GroupRates
from penstock.metrics.results import Results
from penstock.trace.records import Arrival, Expected, Row
from tests.metrics.congestion.made import run_of
from tests.metrics.measured import measure_rows, series_of, values_of

GROUPS = {"p": ["p-1", "p-2"], "one": ["a-1", "a-2"], "other": ["b-1"]}


def expected(publisher: str, seq: int, who: str, *, epoch: int = 0) -> Expected:
    return Expected(publisher, epoch, seq, who, 0)


def arrival(publisher: str, seq: int, who: str, at_s: float, *, epoch: int = 0) -> Arrival:
    return Arrival(who, publisher, epoch, seq, 0, round(at_s * SECOND), 1, False)


def seen(rows: list[Row], **measure: object) -> Results:
    return measure_rows(rows, [GroupRates], run=replace(run_of(4, **measure), groups=GROUPS))


ROWS: list[Row] = [
    # Two of the same group want it: it is still their own.
    expected("p-1", 0, "a-1"),
    expected("p-1", 0, "a-2"),
    expected("p-1", 1, "a-1"),
    expected("p-1", 1, "b-1"),
    # The same number of another publisher is another message.
    expected("p-2", 1, "b-1"),
    arrival("p-1", 0, "a-1", 0.5),
    arrival("p-1", 0, "a-2", 0.5),
    arrival("p-1", 1, "a-1", 1.5),
    arrival("p-2", 1, "b-1", 3.5),
]


def test_what_no_other_group_wants_is_a_groups_own() -> None:
    results = seen(ROWS)
    assert values_of(results) == {
        "own_rate.one": 2 / 4,
        "shared_rate.one": 1 / 4,
        "own_rate.other": 1 / 4,
        "shared_rate.other": 0,
    }
    assert series_of(results, "own_rate.one") == [2, 0, 0, 0]
    assert series_of(results, "shared_rate.one") == [0, 1, 0, 0]
    assert series_of(results, "own_rate.other") == [0, 0, 0, 1]


def test_each_phase_has_its_rates() -> None:
    values = values_of(seen(ROWS, phases={"start": (0, 2)}))
    assert (values["own_rate.one.start"], values["shared_rate.one.start"]) == (1, 0.5)
    assert values["own_rate.other.start"] == 0


def test_after_a_restart_the_same_number_is_another_message() -> None:
    rows: list[Row] = [expected("p-1", 0, "a-1"), expected("p-1", 0, "b-1", epoch=1)]
    rows += [arrival("p-1", 0, "a-1", 0.5), arrival("p-1", 0, "b-1", 1.5, epoch=1)]
    values = values_of(seen(rows))
    assert (values["own_rate.one"], values["own_rate.other"]) == (1 / 4, 1 / 4)
    assert values["shared_rate.one"] == values["shared_rate.other"] == 0


def test_hosts_without_a_group_count_as_others() -> None:
    rows: list[Row] = [expected("p-1", 0, "a-1"), expected("p-1", 0, "stranger")]
    rows += [arrival("p-1", 0, "a-1", 0.5), arrival("p-1", 0, "stranger", 0.5)]
    assert values_of(seen(rows)) == {"own_rate.one": 0, "shared_rate.one": 1 / 4}


def test_what_nobody_expected_is_a_groups_own() -> None:
    rows: list[Row] = [expected("p-1", 0, "a-1"), arrival("p-1", 7, "a-1", 0.5)]
    assert values_of(seen(rows)) == {"own_rate.one": 1 / 4, "shared_rate.one": 0}


def test_what_comes_after_the_end_is_not_counted() -> None:
    rows: list[Row] = [expected("p-1", 0, "a-1"), arrival("p-1", 0, "a-1", 4.5)]
    assert values_of(seen(rows)) == {"own_rate.one": 0, "shared_rate.one": 0}


def test_a_run_that_names_no_groups_has_no_rates() -> None:
    assert not measure_rows(ROWS, [GroupRates]).values
