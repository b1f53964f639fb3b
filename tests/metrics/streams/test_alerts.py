"""What pubends are told of hosts, by hand."""

from __future__ import annotations

from penstock.kernel.instant import SECOND
from penstock.metrics.streams.alerts import Alerts
from penstock.trace.alert_kind import AlertKind
from penstock.trace.records import StreamAlert
from tests.metrics.measured import measure_rows, series_of, values_of
from tests.metrics.parts import measure_parts
from tests.metrics.streams.made import run_of


def alert(at_s: float, kind: AlertKind, rate: float) -> StreamAlert:
    return StreamAlert(round(at_s * SECOND), "PB", "PB-1", 1, kind, rate)


ROWS = [
    alert(0.5, AlertKind.NORMAL, 0.25),
    alert(0.75, AlertKind.NORMAL, 0.75),
    alert(1.25, AlertKind.RECOVERING, 3),
    alert(1.5, AlertKind.NORMAL, 0),
    alert(2.5, AlertKind.NORMAL, 9),
]


def test_alerts_are_counted_by_kind_and_phase_and_their_rates_averaged_by_second() -> None:
    results = measure_rows(ROWS, [Alerts], run=run_of(2, phases={"early": [0, 1]}))
    assert values_of(results) == {
        "alerts_normal": 3,
        "alerts_normal.early": 2,
        "alerts_recovering": 1,
        "alerts_recovering.early": 0,
    }
    assert series_of(results, "alert_rate_normal") == [0.5, 0]
    assert series_of(results, "alerts_normal") == [2, 1]
    assert series_of(results, "alert_rate_sum_recovering") == [0, 3]
    (recovering,) = (s for k, s in results.series.items() if k.metric == "alert_rate_recovering")
    assert (recovering.seconds.tolist(), recovering.values.tolist()) == ([1], [3])


def test_a_table_without_rows_gives_zeros_and_a_missing_one_nothing() -> None:
    recorded = measure_rows([], [Alerts], recorded=["alerts"])
    assert values_of(recorded) == {"alerts_normal": 0, "alerts_recovering": 0}
    assert {key.metric for key in recorded.series} == {
        *("alerts_normal", "alerts_recovering"),
        *("alert_rate_sum_normal", "alert_rate_sum_recovering"),
    }
    assert not measure_rows([], [Alerts]).values


def test_parts_of_a_run_add_up() -> None:
    whole = measure_rows(ROWS, [Alerts], run=run_of(2))
    assert measure_parts([ROWS, []], Alerts, run=run_of(2)).values == whole.values
