"""`penstock report`: where pages go, and what is said when there can be none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.lab.result import Result as LabResult
from tests.report.made_up import plain


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Drawing is tested elsewhere, and takes long.
    monkeypatch.setattr("penstock.report.page.figures_of", lambda _facts: [])
    monkeypatch.setattr("penstock.report.page.sweep_figures", lambda _sweep: [])
    return tmp_path


def report(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["report", *arguments])


def write(directory: Path, result: LabResult) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "result.json").write_bytes(msgspec.json.encode(result))


def swept(loss: float) -> LabResult:
    return plain(["off"], parameters={"off": {"title": "noise", "link": {"loss": loss}}})


def test_a_page_goes_beside_its_result(place: Path) -> None:
    write(place / "a", plain(["off"]))
    printed = report("a")
    assert (printed.exit_code, printed.output) == (0, "a/report.html\n")
    assert "<h1>mine: something else</h1>" in (place / "a/report.html").read_text()


def test_out_is_where_it_is_told_to_go(place: Path) -> None:
    write(place / "a", plain(["off"]))
    printed = report("a/result.json", "--out", "b/c", "--json")
    assert json.loads(printed.output) == {"pages": ["b/c/report.html"]}
    assert (place / "b/c/report.html").exists()
    assert not (place / "a/report.html").exists()


def test_results_that_differ_in_a_parameter_share_a_page(place: Path) -> None:
    for loss in (0.1, 0.01):
        write(place / "sweep" / str(loss), swept(loss))
    printed = report("sweep")
    assert printed.output == "sweep/report.html\n"
    assert "<h1>mine by link.loss</h1>" in (place / printed.output.strip()).read_text()
    printed = report("sweep/0.1", "sweep/0.01")
    assert printed.output == "out/report/mine-quick/report.html\n"


def test_what_sweep_wrote_is_read_point_by_point(place: Path) -> None:
    """And not the points of a sweep that was there before."""
    for loss in (0.1, 0.01, 0.5):
        write(place / "a/points" / str(loss), swept(loss))
    points = [{"file": f"points/{loss}/result.json"} for loss in (0.1, 0.01)]
    (place / "a/sweep.json").write_text(json.dumps({"points": [*points, {"file": ""}]}))
    (place / "a/traces/run=x").mkdir(parents=True)
    assert report("a").output == "a/report.html\n"
    page = (place / "a/report.html").read_text()
    assert "<h1>mine by link.loss</h1>" in page
    assert "0.01" in page
    assert "0.5" not in page


def test_results_of_several_experiments_have_a_page_each(place: Path) -> None:
    write(place / "a", plain(["off"]))
    write(place / "b", plain(["off"], id="../other"))
    printed = report("a", "b", "--out", "pages")
    assert printed.output.split() == [
        "pages/mine-quick/report.html",
        "pages/-other-quick/report.html",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "x has no result.json, no gold/ and no traces"),
        ("{", "x/result.json is no result of 'penstock lab run'"),
        ('{"id": 1}', "x/result.json is no result of 'penstock lab run'"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(
    place: Path, content: str | None, said: str
) -> None:
    (place / "x").mkdir()
    if content is not None:
        (place / "x/result.json").write_text(content)
    refused = report("x")
    assert refused.exit_code == 2
    assert said in refused.output
    assert len(refused.output.splitlines()) == 1


def test_a_result_of_another_version_is_refused(place: Path) -> None:
    write(place / "x", plain(["off"], code_version="7.2.1"))
    refused = report("x")
    assert refused.exit_code == 2
    assert "was made by penstock 7.2.1 and this is" in refused.output


def test_what_is_not_there_is_refused(place: Path) -> None:
    refused = report("nowhere")
    assert (refused.exit_code, refused.output) == (
        2, "penstock: there is no nowhere: name a directory that 'penstock lab run' wrote\n",
    )  # fmt: skip


def test_a_result_without_figures_is_refused(place: Path) -> None:
    write(place / "x", plain([]))
    refused = report("x")
    assert refused.exit_code == 2
    assert "has no figures" in refused.output


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "x", plain(["off"]))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = report(str(tmp_path / "x"))
    assert refused.exit_code == 2
    assert "pip install 'penstock[spark]'" in refused.output
    assert len(refused.output.splitlines()) == 1
