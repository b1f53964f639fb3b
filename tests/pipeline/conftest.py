"""One Spark session for all tests that need one: they share a worker of pytest, and its Java."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.pipeline.session import open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two processors, like the smallest machine that tests run on; a lost task is tried again."""
    settings = {"spark.sql.shuffle.partitions": "2"}
    with open_session("local[2,4]", "tests", settings=settings, is_brief=True) as session:
        yield session
