"""Has Spark start in a third of the time: most of it is loading classes.

Java can keep classes loaded in an archive, on top of one of its own classes. The
first session has Java leave one when it ends; the next ones use it. Archives lie in
the user's cache directory; where that cannot be written to, there are none.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from penstock.pipeline.java import TIMEOUT_S, Java, cache_directory

# What a finished archive begins with: one of Java's own classes, or one on top of that. Java
# writes the head last: half an archive has zeros there.
_MAGICS: Final = (b"\xa2\xab\x0b\xf0", b"\xa8\xab\x0b\xf0")
# An archive takes 160 MB: one for each of the Javas and Sparks in use is enough.
_ARCHIVES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """An archive that is there, or that Java is to leave; `base` is where Java came without one.

    Its size is part of its name: Java crashes on one that was cut short.
    """

    stem: Path
    base: Path | None = None

    @property
    def path(self) -> Path | None:
        """Where it is, if it is, and is whole."""
        every = self.stem.parent.glob(f"{self.stem.name}.*.jsa")
        return next((path for path in every if _is_whole(path)), None)

    @property
    def draft(self) -> Path:
        """Where Java is to leave it."""
        return self.stem.with_name(f".{self.stem.name}.{os.getpid()}")

    @property
    def options(self) -> list[str]:
        """For Java: use the archive, or make it."""
        if (found := self.path) is not None:
            # Its checksums are verified: Java does without a damaged one, instead of crashing.
            return [f"-XX:SharedArchiveFile={found}", "-XX:+VerifySharedSpaces"]
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        return [*base, f"-XX:ArchiveClassesAtExit={self.draft}"]

    def install(self) -> None:
        """Once Java has ended: puts what it made in place, unless it is only half of one."""
        with suppress(OSError):
            if _is_finished(self.draft):
                for worse in self.stem.parent.glob(f"{self.stem.name}.*.jsa"):
                    worse.unlink(missing_ok=True)
                size_bytes = self.draft.stat().st_size
                self.draft.replace(self.stem.with_name(f"{self.stem.name}.{size_bytes}.jsa"))
                _remove_old(self.stem)
            self.draft.unlink(missing_ok=True)


def class_archive_of(java: Java, spark_home: Path, spark_version: str) -> ClassArchive | None:
    """The archive for this Java and this Spark; None where there can be none."""
    jars = spark_home / "jars"
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        base = _base(java)
        # Java does without an archive of other jars, or on top of another one, silently and for
        # ever: a new name for those.
        stamps = [path.stat().st_mtime_ns for path in (jars, base) if path is not None]
        archive = ClassArchive(
            _stem("spark", f"{java.version_text}\n{spark_version}\n{jars}\n{stamps}"), base
        )
    except (OSError, RuntimeError, subprocess.SubprocessError):  # RuntimeError: there is no home
        return None
    if (found := archive.path) is not None:
        with suppress(OSError):
            os.utime(found)
        return archive
    return archive if os.access(archive.stem.parent, os.W_OK) else None


def _base(java: Java) -> Path | None:
    """Makes what Java should have come with; None where it did."""
    home = java.command.resolve().parents[1]
    if any(home.glob("lib/server/classes*.jsa")):
        return None
    archive = ClassArchive(_stem("java", f"{java.command}\n{java.version_text}"))
    if archive.path is None:
        command = [str(java.command), "-Xshare:dump", f"-XX:SharedArchiveFile={archive.draft}"]
        subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT_S)
        archive.install()
    return archive.path


def _stem(kind: str, identity: str) -> Path:
    return cache_directory() / f"{kind}-{sha256(identity.encode()).hexdigest()[:16]}"


def _is_whole(archive: Path) -> bool:
    try:
        return archive.name.endswith(f".{archive.stat().st_size}.jsa") and _is_finished(archive)
    except OSError:
        return False


def _is_finished(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return file.read(4) in _MAGICS
    except OSError:
        return False


def _remove_old(newest: Path) -> None:
    kind = newest.name.partition("-")[0]
    archives = sorted(newest.parent.glob(f"{kind}-*.jsa"), key=lambda path: path.stat().st_mtime)
    for old in archives[:-_ARCHIVES_MAX]:
        old.unlink(missing_ok=True)
    # Of a session that was killed nobody keeps what its Java left.
    for draft in newest.parent.glob(f".{kind}-*"):
        if not Path("/proc", draft.suffix.removeprefix(".")).exists():
            draft.unlink(missing_ok=True)
