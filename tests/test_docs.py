"""The documents say what is so: filters parse, code runs, output is real, paths and links exist."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.inputs import load_json
from penstock.cli.main import app
from penstock.content.syntax import from_json, parse

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def every(language: str) -> list[str]:
    found = [block for page in PAGES for block in blocks(page, language)]
    assert found, f"no document has a block of {language}"
    return found


@pytest.mark.parametrize("line", [line for block in every("filter") for line in block.splitlines()])
def test_a_filter_is_read(line: str) -> None:
    assert parse(line)


@pytest.mark.parametrize("form", blocks(ROOT / "docs" / "filters.md", "json"))
def test_the_json_form_is_read(form: str) -> None:
    assert len(from_json(load_json(form)).filters) == 2


@pytest.mark.parametrize("code", every("python"))
def test_a_program_runs_and_prints_what_it_says(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(code, {})
    said = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("shown", every("console"))
def test_what_a_console_shows_is_real(shown: str) -> None:
    printed = ""
    for line in shown.splitlines():
        if line.startswith("$ "):
            printed += f"{line}\n{output_of(line.removeprefix('$ '))}"
    assert printed == shown


def output_of(command: str) -> str:
    *producer, consumer = command.split(" | ")
    piped = None
    if producer:
        piped = subprocess.run(producer[0], shell=True, check=True, capture_output=True).stdout
    program, *arguments = shlex.split(consumer)
    assert program == "penstock"
    return CliRunner().invoke(app, arguments, input=piped, prog_name=program).output


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


def test_every_path_of_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|bench)/[^`]*)`", text)
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_room_stands_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = [room.parent.name for room in ROOT.glob("src/penstock/*/__init__.py")]
    assert [room for room in rooms if f"`src/penstock/{room}/`" not in text] == []
