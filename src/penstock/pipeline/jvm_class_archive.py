"""Class data sharing archives, which cut Spark's start to a third of the time.

Java can store loaded classes in a dynamic archive on top of a base archive of its own
classes. The first session has Java write one on exit; later sessions use it. Archives
are in the user's cache directory; if that is not writable, none are used.
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

# The first bytes of a complete archive: base or dynamic. Java writes the header last, so a
# partial archive has zeros there.
_MAGICS: Final = (b"\xa2\xab\x0b\xf0", b"\xa8\xab\x0b\xf0")
# An archive takes 160 MB; one per combination of Java and Spark in use is enough.
_ARCHIVES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """An archive that exists or that Java will write; `base` is set if we made the base archive.

    Its size is part of its name, because Java crashes on a truncated archive.
    """

    stem: Path
    base: Path | None = None

    @property
    def path(self) -> Path | None:
        """The path of the archive; None if it does not exist or is not complete."""
        every = self.stem.parent.glob(f"{self.stem.name}.*.jsa")
        return next((path for path in every if _is_whole(path)), None)

    @property
    def draft(self) -> Path:
        """Where Java writes a new archive."""
        return self.stem.with_name(f".{self.stem.name}.{os.getpid()}")

    @property
    def options(self) -> list[str]:
        """Java options that use the archive, or write it on exit."""
        if (found := self.path) is not None:
            # With verified checksums, Java ignores a damaged archive instead of crashing.
            return [f"-XX:SharedArchiveFile={found}", "-XX:+VerifySharedSpaces"]
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        return [*base, f"-XX:ArchiveClassesAtExit={self.draft}"]

    def install(self) -> None:
        """After Java has ended, moves a complete draft into place and deletes a partial one."""
        with suppress(OSError):
            if _is_finished(self.draft):
                for replaced in self.stem.parent.glob(f"{self.stem.name}.*.jsa"):
                    replaced.unlink(missing_ok=True)
                size_bytes = self.draft.stat().st_size
                self.draft.replace(self.stem.with_name(f"{self.stem.name}.{size_bytes}.jsa"))
                _remove_old(self.stem)
            self.draft.unlink(missing_ok=True)


def class_archive_of(java: Java, spark_home: Path, spark_version: str) -> ClassArchive | None:
    """The archive for this Java and Spark; None if there is none and none can be written."""
    jars = spark_home / "jars"
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        base = _base(java)
        # Java silently ignores an archive made for other jars or another base, so both are part
        # of the name.
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
    """Makes the base archive if Java lacks one; None if Java has its own."""
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
    # Drafts of killed sessions.
    for draft in newest.parent.glob(f".{kind}-*"):
        if not Path("/proc", draft.suffix.removeprefix(".")).exists():
            draft.unlink(missing_ok=True)
