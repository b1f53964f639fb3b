"""Gold tables and results tell the same: so do their pages."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.result import Result
from penstock.report.gold import report_data_of_gold
from penstock.report.page import report_of
from penstock.report.report_data import ReportData
from penstock.report.result_directories import ResultDirectory
from penstock.report.sources import report_data_of
from tests.report.made_up import findings_of, made_up

SEEDS = (1, 2)


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_gold(tmp_path / "gold", made_up("M-3.15", seeds=SEEDS))


def write_gold(gold: Path, result: Result) -> Path:
    """What the pipeline would have made of the runs of a made-up result of one variant."""
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("figures", "pairs", "seconds", "histograms", "summary")
    }
    for name, seeds in sorted(findings_of(result.id, result.seeds).items()):
        for seed, found in zip(result.seeds, seeds, strict=True):
            # Rows of the ordering "off" are told apart from the network's, whose name it shares.
            key = {
                "run": f"{result.id}.quick.off.{seed}",
                "ordering": "" if name == "off" else name,
            }
            for metric, (value, unit) in found.figures.items():
                rows["figures"].append(key | {"metric": metric, "value": value, "unit": unit})
            for metric, values in found.series.items():
                for second, value in reversed(list(enumerate(values))):
                    row = {"metric": metric, "second": second, "value": value}
                    rows["seconds"].append(key | row)
            for values in found.quantiles.values():
                for place, value in enumerate(values):
                    pair = {"subscriber": f"s{place}", "publisher": "p"}
                    row = {"metric": "extra_delay_mean", "value": value}
                    rows["pairs"].append(key | pair | row)
            row = {"metric": "delay", "bin": 500 + seed, "count": 7}
            rows["histograms"] += [key | row, key | row | {"bin": -1}]
    rows["summary"].append(
        {
            "experiment": result.id,
            "profile": "quick",
            "variant": "off",
            "ordering": "",
            "parameters": json.dumps(result.parameters["off"]),
            "metric": "offered",
            "unit": "",
            "seeds": len(result.seeds),
            "mean": 1.0,
            "ci95": None,
        }
    )
    for name, its in rows.items():
        (gold / name).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(its), gold / name / "part-0.parquet")
    return gold


def test_the_same_runs_have_the_same_page(gold: Path) -> None:
    result = made_up("M-3.15", seeds=SEEDS)
    (facts,) = report_data_of_gold(gold)
    assert facts.result.variants == result.variants
    assert facts.names == list(result.variants), "in the order of the file"
    assert facts.result.expect == result.expect
    assert facts.result.series == result.series
    pairs = "extra_delay_pairs_ms"
    assert facts.distribution("literal", pairs) == pytest.approx(
        ReportData(result).distribution("literal", pairs)
    )
    assert (facts.title, facts.kind("literal")) == (ReportData(result).title, "literal")
    assert "follows the rate" in report_of(facts, with_files=False).page


def test_bins_of_all_seeds_add_up(gold: Path) -> None:
    (facts,) = report_data_of_gold(gold)
    histogram = facts.histogram("literal", "delay")
    assert histogram is not None
    assert sum(histogram.counts) == 14, "none of a delay below 0"
    assert histogram.edges[501] == pytest.approx(50.1)


def test_a_result_takes_from_traces_what_it_lacks(gold: Path, tmp_path: Path) -> None:
    import msgspec

    (tmp_path / "result.json").write_bytes(msgspec.json.encode(made_up("M-3.15")))
    (alone,) = report_data_of(ResultDirectory(tmp_path, result=tmp_path / "result.json"))
    (both,) = report_data_of(ResultDirectory(tmp_path, result=tmp_path / "result.json", gold=gold))
    assert alone.histogram("off", "delay") is None
    assert both.histogram("off", "delay") is not None
    assert both.result.trace_hash == alone.result.trace_hash


def test_settings_of_a_sweep_are_told_apart(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold", made_up("M-3.15", seeds=SEEDS))
    # By their traces, which know their own parameters.
    from penstock.trace.records import Run
    from penstock.tracefile.retention import Recording

    for seed, loss in zip(SEEDS, (0.0, 0.1), strict=True):
        parameters = made_up("M-3.15", sets=[f"network.link.loss={loss}"]).parameters["off"]
        with Recording(f"M-3.15.quick.off.{seed}", keep=tmp_path) as recording:
            recording.finish(
                Run(
                    experiment="M-3.15",
                    profile="quick",
                    variant="off",
                    seed=seed,
                    parameters=json.dumps(parameters),
                    duration_ns=10**9,
                    code_version="0.1.0",
                )
            )
    points = report_data_of_gold(gold, tmp_path)
    assert [point.result.seeds for point in points] == [[1], [2]]
    assert [point.parameter("off", "network.link.loss") for point in points] == [0.0, 0.1]
    assert all(len(point.result.trace_hash) == 64 for point in points)


def test_the_only_ordering_of_a_variant_answers_for_it(tmp_path: Path) -> None:
    result = made_up("M-4.5", seeds=[1])
    key = {"run": "M-4.5.quick.digest.1", "ordering": "ordered"}
    rows = {
        "figures": [
            key | {"metric": metric, "value": value, "unit": ""}
            for metric, value in (("false_negatives", 7.0), ("delivery_delay_mean", 99.0))
        ],
        "pairs": [
            key | {"ordering": "", "metric": metric, "value": value} | pair
            for metric, value in (("effairness", 0.75), ("received_mps", 12.0), ("m", 0.0))
            for pair in ({"subscriber": "s1", "publisher": "p1"},)
        ],
        # Of a level there may be seconds that nothing is known of.
        "seconds": [
            key | {"metric": "false_negatives", "second": 1, "value": 7.0},
            key | {"ordering": "", "metric": "cache_limit_mean", "second": 1, "value": 5.0},
        ],
        "histograms": [
            key | {"metric": "repaired_delay", "bin": 3, "count": 2},
            key | {"ordering": "", "metric": "request_to_repair", "bin": 9, "count": 1},
        ],
        "summary": [
            {"experiment": "M-4.5", "profile": "quick", "variant": "digest",
             "parameters": json.dumps(result.parameters["digest"])}
        ],
    }  # fmt: skip
    for name, its in rows.items():
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(its), tmp_path / name / "part-0.parquet")
    (facts,) = report_data_of_gold(tmp_path)
    for name in facts.names:
        delay = facts.figure(name, "delivery_delay_mean")
        assert delay is not None
        assert delay.mean == 99.0
    assert facts.names_with("delivery_delay_mean") == ["ordered"]
    assert facts.histogram("digest", "repaired_delay") is not None
    assert facts.names == ["digest", "ordered"]
    assert facts.pairs("digest", "effairness") == {("s1", "p1"): 0.75}
    assert facts.pairs("digest", "received_mps") == {("s1", "p1"): 12.0}
    assert facts.pairs("digest", "m") == {}
    assert facts.never_delivered_by_second("digest")[1] == 7.0
    assert isnan(facts.series("digest", "cache_limit_mean")[0])
    for metric, bin_ in (("repaired_delay", 3), ("request_to_repair", 9)):
        histogram = facts.histogram("digest", metric)
        assert histogram is not None
        assert histogram.edges[bin_] == pytest.approx(bin_ / 10), "in milliseconds"


def test_what_is_broken_is_named(gold: Path, tmp_path: Path) -> None:
    (gold / "pairs" / "part-0.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(UsageError, match=r"pairs cannot be read"):
        report_data_of_gold(gold)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="has no table figures"):
        report_data_of_gold(tmp_path / "empty")
