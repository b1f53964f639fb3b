"""The first program of streams is typed, and does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from tests.cli.stream.broker_thread import running_broker

PROGRAMS = [Path(__file__).with_name(name) for name in ("first_program.py", "typed_program.py")]


# A minute: it reads the whole package anew. `make check` reads the programs with everything else.
@pytest.mark.soak
def test_a_strict_checker_accepts_programs(tmp_path: Path) -> None:
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"),
            *("--cache-dir", str(tmp_path / "cache"), *map(str, PROGRAMS)),
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(penstock.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == "Success: no issues found in 2 source files\n"


def test_the_first_program_prints_what_it_stored(tmp_path: Path) -> None:
    with running_broker(tmp_path, name="b1") as address:
        process = subprocess.Popen(
            [sys.executable, "-u", str(PROGRAMS[0])],
            env={**os.environ, "PENSTOCK_STREAMS": address},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("IBM ")
        finally:
            # It would go on for ever.
            process.kill()
            process.communicate()
