"""One run through metrics: each sees what it declares, and its mistakes are said to be its own."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.lab.experiment_files import find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs
from penstock.metrics.base import Entity, Metric, Output
from penstock.metrics.catalogue import find_metrics
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Publication
from penstock.tracefile.measure import measure
from tests.metrics.brute.traces import trace
from tests.metrics.delivery.made import PAIR, arrival
from tests.metrics.measured import measure_rows, values_of


class LongestSilence(Metric[Batch]):
    """Depends on the order of rows."""

    READS: ClassVar = {"publications": ("published_ns",)}
    OUTPUTS: ClassVar = (Output(name="silence", unit="s", meaning="the longest"),)

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._last = 0
        self._longest = 0

    def update(self, batch: Batch) -> None:
        for at in batch.integers("published_ns").tolist():
            self._longest = max(self._longest, at - self._last)
            self._last = at

    def finish(self, out: Results) -> None:
        out.add_value("silence", self._longest / SECOND)


class ReadsMore(LongestSilence):
    def update(self, batch: Batch) -> None:
        batch.codes("publisher")


class ReportsMore(LongestSilence):
    OUTPUTS: ClassVar = (Output(name="silence", unit="s", meaning="", entity=Entity.PUBLISHER),)


class ReadsHosts(LongestSilence):
    READS: ClassVar = {"hosts": ("host",)}


def sent_at(*seconds: int) -> list[Publication]:
    return [
        Publication("p", 0, number, 0, at * SECOND, 100, PublisherFate.SENT, "data")
        for number, at in enumerate(seconds)
    ]


def test_rows_of_any_table_come_in_order_of_time(tmp_path: Path) -> None:
    trace(*sent_at(1, 5, 3, 4)).write(tmp_path, "trace.1")
    found = measure(tmp_path, "trace.1", [LongestSilence], piece_rows=2)
    assert values_of(found) == {"silence": 2}


def test_a_column_that_is_not_declared_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"ReadsMore' failed with KeyError: 'publisher': add it"):
        measure_rows(sent_at(1), [ReadsMore])


def test_a_mistake_of_a_metric_names_it_and_the_line() -> None:
    with pytest.raises(UsageError, match=r"ReportsMore' failed .*no metric as a value of the run"):
        measure_rows(sent_at(1), [ReportsMore])


def test_a_row_that_names_nobody_is_refused() -> None:
    nobody = Publication("", 0, 1, 0, SECOND, 100, PublisherFate.SENT, "data")
    with pytest.raises(UsageError, match="publications has a row whose publisher is empty"):
        measure_rows([nobody], [*find_metrics(["source_fates"]).values()])


def test_a_run_that_ends_within_a_second_is_counted_to_its_end() -> None:
    rows = [arrival(number, 10 * number) for number in range(60)]
    half = RunInfo(id="test", origin=0, duration=SECOND // 2)
    found = measure_rows(rows, [*find_metrics(["received", "fair_shares"]).values()], run=half)
    assert values_of(found)["delivery_rate"] == 100
    assert values_of(found)[f"rate.{PAIR[1]}"] == 100


@pytest.mark.parametrize("bounds", [[2, 9], [1], ["x", "y"], None, [-2, 0], [1, 1], 5])
def test_phases_of_a_trace_that_are_no_part_of_it_are_refused(bounds: object) -> None:
    info = RunInfo(id="r", origin=0, duration=4 * SECOND, measure={"phases": {"late": bounds}})
    with pytest.raises(UsageError, match=r"run r: the phase 'late' is .* which has 4"):
        info.check_phases()


def test_a_series_that_is_not_finite_is_a_mistake_of_its_metric() -> None:
    class Unfinished(LongestSilence):
        OUTPUTS: ClassVar = (Output(name="silence", unit="s", meaning="", kinds=("series",)),)

        def finish(self, out: Results) -> None:
            out.add_series("silence", [1, float("nan")])

    with pytest.raises(UsageError, match="the series silence has a value that is not finite"):
        measure_rows(sent_at(1), [Unfinished])


def test_metrics_are_added_to_those_of_a_file() -> None:
    source = find_experiment("C-1")
    plan = ExperimentPlan(metrics=["delays", f"{__name__}:LongestSilence", "delays"], seeds=[1])
    measured = plan_jobs(source, plan)[0].experiment.measure.metrics
    assert [*measured] == [
        *source.experiment.measure.metrics,
        "delays",
        f"{__name__}:LongestSilence",
    ]


def test_a_metric_that_there_is_not_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match=r"--metric delay: .*did you mean 'delays'"):
        plan_jobs(find_experiment("C-1"), ExperimentPlan(metrics=["delay"], seeds=[1]))


def test_tables_that_are_written_last_are_for_recorded_traces() -> None:
    plan = ExperimentPlan(metrics=[f"{__name__}:ReadsHosts"], seeds=[1])
    with pytest.raises(UsageError, match="reads hosts, which is only read from recorded traces"):
        plan_jobs(find_experiment("C-1"), plan)
