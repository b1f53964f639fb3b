"""The Spark session of a command, as a context manager.

An existing session, of a notebook or of `spark-submit`, is used as it is and left
open. Otherwise Java is found, started and ended here, and all files that Spark wrote
are deleted.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from penstock.kernel.errors import UsageError

try:
    import pyspark
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql import SparkSession
except ImportError as error:
    raise UsageError(
        f"this needs Spark ({error.name} is not installed): pip install 'penstock[spark]'"
    ) from None

from penstock.pipeline.java import find_java, java_home
from penstock.pipeline.jvm_class_archive import ClassArchive, class_archive_of

# All processors; a task whose process is killed is retried, up to four attempts in total.
DEFAULT_MASTER: Final = "local[*,4]"
# Spark's log level, such as warn or info.
LOG_VARIABLE: Final = "PENSTOCK_SPARK_LOG"
LOOPBACK: Final = "127.0.0.1"

_NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
_STOP_TIMEOUT_S: Final = 120
# Masters that Spark accepts; for others it prints long tracebacks.
_MASTER: Final = re.compile(r"local|spark://|k8s://|yarn$")
_LOCAL: Final = re.compile(r"local(\[|-cluster\[|$)")
_ON_THIS_MACHINE: Final = re.compile(r"local(\[|-cluster\[|$)|spark://(127\.|localhost\b)")

# Defaults of every session; settings of the caller and of spark-submit override them.
_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.catalogImplementation": "in-memory",
    # A damaged page of a trace must be an error, not a wrong figure.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}
# Shuffles are small; Spark's default of 200 partitions would mean 200 tasks.
_LOCAL_SETTINGS: Final = {
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g",
}

# Errors in one line, without tracebacks: the caller gets an exception anyway.
_LOGGING: Final = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %p %c{{1}}: %m%n
appender.console.layout.alwaysWriteExceptions = {traces}
# Where its level is another than the root's, Spark says so in two lines.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
"""


@contextmanager
def open_session(
    master: str | None = None,
    name: str = "penstock",
    *,
    settings: Mapping[str, str] = _NO_SETTINGS,
    is_brief: bool = False,
) -> Iterator[SparkSession]:
    """Opens a session on `master`, any that Spark accepts; by default on this machine.

    `settings` are Spark's own. `is_brief` makes Java compile fast instead of optimising,
    which is better for work of less than a minute.
    """
    if master is not None and not _MASTER.match(master):
        raise UsageError(
            f"there is no master {master!r}: write local[*,4], spark://HOST:PORT, yarn or k8s://URL"
        )
    if (active := SparkSession.getActiveSession()) is not None:
        yield active
        return
    if "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None:
        # Another program, such as spark-submit, started this Java with its own settings.
        SparkContext._ensure_initialized()
        submitted = SparkConf()
        defaults = {key: value for key, value in _SETTINGS.items() if not submitted.contains(key)}
        with _stopped(_start(master, name, defaults | dict(settings))) as session:
            yield session
        return
    with TemporaryDirectory(prefix="penstock-spark-", ignore_cleanup_errors=True) as directory:
        java = find_java()
        archive = class_archive_of(java, Path(_find_spark_home()), pyspark.__version__)
        environment = _environment(master or DEFAULT_MASTER, java_home(java, Path(directory)))
        options = _java_options(Path(directory), archive, is_brief=is_brief)
        defaults = _SETTINGS | (_LOCAL_SETTINGS if _LOCAL.match(master or DEFAULT_MASTER) else {})
        merged = defaults | _directory_settings(Path(directory), options) | dict(settings)
        try:
            with _environment_of(environment), _uninterrupted():
                session = _start(master or DEFAULT_MASTER, name, merged)
            with _stopped(session):
                yield session
        finally:
            _end_java()
            if archive is not None:
                archive.install()


def _start(master: str | None, name: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise UsageError(_no_session(master, error)) from error


@contextmanager
def _stopped(session: SparkSession) -> Iterator[SparkSession]:
    try:
        yield session
    except KeyboardInterrupt:
        # Interrupted jobs would print long tracebacks.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        with suppress(Exception):
            session.sparkContext.setLogLevel("OFF")
        raise
    finally:
        # Java may be dead already.
        with suppress(Exception):
            session.stop()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Defers Ctrl-C until Java has started: otherwise Java would outlive this process.

    This also removes Spark's own SIGINT handler, which calls Java in the middle of a call.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        raise KeyboardInterrupt


def _no_session(master: str | None, error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The first line of a Java error says only that an exception was thrown.
    why = next((line for line in lines if "Exception: " in line), lines[0] if lines else "")
    return (
        f"Spark did not start on {master or 'its master'} ({why.rpartition('Exception: ')[2]}):"
        f" see whether it is there; {LOG_VARIABLE}=info shows what Spark says"
    )


def _environment(master: str, home: Path) -> dict[str, str]:
    variables = {"JAVA_HOME": str(home), "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1"}
    # Workers run the same Python as this process, unless the user sets another.
    variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if _ON_THIS_MACHINE.match(master):
        variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", LOOPBACK)
    return variables


@contextmanager
def _environment_of(changes: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _java_options(directory: Path, archive: ClassArchive | None, *, is_brief: bool) -> str:
    level = os.environ.get(LOG_VARIABLE, "error")
    logging = directory / "log4j2.properties"
    logging.write_text(_LOGGING.format(level=level, traces=str(LOG_VARIABLE in os.environ).lower()))
    options = [
        f"-Dlog4j2.configurationFile={logging.as_uri()}",
        f"-Djava.io.tmpdir={directory}",
        # Java would warn on standard output about an archive that it cannot use.
        *("-Xlog:disable", "-XX:-PrintWarnings"),
    ]
    # Spark generates methods for large plans that exceed Java's limit for compilation. When
    # compiled they need much code cache, and Java fails if that is full.
    options += ["-XX:-DontCompileHugeMethods", "-XX:ReservedCodeCacheSize=512m"]
    if is_brief:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    if archive is not None:
        options += archive.options
    return shlex.join(options)


def _directory_settings(directory: Path, java_options: str) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": java_options,
        "spark.local.dir": str(directory),
        "spark.sql.warehouse.dir": (directory / "warehouse").as_uri(),
    }


def _end_java() -> None:
    """Ends the Java that the session started, which would otherwise outlive its directory."""
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
