"""What holds for all tests, however they were started."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

# What a process that tests start does at Ctrl-C.
HEARS = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)"


def ignored() -> None:
    """As a shell does for what it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def blocked() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@pytest.mark.parametrize("how", [ignored, blocked])
def test_ctrl_c_ends_what_tests_start_though_those_who_started_them_ignore_it(
    how: Callable[[], None],
) -> None:
    tests = (
        f"import subprocess, sys, tests.conftest; subprocess.run([sys.executable, '-c', {HEARS!r}])"
    )
    started = subprocess.run(
        [sys.executable, "-c", tests], preexec_fn=how, stderr=subprocess.PIPE, text=True, check=True
    )
    assert started.stderr.endswith("KeyboardInterrupt\n")
