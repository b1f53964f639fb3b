"""A Spark cluster of our own on this machine: a master and two workers, on free ports."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from penstock.pipeline.java import find_java, java_home
from tests.pipeline.sweep.tiny import wait_for

_READY = re.compile(r"Starting Spark master at (spark://\S+)")
_JOINED = "Registering worker"
_PR_SET_PDEATHSIG = 1


@contextmanager
def cluster(place: Path) -> Iterator[tuple[str, list[int]]]:
    """The master's address, and the workers' processes."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        log = place / "master.log"
        started.append(_start(place, log, "master.Master", "--port", "0", "--webui-port", "0"))
        wait_for(lambda: _READY.search(log.read_text()) is not None)
        found = _READY.search(log.read_text())
        assert found is not None
        address = found[1]
        for name in ("one", "two"):
            directory = place / name
            directory.mkdir()
            words = ("--cores", "1", "--memory", "1g", "--work-dir", str(directory), address)
            more = ("--port", "0", "--webui-port", "0", *words)
            started.append(_start(place, place / f"{name}.log", "worker.Worker", *more))
        wait_for(lambda: log.read_text().count(_JOINED) == 2)
        yield address, [process.pid for process in started[1:]]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _start(place: Path, log: Path, role: str, *words: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home(find_java(), place)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(place),
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
    }
    program = str(Path(_find_spark_home(), "bin", "spark-class"))
    command = [program, f"org.apache.spark.deploy.{role}", "--host", "127.0.0.1", *words]
    with log.open("wb") as file:
        return subprocess.Popen(
            command,
            env=environment,
            stdout=file,
            stderr=file,
            preexec_fn=_die_with_parent,  # noqa: PLW1509  (there is no other thread)
        )


def _die_with_parent() -> None:
    # A test that is killed must not leave a cluster behind.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
