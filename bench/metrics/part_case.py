"""One part of a run, or the whole of it, in a process of its own: CPU time and memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Final

from bench.memory import peak_mb
from bench.metrics.recorded import read_tables
from penstock.metrics.catalogue import find_metrics
from penstock.metrics.tally import Tally
from penstock.tracefile.measure import Part, tally_part

# Python finds `bench` there.
_PROJECT: Final = Path(__file__).parents[2]
_PROGRAM: Final = f"import sys; from {__name__} import main; main(*sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class PartCost:
    """CPU seconds, memory above that of a process that only reads the run, and what was found."""

    cpu_s: float
    memory_mb: float
    tallies: list[Tally]


def run_part(directory: Path, run: str, metrics: Sequence[str], part: Part) -> PartCost:
    """Tallies a part in a new process."""
    arguments = [str(directory.absolute()), run, str(part.number), str(part.count)]
    command = [sys.executable, "-c", _PROGRAM, *arguments, *metrics]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=_PROJECT)
    found: PartCost = pickle.loads(done.stdout)
    return found


def main(directory: str, run: str, number: str, count: str, *names: str) -> None:
    """Writes what came of it to standard output, pickled."""
    metrics = [*find_metrics(names).values()]
    read_tables(Path(directory), run, metrics)
    idle_mb, began = peak_mb(), process_time()
    tallies = tally_part(Path(directory), run, metrics, Part(int(number), int(count)))
    cost = PartCost(process_time() - began, peak_mb() - idle_mb, tallies)
    sys.stdout.buffer.write(pickle.dumps(cost))
