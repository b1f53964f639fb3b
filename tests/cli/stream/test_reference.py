"""The reference of streams has every command and option, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from penstock.cli.stream import app

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs" / "reference" / "streams.md").read_text(encoding="utf-8")
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# Of all commands, and so in a table of their own.
SHARED = {"--broker", "--timeout", "--json", "--yes", "--help"}


def section(name: str) -> str:
    found = re.search(
        rf"^### `penstock stream {name}\b.*?(?=^##)", REFERENCE, re.DOTALL | re.MULTILINE
    )
    assert found, f"no section on {name}"
    return found[0]


def options_of(command: Any) -> set[str]:
    return {
        option for parameter in command.params for option in parameter.opts if option[:2] == "--"
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_described_and_every_one_described_is_there(name: str) -> None:
    described = set(re.findall(r"^\| `(--[a-z-]+)", section(name), re.MULTILINE))
    assert described == options_of(COMMANDS[name]) - SHARED


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_are_those_of_the_commands(name: str) -> None:
    defaults = {
        parameter.opts[0]: parameter.default
        for parameter in COMMANDS[name].params
        if isinstance(parameter.default, str | int) and not isinstance(parameter.default, bool)
    }
    rows = re.findall(r"^\| `(--[a-z-]+)[^|]*(?:\\\|[^|]*)*\|.*\| ([^|]*) \|$", section(name), re.M)
    said = {option: text.strip("`") for option, text in rows}
    for option, default in defaults.items():
        if option in said and default != "":
            assert said[option] == str(default), option


def test_no_other_command_is_described() -> None:
    assert re.findall(r"^### `penstock stream ([a-z]+)", REFERENCE, re.MULTILINE) == [*COMMANDS]


def test_every_option_of_the_guide_is_there() -> None:
    guide = (ROOT / "docs" / "guide" / "streams.md").read_text(encoding="utf-8")
    everything = {option for command in COMMANDS.values() for option in options_of(command)}
    for line in re.findall(r"^penstock stream .*$", guide, re.MULTILINE):
        name = line.split()[2]
        assert set(re.findall(r" (--[a-z-]+)", line)) <= options_of(COMMANDS[name]), line
    assert set(re.findall(r"`(--[a-z-]+)", guide)) <= everything
