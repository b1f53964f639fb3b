"""The example and the program of the guide, as they stand, with a real broker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.stream.broker_thread import running_broker

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guide" / "streams.md"


def test_the_example_goes_on_where_it_was(tmp_path: Path) -> None:
    with running_broker(tmp_path, name="b1") as address:
        first, second = (
            subprocess.run(
                [sys.executable, str(ROOT / "examples" / "streams.py")],
                env={**os.environ, "PENSTOCK_STREAMS": address, "PYTHONWARNINGS": "error"},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()
            for _ in range(2)
        )
    assert first[0].startswith("20 orders are on disk, the last one at ")
    assert first[1:4] == [
        "billing begins with the first order",
        "  bill 100 of AMD",
        "  bill 110 of ARM",
    ]
    assert second[1:3] == ["billing goes on", "  bill 150 of IBM"]
    assert first[-1] == second[-1] == "the first order of ARM was of 20"


def test_the_program_of_the_guide_reads_its_own_message(tmp_path: Path) -> None:
    (program,) = re.findall(
        r"^```py\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    with running_broker(tmp_path, name="b1") as address:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", program],
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
