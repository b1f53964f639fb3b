"""The room finds what plain Python finds, whatever a trace looks like and however it is fed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import merge
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.metrics.base import AdditiveMetric
from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
from penstock.metrics.gather import Gather
from penstock.metrics.measurement import Measurement
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.collector import Collector
from penstock.trace.schema import TABLES
from penstock.tracefile.measure import Part, measure, merge_parts, tally_part
from tests.metrics.brute import brute_force
from tests.metrics.brute.compare import assert_same, keyed
from tests.metrics.brute.traces import Trace, random_trace, time_of

RUN = "random.1"
METRICS = [*find_metrics(DEFAULT_METRICS).values()]
ADDITIVE = [metric for metric in METRICS if issubclass(metric, AdditiveMetric)]
ALL_AT_ONCE = 1 << 16

seeds = st.integers(0, 1 << 32)


@contextmanager
def written(trace: Trace) -> Iterator[Path]:
    with TemporaryDirectory() as place:
        trace.write(Path(place), RUN)
        yield Path(place)


@settings(max_examples=60)
@given(seeds, st.sampled_from([1, 3, 7, ALL_AT_ONCE]))
def test_files_are_measured_as_plain_python_does(seed: int, piece_rows: int) -> None:
    trace = random_trace(seed)
    with written(trace) as directory:
        found = measure(directory, RUN, METRICS, piece_rows=piece_rows)
    assert_same(keyed(found), brute_force(trace))


@settings(max_examples=30)
@given(seeds, st.sampled_from([2, 3, 5]))
def test_parts_of_a_run_add_up_to_the_whole(seed: int, parts: int) -> None:
    with written(random_trace(seed)) as directory:
        tallies = [
            tally_part(directory, RUN, ADDITIVE, Part(number, parts)) for number in range(parts)
        ]
        found = merge_parts(directory, RUN, ADDITIVE, tallies)
        whole = measure(directory, RUN, ADDITIVE)
    assert_same(keyed(found), keyed(whole))


@settings(max_examples=30)
@given(seeds, st.sampled_from([1, 4, 50]), st.sampled_from([1, 10, ALL_AT_ONCE]))
def test_the_lab_measures_a_run_in_progress_as_it_measures_files(
    seed: int, batch_rows: int, gather_rows: int
) -> None:
    trace = random_trace(seed).in_order()
    with written(trace) as directory:
        of_files = measure(directory, RUN, METRICS)
    in_progress = as_the_lab_does(trace, batch_rows=batch_rows, gather_rows=gather_rows)
    assert_same(keyed(in_progress), keyed(of_files))


def as_the_lab_does(trace: Trace, *, batch_rows: int, gather_rows: int) -> Results:
    """Records come one by one, those of all tables in order of time."""
    tables = [TABLES[name] for name in trace.tables]
    info = RunInfo.of(RUN, trace.run, recorded=frozenset(trace.tables), hosts=trace.hosts)
    measurement = Measurement(info, METRICS)
    gather = Gather(measurement.reads, rows=gather_rows)
    gather.connect(measurement.update)
    collector = Collector([gather.add], tables=tables, batch_rows=batch_rows)
    for row in merge(*trace.tables.values(), key=time_of):
        collector.add(row)
    collector.close()
    gather.close()
    return measurement.finish()


@pytest.fixture(scope="module")
def reached() -> set[tuple[str, str, bool]]:
    """Kind and name of what plain Python finds in many traces, and whether it is of a phase."""
    found = (brute_force(random_trace(seed)) for seed in range(200))
    return {(key.kind, key.metric, bool(key.phase)) for keys in found for key in keys}


@pytest.mark.parametrize("name", DEFAULT_METRICS)
def test_random_traces_reach_every_output(name: str, reached: set[tuple[str, str, bool]]) -> None:
    [metric] = find_metrics([name]).values()
    for output in metric.OUTPUTS:
        for kind in ("pair",) if output.entity.has_peer else output.kinds:
            is_there = [(kind, output.name, is_phase) in reached for is_phase in (False, True)]
            assert any(is_there), f"no {kind} {output.name}"
            assert is_there[1] == (output.phased and kind == "value"), output.name
