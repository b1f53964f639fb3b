"""Memory is bounded by the largest run, whatever the number of runs, and few metrics keep rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.metrics.lab import kept_bytes
from bench.pipeline.traces import make_runs
from penstock.metrics.catalogue import find_metric

DELIVERIES = 30_000
RUNS = 12
# A run's own tables as Python objects would take more.
GROWTH_MB_MAX = 15
MESSAGES = (70_000, 210_000)

PROGRAM = """
import sys
from pathlib import Path
from bench.memory import peak_mb
from penstock.metrics.catalogue import DEFAULT_METRICS, find_metrics
from penstock.tracefile.measure import measure

def measured(runs):
    metrics = [*find_metrics(DEFAULT_METRICS).values()]
    for run in runs:
        measure(Path(sys.argv[1]), run, metrics)
    return peak_mb()

few = measured(sys.argv[2:4])
print(measured(sys.argv[4:]) - few)
"""


def test_many_runs_take_no_more_memory_than_a_few(tmp_path: Path) -> None:
    runs = make_runs(tmp_path, RUNS * DELIVERIES, per_run=DELIVERIES)
    assert len(runs) == RUNS
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), *runs],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    ).stdout
    assert float(said) < GROWTH_MB_MAX


@pytest.mark.parametrize("name", ["received", "fifo_order", "delays", "inversions", "late_drops"])
def test_metrics_that_count_keep_no_rows(name: str) -> None:
    tables = ["expected", "arrivals", "deliveries"]
    assert kept_bytes(tables, [find_metric(name)], messages=MESSAGES) < 1


@pytest.mark.parametrize(("orderings", "kept"), [([], 24), (["deliveries"], 32)])
def test_the_ledger_keeps_16_bytes_of_a_message_and_8_of_each_receipt(
    orderings: list[str], kept: int
) -> None:
    tables = ["expected", "arrivals", *orderings]
    found = kept_bytes(tables, [find_metric("false_negatives")], messages=MESSAGES)
    assert found == pytest.approx(kept, abs=1)
