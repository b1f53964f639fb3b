"""What docs/lab.md shows is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.experiment_files import find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.lab.metrics import LAB_METRICS

PAGE = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")
_BLOCKS = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILE, TCP, ORDERINGS, STREAMS, CASTS = _BLOCKS


def test_the_file_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE)
    result = run_experiment(
        find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan(processes=1)
    )
    assert list(result.variants) == ["off", "busy"]
    assert result.ok


def test_orderings_are_added_as_shown(tmp_path: Path) -> None:
    text = FILE.replace('"links"]', '"detection"]') + ORDERINGS
    (tmp_path / "mine.toml").write_text(text)
    names = ["off.off", "off.CST-30", "off.default"]
    result = run_experiment(
        find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan(processes=1, variants=names)
    )
    assert list(result.variants) == ["off", *names]
    off, constant, default = (result.variants[name]["extra_delay_mean"].mean for name in names)
    assert 0 == off < default < constant


def test_a_connection_is_added_as_shown(tmp_path: Path) -> None:
    text = FILE.replace('"links"]', '"tcp_sharing"]') + TCP
    (tmp_path / "mine.toml").write_text(text)
    result = run_experiment(
        find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan(processes=1, variants=["off"])
    )
    assert result.variants["off"]["tcp_kbps.beside.early"].mean > 100


def test_the_file_of_streams_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STREAMS)
    result = run_experiment(
        find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan(processes=1)
    )
    assert result.ok
    assert result.variants["off"]["reading_rate.SB1.cut"].mean == 0


def test_the_file_of_casts_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CASTS)
    plan = ExperimentPlan(processes=1, seeds=[1])
    result = run_experiment(find_experiment(str(tmp_path / "mine.toml")), plan)
    assert result.ok
    literal, default = (result.variants[name] for name in ("literal", "default"))
    assert literal["repairs_of_unicast"].mean > 1 > default["repairs_of_unicast"].mean


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        (FILE.replace("delay_ms", "dealy_ms"), "network.link.dealy_ms is no key"),
        (FILE.replace('"deliveries"', '"deliverys"'), "no metric of measure.metrics reports"),
    ],
)
def test_a_mistake_in_it_gets_the_error_shown(mistake: str, text: str, tmp_path: Path) -> None:
    (shown,) = re.findall(rf"^penstock: mine\.toml(:\d+: {text}.*?)(?: …)?$", PAGE, re.MULTILINE)
    (tmp_path / "mine.toml").write_text(mistake)
    with pytest.raises(UsageError) as failure:
        run_experiment(find_experiment(str(tmp_path / "mine.toml")), ExperimentPlan(processes=1))
    assert str(failure.value).startswith(f"{tmp_path}/mine.toml{shown}")


def test_every_metric_is_in_the_table() -> None:
    table = PAGE.split("| to know | name |")[1].split("\n\n")[0]
    named = re.findall(r"`(\w+)`", table)
    missing = sorted({*LAB_METRICS} ^ {*named})
    assert not missing, f"name these in the table 'Choose metrics' of docs/lab.md: {missing}"
