"""`penstock lab`: what it prints, writes and answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.lab_tables import show, sparkline
from penstock.cli.main import app
from penstock.lab.result import Result as LabResult
from penstock.metrics.statistics import Estimate
from tests.experiment_files import TINY
from tests.lab.test_experiment_runner import EXPECTING


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.toml").write_text(TINY + EXPECTING)
    return tmp_path


def lab(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lab", *arguments])


def test_the_list_names_every_experiment() -> None:
    listed = lab("list")
    assert listed.exit_code == 0
    assert "M-3.1, M-3.2, M-3.8" in listed.output
    ids = lab("list", "--ids").output.split()
    documents = json.loads(lab("list", "--json").output)["experiments"]
    assert ids == [row["id"] for row in documents]


def test_json_is_one_object_of_the_documented_shape(place: Path) -> None:
    printed = lab("run", "t.toml", "--json", "--seed", "3")
    assert printed.exit_code == 0, printed.output
    result = json.loads(printed.output)
    assert set(result) == {"id", "profile", "seeds", "trace_hash", "variants", "expect"}
    assert (result["id"], result["profile"], result["seeds"]) == ("T-1", "quick", [3])
    assert result["variants"]["off"]["offered"] == {
        "mean": 20.0, "ci95": None, "unit": "messages",
    }  # fmt: skip
    (verdict,) = result["expect"]
    keys = {"metric", "variant", "op", "goal", "published", "value", "ci95", "ok"}
    assert keys <= set(verdict)
    assert verdict["published"] == 7
    assert (place / "out/lab/T-1/quick+seed-3/result.json").exists()


def test_people_get_a_figure_metrics_and_verdicts(place: Path) -> None:
    printed = lab("run", "t.toml", "--keep")
    assert printed.exit_code == 0, printed.output
    assert "sent █" in printed.output or "sent ▇" in printed.output
    assert "met\tdeliveries\toff\t>= 5" in printed.output
    assert list((place / "out/lab/T-1/quick/traces").glob("run=T-1.quick.off.1/*.parquet"))


def test_replays_and_changes_do_not_replace_the_result(place: Path) -> None:
    lab("run", "t.toml")
    before = (place / "out/lab/T-1/quick/result.json").read_bytes()
    changed = lab("run", "t.toml", "--seed", "3", "--set", "run.drain_s=1")
    assert "with run.drain_s=1" in changed.output
    assert (place / "out/lab/T-1/quick/result.json").read_bytes() == before
    assert (place / "out/lab/T-1/quick+seed-3+run.drain_s=1/result.json").exists()


def test_one_variant_alone_is_a_part_of_the_whole(place: Path) -> None:
    text = (place / "t.toml").read_text()
    (place / "t.toml").write_text(text + "\n[variants.off]\n[variants.slow]\nrun.drain_s = 2\n")
    alone = lab("run", "t.toml", "--variant", "slow", "--out", "a")
    assert alone.exit_code == 0, alone.output
    (part,) = json.loads((place / "a/result.json").read_text())["trace_hashes"].items()
    begun = {path: path.stat().st_mtime_ns for path in (place / "a/runs").rglob("*.*")}
    assert lab("run", "t.toml", "--resume", "--out", "a").exit_code == 0
    whole = json.loads((place / "a/result.json").read_text())["trace_hashes"]
    assert len(whole) == 2
    assert part in whole.items()
    assert all(path.stat().st_mtime_ns == at for path, at in begun.items())


def test_a_place_that_cannot_be_written_to_is_refused_at_once(place: Path) -> None:
    printed = lab("run", "t.toml", "--out", "t.toml")
    assert printed.exit_code == 2
    assert "cannot write into t.toml" in printed.output
    assert not (place / "out").exists()


def test_a_wide_interval_is_no_miss(place: Path) -> None:
    text = (place / "t.toml").read_text().replace("value = 5", "value = 8")
    (place / "t.toml").write_text(text.replace("all = 0.5", "all = 0.3"))
    printed = lab("run", "t.toml", "--seeds", "3", "--processes", "1")
    assert "unsure\tdeliveries" in printed.output
    assert "more seeds help" in printed.output


def test_a_metric_that_is_misspelt_is_guessed(place: Path) -> None:
    text = (place / "t.toml").read_text()
    (place / "t.toml").write_text(text.replace('metric = "deliveries"', 'metric = "deliverys"'))
    printed = lab("run", "t.toml")
    assert "reports 'deliverys': did you mean 'deliveries'?" in printed.output
    assert printed.exit_code == 2


def test_check_fails_when_an_expectation_does(place: Path) -> None:
    assert lab("run", "t.toml", "--check").exit_code == 0
    silent = ("--set", "clients.talker.publish.rate.rate=0.1", "--out", "silent")
    failed = lab("run", "t.toml", "--check", *silent)
    assert failed.exit_code == 1
    assert "MISSED\tdeliveries" in failed.output
    assert lab("run", "t.toml", *silent).exit_code == 0


def test_a_kept_trace_tells_the_life_of_a_message(place: Path) -> None:
    lab("run", "t.toml", "--keep", "--set", "record.hops=true")
    told = CliRunner().invoke(app, ["why", "out/lab/T-1/quick+record.hops=true", "talker-1:3"])
    assert told.exit_code == 0, told.output
    assert "published" in told.output
    assert "took it from a client" in told.output
    assert "verdict" in told.output


def test_two_results_are_compared(place: Path) -> None:
    lab("run", "t.toml", "--out", "a")
    lab("run", "t.toml", "--out", "b", "--set", "clients.talker.publish.rate.rate=20")
    same = lab("diff", "a", "a")
    assert "the same traces" in same.output
    assert "no metric differs" in same.output
    other = lab("diff", "a", "b/result.json")
    assert "off.clients.talker.publish.rate.rate: 10.0 -> 20.0" in other.output
    assert "off\toffered\t20 messages\t40 messages\t+100.0%\tnot known" in other.output
    tree = json.loads(lab("diff", "a", "b", "--json").output)
    assert tree["same_traces"] is False
    assert {row["metric"] for row in tree["metrics"]} >= {"offered", "deliveries"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "t.toml", "--seeds", "0"), "--seeds must be 1 or more"),
        (("run", "t.toml", "--seeds", "2", "--seed", "1"), "write one of them"),
        (("run", "t.toml", "--profile", "huge"), "choose from quick, paper"),
        (("run", "M-99"), "there is no experiment 'M-99'"),
        (("run", "t.toml", "--set", "nothing"), "key=value"),
        (("run", "t.toml", "--variant", "on"), "T-1 has no variant 'on'; there are off"),
        (("diff", "a", "b"), "cannot read a"),
    ],
)
def test_wrong_use_is_one_line_that_says_what_to_do(
    place: Path, arguments: tuple[str, ...], says: str
) -> None:
    del place
    printed = lab(*arguments)
    assert printed.exit_code == 2
    assert says in printed.output
    assert printed.output.count("\n") == 1


def test_a_curve_is_drawn_from_nothing_to_its_highest() -> None:
    assert sparkline([0, 1, 2, 4]) == "▁▃▅█"
    assert len(sparkline(list(range(1000)))) == 60
    assert sparkline([0.0, 0.0]) == "▁▁"


def test_many_variants_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    result = LabResult(
        id="X",
        profile="quick",
        seeds=[1],
        trace_hash="",
        variants={
            f"v{i}": {"one": Estimate(float(i), None), "two": Estimate(0.5, None)}
            for i in range(20)
        },
        expect=[],
    )
    show(result, "many", [])
    lines = capsys.readouterr().out.splitlines()
    assert "variant\tone\ttwo" in lines
    assert "v19\t19\t0.5" in lines
