"""One alternative in a process of its own: how long it takes, and the most memory it had.

python -m bench.pipeline.subprocess_case NAME DIRECTORY RUN...
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.memory import peak_mb
from bench.pipeline.queries import ALTERNATIVES, QueryResult

# `python -m` finds `bench` there.
_PROJECT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Measurement:
    """What an alternative said, and what it took; its start is not counted."""

    result: QueryResult
    wall_s: float
    peak_mb: float


def run_in_subprocess(name: str, directory: Path, runs: Sequence[str]) -> Measurement:
    """Asks in a new process."""
    command = [sys.executable, "-m", __name__, name, str(directory.absolute()), *runs]
    done = subprocess.run(command, check=True, capture_output=True, cwd=_PROJECT)
    output = json.loads(done.stdout)
    return Measurement(QueryResult(**output["answer"]), output["wall_s"], output["peak_mb"])


def main(name: str, directory: str, *runs: str) -> None:
    """Imports first, which is not what is compared."""
    query = ALTERNATIVES[name]
    query(Path(directory), runs[:1])
    began = perf_counter()
    found = query(Path(directory), runs)
    wall_s = perf_counter() - began
    print(json.dumps({"answer": asdict(found), "wall_s": wall_s, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
