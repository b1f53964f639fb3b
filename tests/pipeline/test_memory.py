"""Memory is bounded by the largest run, whatever the number of runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.pipeline.traces import make_runs

DELIVERIES = 30_000
RUNS = 12
# A run's own tables as Python objects would take more.
GROWTH_MB_MAX = 15

PROGRAM = """
import resource, sys
from pathlib import Path
from penstock.pipeline.kernels.measure import measure

def measured(runs):
    for run in runs:
        for batch in measure(Path(sys.argv[1]), run).batches():
            pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

few = measured(sys.argv[2:4])
print((measured(sys.argv[4:]) - few) / 1024)
"""


def test_many_runs_take_no_more_memory_than_a_few(tmp_path: Path) -> None:
    runs = make_runs(tmp_path, RUNS * DELIVERIES, per_run=DELIVERIES)
    assert len(runs) == RUNS
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), *runs],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert float(said) < GROWTH_MB_MAX
