"""The demonstration, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import app


def test_the_demonstration_shows_what_each_part_does_and_all_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.getActiveSession() is not None
    result = CliRunner().invoke(
        app, ["demo", "--profile", "quick", "--out", str(tmp_path), "--json"]
    )
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    variants = shown["variants"]
    assert list(variants) == ["off", "order", "recovery", "control", "all"]
    off, all_ = variants["off"], variants["all"]
    assert variants["order"]["violations"] < 0.1 * off["violations"]
    assert variants["recovery"]["repaired"] > 0
    assert variants["control"]["lost.queue_full"] < 0.5 * off["lost.queue_full"]
    assert all_["false_negatives"] < 0.1 * off["false_negatives"]
    # What an application got counts, not what the network brought.
    assert all_["deliveries"] + all_["false_negatives"] == all_["expected"]
    page = Path(shown["report"]).read_text()
    assert "<svg" in page or "data:image" in page
    assert (tmp_path / "gold" / "summary").is_dir()
