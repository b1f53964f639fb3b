"""`penstock effairness` as its user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app

PAGE = Path(__file__).parents[2].joinpath("docs", "effairness.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


PAPER: dict[str, Any] = json.loads(block("json"))


def penstock(*arguments: str | Path, text: str | None = None) -> Result:
    called = ["effairness", *map(str, arguments)]
    return CliRunner().invoke(app, called, prog_name="penstock", input=text)


def told(*arguments: str | Path, text: str | None = None) -> str:
    result = penstock(*arguments, text=text)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def complaint(*arguments: str | Path, text: str | None = None) -> str:
    result = penstock(*arguments, text=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("penstock: ").rstrip()


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "network.json"
    path.write_text(block("json"), encoding="utf-8")
    return path


def test_the_document_shows_what_is_printed(paper: Path) -> None:
    shown = block("text").splitlines()
    assert shown[0] == "$ penstock effairness network.json --plot rates.svg"
    printed = [line.split("\t") for line in told(paper).splitlines()]
    assert [re.split(r" {2,}", line) for line in shown[1:]] == printed


def test_json_is_one_object_of_the_documented_shape(paper: Path) -> None:
    printed = told(paper, "--json")
    assert printed.count("\n") == 1
    answer = json.loads(printed)
    assert list(answer) == ["receivers", "sessions", "network", "rates"]
    assert answer["receivers"]["z"] == {"finish": 717, "effairness": pytest.approx(598 / 606)}
    assert answer["sessions"] == pytest.approx({"nu": 0.986799, "mu": 0.857059}, abs=5e-7)
    assert answer["network"] == pytest.approx(0.921929, abs=5e-7)
    assert answer["rates"] == {
        "z": [[119, 1], [415, 2], [717, 0]],
        "x": [[3, 1], [503, 0]],
        "w": [[16, 2], [118, 1], [414, 0]],
    }


def test_a_table_and_standard_input_say_the_same(paper: Path, tmp_path: Path) -> None:
    table = tmp_path / "network.csv"
    table.write_text(block("csv"), encoding="utf-8")
    printed = told(paper)
    assert told(table) == printed
    assert told("-", text=block("csv")) == printed
    assert told("-", text=block("json")) == printed


def test_the_ideal_can_be_chosen(paper: Path) -> None:
    assert told(paper, "--allocation", "proportional").startswith(
        "effairness of the network: 0.922 (proportional)\n"
    )
    assert complaint(paper, "--allocation", "best") == (
        "there is no allocation 'best': choose from maxmin, proportional"
    )


def test_only_the_worst_of_many_are_shown() -> None:
    crowd = [
        {"id": f"r{i}", "host": "b", "join": 0, "leave": 100 + i, "data": 1} for i in range(40)
    ]
    sessions = [{"id": "s", "sender": {"host": "a"}, "receivers": crowd}]
    document = {"links": [{"from": "a", "to": "b", "capacity": 1}], "sessions": sessions}
    lines = told("-", text=json.dumps(document)).splitlines()
    at = lines.index("receiver\tsession\tjoin\tleave\tideal finish\teffairness")
    assert lines[at + 1].startswith("r39\ts\t0\t139\t1\t")
    assert lines[at + 31] == "(30 of 40 are shown, the worst first; --json has all)"


def test_rates_that_are_not_kept_are_said_to_be_left_out(
    paper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.fairness.effair.CHANGES_MAX", 3)
    result = penstock(paper, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rates"] is None
    assert result.stderr == "penstock: rates changed too often to be listed: left out\n"
    assert "ideal rate" in told(paper)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "standard input: neither JSON nor CSV: a CSV file begins with a line of names"),
        ("{", "standard input: not JSON: column 2"),
        ('{"links": [NaN]}', "standard input: JSON has no NaN"),
        ('{"links": [], "links": []}', "standard input: the name 'links' appears twice"),
        ('{"links": [], "sessions": []}', "standard input: there are no sessions to judge"),
        ("[1]", "standard input: the network is an object with links, sessions"),
        ("a,b\n1,2\n", "standard input: neither JSON nor CSV"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(text: str, said: str) -> None:
    assert complaint("-", text=text).startswith(said)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    assert complaint(missing) == f"cannot read '{missing}': No such file or directory"
    odd = tmp_path / "odd.json"
    odd.write_bytes(b"\xff\xfe")
    assert complaint(odd) == f"{odd} is not UTF-8 at byte 1"


def test_cycles_and_the_unreachable_are_named() -> None:
    ring = [{"from": a, "to": b} for a, b in ("ab", "bd", "ac", "cd")]
    two_ways = json.dumps({**PAPER, "links": [*PAPER["links"], *ring]})
    other = {**PAPER, "links": PAPER["links"][:1]}
    assert "receiver 'z' of session 'nu' cannot be reached" in complaint(
        "-", text=json.dumps(other)
    )
    assert told("-", text=two_ways) == told("-", text=json.dumps(PAPER))
    lost = two_ways.replace('"host": "g"', '"host": "d"').replace('"host": "h"', '"host": "a"')
    lost = lost.replace('"host": "p"', '"host": "b"')
    assert "the links form a cycle: two ways lead from a to d" in complaint("-", text=lost)


# Drawings


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_rates_are_drawn(suffix: str, magic: bytes, paper: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = tmp_path / f"rates.{suffix}"
    assert told(paper, "--plot", drawn).endswith(f"\n{drawn}\n")
    assert drawn.read_bytes().startswith(magic)


def test_json_and_a_drawing_go_together(paper: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = tmp_path / "rates.svg"
    assert told(paper, "--json", "--plot", drawn) == told(paper, "--json")
    assert "z: effairness 0.987" in drawn.read_text(encoding="utf-8")


def test_who_needs_no_time_has_an_empty_strip(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    here = {"id": "r", "host": "a", "join": 5, "leave": 5, "data": 1}
    document = {
        "links": [],
        "sessions": [{"id": "s", "sender": {"host": "a"}, "receivers": [here]}],
    }
    drawn = tmp_path / "rates.svg"
    told("-", "--plot", drawn, text=json.dumps(document))
    assert drawn.exists()


def test_a_drawing_of_another_kind_is_refused_before_the_work(tmp_path: Path) -> None:
    assert complaint("no such file", "--plot", tmp_path / "rates.gif") == (
        "--plot writes .png, .pdf, .svg: name the file so, not 'rates.gif'"
    )


def test_without_matplotlib_one_line_says_what_to_install(
    paper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert complaint(paper, "--plot", "rates.svg") == (
        "--plot needs matplotlib: pip install matplotlib"
    )
