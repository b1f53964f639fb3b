"""The session of a command: where it runs, what it leaves behind, what it does not say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.kernel.errors import UsageError
from penstock.pipeline.session import open_session

# Two sessions, one after the other; Java ends with each.
PROGRAM = """
from penstock.pipeline.session import open_session
for number in (1, 2):
    with open_session("local[1]", is_brief=True) as spark:
        print(number, spark.range(5).groupBy().sum().collect()[0][0])
        print(spark.sparkContext.getConf().get("spark.local.dir"))
"""
# What Spark's start-up script needs, and no Java.
TOOLS = ("bash", "sh", "env", "dirname", "uname", "ps", "nice", "cat", "mkdir", "rm", "sed", "grep")


def run(tmp_path: Path, **environment: str) -> tuple[list[str], str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TMPDIR": str(tmp_path), **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.stdout.splitlines(), done.stderr


# With an archive of classes, which the first session leaves and the second uses, it takes twice
# as long.
@pytest.mark.parametrize(
    "has_archive", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["plain", "archive"]
)
def test_without_java_sessions_start_end_and_leave_nothing(
    tmp_path: Path, has_archive: bool
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None, f"this machine has no {name}"
        (tools / name).symlink_to(found)
    places = tmp_path / "places"
    places.mkdir()
    # A cache that cannot be written to has no archive.
    cache = tmp_path / "cache" if has_archive else Path(os.devnull)
    said, complaints = run(places, PATH=str(tools), JAVA_HOME="", XDG_CACHE_HOME=str(cache))
    assert [said[0], said[2]] == ["1 10", "2 10"]
    assert complaints == ""
    assert [place for place in (said[1], said[3]) if Path(place).exists()] == []
    assert list(places.iterdir()) == []
    assert any(tmp_path.glob("cache/penstock/spark-*.jsa")) == has_archive


def test_a_master_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="no master 'nowhere'"), open_session("nowhere"):
        pass


def test_a_session_that_is_there_is_used_and_left_open(spark: SparkSession) -> None:
    with open_session("local[7]", "another") as session:
        assert session is spark
    assert spark.range(3).count() == 3


def test_its_settings_are_those_we_rely_on(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.sparkContext.getConf().get("spark.driver.host") in {"localhost", "127.0.0.1"}


def test_the_environment_is_as_it_was(spark: SparkSession) -> None:
    assert "SPARK_LAUNCHER_OPTS" not in os.environ
    assert "penstock" not in os.environ.get("JAVA_HOME", "")
