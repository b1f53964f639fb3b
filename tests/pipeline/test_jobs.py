"""Jobs write gold tables, all or none, and readers need no Spark for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.kernel.errors import UsageError
from penstock.metrics.statistics import estimate
from penstock.pipeline.gold import GOLD
from penstock.pipeline.gold_files import (
    SCHEMAS,
    check_output_directory,
    read_gold,
    unfinished_directory,
)
from penstock.pipeline.ingest import find_runs
from penstock.pipeline.jobs import PipelineJob, run_pipeline
from penstock.pipeline.summary import half_width_factor
from penstock.pipeline.wide_table import WIDE
from penstock.trace.fates import ReceiverFate
from penstock.trace.records import Delivery
from tests.metrics.brute.traces import Trace, run_of

METRICS = ("fifo_order", "delays")


def delivered(seed: int, *seqs: int) -> Trace:
    rows = [
        Delivery("default", "s-1", "p-1", 0, seq, 0, at, at, None, ReceiverFate.DELIVERED)
        for at, seq in enumerate(seqs)
    ]
    return Trace(run_of("{}", 10**9, seed), {"deliveries": [*rows]})


def test_gold_tables_hold_figures_of_runs_and_their_means_over_seeds(
    spark: SparkSession, tmp_path: Path
) -> None:
    for seed, seqs in enumerate([(1, 2, 3), (2, 1, 3), (3, 2, 1)]):
        delivered(seed, *seqs).write(tmp_path, f"jobs.{seed}")
    out = tmp_path / "gold"
    # What was there before is replaced.
    (out / "figures").mkdir(parents=True)
    job = PipelineJob(runs=find_runs([tmp_path]).runs, out=out, metrics=METRICS)
    done = run_pipeline(spark, job)
    gold = read_gold(out)
    assert {name: table.num_rows for name, table in gold.items()} == done.rows
    assert not unfinished_directory(out).exists()
    figures = gold["figures"].to_pylist()
    late = {row["run"]: row["value"] for row in figures if row["metric"] == "violations"}
    assert late == {"jobs.0": 0, "jobs.1": 1, "jobs.2": 2}
    [row] = [row for row in gold["summary"].to_pylist() if row["metric"] == "violations"]
    expected = estimate([0.0, 1.0, 2.0])
    assert expected.ci95 is not None
    assert (row["experiment"], row["ordering"], row["seeds"]) == ("random", "default", 3)
    assert (row["mean"], row["ci95"]) == pytest.approx((1, expected.ci95[1] - expected.mean))
    [only] = {row["metric"] for row in read_gold(out, metrics=["delay"])["histograms"].to_pylist()}
    assert only == "delay"


def test_a_run_that_cannot_be_measured_is_named_and_nothing_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    delivered(1, 1 << 33).write(tmp_path, "jobs.bad")
    out = tmp_path / "gold"
    with pytest.raises(UsageError, match=r"run jobs\.bad: deliveries has a seq"):
        run_pipeline(spark, PipelineJob(runs=find_runs([tmp_path]).runs, out=out, metrics=METRICS))
    assert not out.exists()


def test_arrow_and_spark_agree_on_the_gold_tables() -> None:
    for name, schema in GOLD.items():
        assert {*schema.names} == {*SCHEMAS[name].names}
    assert {name for columns in SCHEMAS.values() for name in columns.names} >= {*WIDE.names[1:]}


@pytest.mark.parametrize("seeds", [2, 3, 10])
def test_intervals_are_those_of_results(seeds: int) -> None:
    values = [float(value * value) for value in range(seeds)]
    found = estimate(values)
    assert found.ci95 is not None
    spread = (sum((v - found.mean) ** 2 for v in values) / (seeds - 1)) ** 0.5
    assert half_width_factor(seeds) * spread == pytest.approx(found.ci95[1] - found.mean)


def test_what_is_no_gold_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no table figures: let 'penstock pipeline'"):
        read_gold(tmp_path)


def test_reading_gold_and_measuring_need_no_spark() -> None:
    modules = "penstock.pipeline.gold_files, penstock.tracefile.measure"
    code = f"import sys, {modules}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["run=x", "thesis.txt"])
def test_only_gold_tables_are_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / "figures").mkdir()
    assert check_output_directory(tmp_path) == tmp_path
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match=f"holds {name}, which is no gold table"):
        check_output_directory(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        check_output_directory(tmp_path / name)
    assert check_output_directory(tmp_path / "new") == tmp_path / "new"
