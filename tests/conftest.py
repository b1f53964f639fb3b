"""What holds for all tests."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.quick_profiles import QuickRuns

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
