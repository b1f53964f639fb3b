"""The lab, recorded traces and plain Python agree on every quick profile.

The lab measures while a run goes on, in batches gathered from alternating tables. Spark measures
recorded traces table by table. Plain Python counts row by row.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from penstock.lab.experiment_files import catalogue
from penstock.lab.findings import findings_of
from penstock.lab.metrics import LAB_METRICS
from penstock.lab.result_names import result_name
from penstock.lab.single_run import Job
from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
from penstock.metrics.results import Results
from penstock.trace.records import Host
from penstock.trace.schema import EVENTS
from penstock.tracefile.measure import measure
from penstock.tracefile.reader import TraceReader
from tests.metrics.brute import brute_force
from tests.metrics.brute.compare import assert_same, keyed
from tests.metrics.brute.traces import Trace
from tests.quick_profiles import QuickRuns

CATALOGUE = catalogue()
# Plain Python takes long for these: in `make soak`.
LARGE = ("M-3.1", "M-3.11", "M-3.13", "M-4.3", "M-4.5", "M-5.9", "M-5.17", "C-1", "demo", "M-5.11")
BY_SIZE = [pytest.param(id_, marks=[pytest.mark.soak] if id_ in LARGE else []) for id_ in CATALOGUE]


@pytest.mark.parametrize("id_", CATALOGUE)
def test_recorded_traces_give_what_the_lab_reported(id_: str, quick_run: QuickRuns) -> None:
    run = quick_run(id_)
    for job in run.jobs:
        chosen = find_metrics(job.experiment.measure.metrics, known=LAB_METRICS)
        results = measure(run.traces, job.run_id, [*chosen.values()])
        name_of = partial(result_name, job.experiment, job.variant)
        found = findings_of(results, [*job.experiment.orderings], name_of)
        for name, own in found.items():
            figures = {metric: value for metric, (value, _) in own.figures.items()}
            assert figures == pytest.approx(run.result.figures[f"{name}.{job.seed}"], rel=1e-12)
            assert own.series == run.result.series[name]
            assert own.quantiles == run.result.quantiles.get(name, {})
            assert own.sketches == run.result.sketches.get(name, {})
        assert any(own.figures or own.series for own in found.values())


@pytest.mark.parametrize("id_", BY_SIZE)
def test_plain_python_finds_the_same_in_recorded_traces(id_: str, quick_run: QuickRuns) -> None:
    run = quick_run(id_)
    for job in run.jobs:
        expected = brute_force(recorded(run.traces, job))
        assert_same(keyed(measured(run.traces, job)), expected)


def measured(traces: Path, job: Job) -> Results:
    return measure(traces, job.run_id, [*find_metrics(DEFAULT_METRICS).values()])


def recorded(traces: Path, job: Job) -> Trace:
    reader, run = TraceReader(traces), job.run_id
    tables = {
        table.name: list(reader.records(table.record, run))
        for table in EVENTS
        if reader.has(table.record, run)
    }
    return Trace(reader.run(run), tables, list(reader.records(Host, run)))
