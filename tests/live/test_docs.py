"""The programs of the documents, word for word but for the port, with a real broker."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.live.daemon.broker import serve
from tests.live.loopback import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs" / name for name in ("live.md", "congestion.md"))]
PROGRAMS = [
    program
    for page in PAGES
    for program in re.findall(
        r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
]
FIRST_LINES = {"{'symbol': 'IBM', 'price': 101.5} delivered\n", "0\n"}


@asynccontextmanager
async def started(program: str) -> AsyncIterator[Process]:
    """The program in a process of its own, which a test that fails does not leave running."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "faulthandler", "-u", "-c", program),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            # It says where it was, for the report of the test, and ends.
            process.send_signal(signal.SIGABRT)
            assert process.stderr is not None
            print((await process.stderr.read()).decode())
            await process.wait()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_gets_its_own_message(program: str) -> None:
    assert "127.0.0.1:7400" in program

    async def first_line() -> str:
        async with (
            serve("127.0.0.1:0") as broker,
            started(program.replace("127.0.0.1:7400", broker.address)) as process,
        ):
            assert process.stdout is not None
            line = await process.stdout.readline()
            # It would go on for ever; Ctrl-C ends it, without a traceback.
            process.send_signal(signal.SIGINT)
            assert await process.communicate() == (b"", b"")
            assert process.returncode == 0
            return line.decode()

    assert run(first_line()) in FIRST_LINES
