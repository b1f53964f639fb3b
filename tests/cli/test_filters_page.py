"""docs/filters.md says what is so: its filters parse, its code runs, its output is real."""

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

PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "line", [line for block in blocks("filter") for line in block.splitlines()]
)
def test_a_filter_of_the_page_is_read(line: str) -> None:
    parse(line)


def test_the_json_of_the_page_is_read() -> None:
    (form,) = blocks("json")
    assert len(from_json(load_json(form)).filters) == 2


def test_the_python_of_the_page_runs() -> None:
    (code,) = blocks("python")
    exec(code, {})


def test_the_console_of_the_page_is_real() -> None:
    (shown,) = blocks("console")
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
