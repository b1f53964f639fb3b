"""One Spark session for all tests that need one: they share a worker of pytest, and its Java."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.pipeline import session as session_module
from penstock.pipeline.jvm_class_archive import ClassArchive, class_archive_of
from penstock.pipeline.session import open_session


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts all that use the session into one group, which runs in one worker."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


def _existing_archive(*arguments: object) -> ClassArchive | None:
    """An archive of classes that is there already.

    To leave a new one takes Java as long as a dozen tests, and no later session of a test run
    would use it.
    """
    archive = class_archive_of(*arguments)  # type: ignore[arg-type]
    return None if archive is None or archive.path is None else archive


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two processors, like the smallest machine that tests run on; a lost task is tried again."""
    settings = {"spark.sql.shuffle.partitions": "2"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session_module, "class_archive_of", _existing_archive)
        with open_session("local[2,4]", "tests", settings=settings, is_brief=True) as session:
            yield session
