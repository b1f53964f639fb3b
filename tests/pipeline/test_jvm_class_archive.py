"""Archives of classes: made once, used then, and never a reason not to start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.pipeline.java import Java, find_java
from penstock.pipeline.jvm_class_archive import ClassArchive, class_archive_of

WHOLE = b"\xa8\xab\x0b\xf0 and the rest"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def archive(tmp_path: Path, said: str = "21", spark: str = "4.3.0") -> ClassArchive | None:
    """Of a Java that came with an archive of its own classes."""
    (tmp_path / "spark" / "jars").mkdir(parents=True, exist_ok=True)
    own = tmp_path / "java" / "lib" / "server" / "classes.jsa"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.touch()
    command = tmp_path / "java" / "bin" / "java"
    return class_archive_of(Java(command, 21, said), tmp_path / "spark", spark)


def made(tmp_path: Path, said: str = "21") -> Path:
    """One that Java has left, in its place."""
    new = archive(tmp_path, said)
    assert new is not None
    assert new.options == [f"-XX:ArchiveClassesAtExit={new.draft}"]
    new.draft.write_bytes(WHOLE)
    new.install()
    assert new.path is not None
    return new.path


def test_an_archive_is_made_first_and_used_then(tmp_path: Path) -> None:
    path = made(tmp_path)
    again = archive(tmp_path)
    assert again is not None
    assert again.options[0] == f"-XX:SharedArchiveFile={path}"


def test_one_that_java_did_not_finish_is_not_kept(tmp_path: Path) -> None:
    new = archive(tmp_path)
    assert new is not None
    new.draft.write_bytes(bytes(100))
    new.install()
    assert new.path is None
    assert os.listdir(new.stem.parent) == []


def test_one_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    path = made(tmp_path)
    os.truncate(path, 10)
    assert made(tmp_path) == path
    assert path.read_bytes() == WHOLE


def test_another_java_another_spark_or_other_jars_have_another_archive(tmp_path: Path) -> None:
    names = {archive(tmp_path), archive(tmp_path, said="25"), archive(tmp_path, spark="4.4.0")}
    os.utime(tmp_path / "spark" / "jars", (1, 1))
    names.add(archive(tmp_path))
    assert len(names) == 4
    assert None not in names


def test_those_not_used_for_longest_are_forgotten(tmp_path: Path) -> None:
    for number in range(8):
        path = made(tmp_path, said=str(number))
        os.utime(path, (number, number))
    assert len(list(path.parent.glob("spark-*.jsa"))) == 5


def test_what_a_killed_session_left_is_deleted(tmp_path: Path) -> None:
    path = made(tmp_path)
    left = path.with_name(".spark-0123456789abcdef.999999999")
    made_now = path.with_name(f".spark-0123456789abcdef.{os.getppid()}")
    left.touch()
    made_now.touch()
    made(tmp_path, said="another")
    assert not left.exists()
    assert made_now.exists()


def test_where_the_cache_cannot_be_written_to_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a directory")
    assert archive(tmp_path) is None


def test_a_spark_without_jars_has_none(tmp_path: Path) -> None:
    assert class_archive_of(Java(Path("java"), 21, ""), tmp_path / "none", "4.3.0") is None


def test_a_java_that_came_without_an_archive_of_its_own_classes_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    found = class_archive_of(find_java(), tmp_path / "spark", "4.3.0")
    assert found is not None
    assert found.base is not None
    assert found.base.stat().st_size > 1_000_000
    assert found.options[0] == f"-XX:SharedArchiveFile={found.base}"
    assert class_archive_of(find_java(), tmp_path / "spark", "4.3.0") == found
