"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.quick_profiles import QuickRuns

# A shell has Ctrl-C ignored by what it starts in the background, tests among it, and every process
# inherits that, or that it is blocked: programs that tests end by Ctrl-C would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

# How long an example takes says more of the machine than of the code; and every run draws others.
settings.register_profile("calm", deadline=None, max_examples=50)
settings.load_profile("calm")


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> QuickRuns:
    """Runs the quick profile of an experiment once, however many tests look at it."""
    # The lab takes longer to import than most tests to run.
    from tests.quick_profiles import run_once

    own = tmp_path_factory.getbasetemp()
    # That of a worker stands in the one of the whole session.
    directory = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "quick"
    directory.mkdir(exist_ok=True)
    return partial(run_once, directory=directory)
