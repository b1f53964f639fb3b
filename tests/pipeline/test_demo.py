"""The demonstration, from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import app

pytestmark = pytest.mark.xdist_group("spark")


def test_the_demonstration_shows_that_order_is_restored(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.getActiveSession() is not None
    result = CliRunner().invoke(
        app, ["demo", "--profile", "quick", "--out", str(tmp_path), "--json"]
    )
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    orderings = shown["orderings"]
    assert list(orderings) == ["off", "constant", "literal", "default"]
    assert orderings["default"]["violations"] < 0.01 * orderings["off"]["violations"]
    assert orderings["default"]["extra_delay_mean"] < orderings["constant"]["extra_delay_mean"]
    page = Path(shown["report"]).read_text()
    assert "<svg" in page or "data:image" in page
    assert (tmp_path / "gold" / "summary").is_dir()
