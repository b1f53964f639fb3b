"""Kernels find in a kept trace what the lab's own metrics saw go by during the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.lab.result import Result, read_result
from penstock.lab.statistics import Estimate
from penstock.pipeline.kernels.measure import measure
from penstock.tracefile.reader import TraceReader
from tests.pipeline.kernels.brute import Key, keyed

# What only the lab computes.
OTHERS = {"delay_clusters", "delivery_rate_peak", "violations_with_deliveries"}


class Seen(NamedTuple):
    """What a result says of one variant, and of its ordering."""

    figures: dict[str, Estimate]
    series: dict[str, list[float]]
    ordered_figures: dict[str, Estimate]
    ordered_series: dict[str, list[float]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[Key, float]]:
    out = tmp_path_factory.mktemp("lab")
    metrics = '["rates", "order", "ordering", "delays", "detection", "links"]'
    settings = (
        "run.duration_s=4",
        "network.link.loss=0.02",
        "clients.subscriber.count=3",
        f"measure.metrics={metrics}",
    )
    told = [part for setting in settings for part in ("--set", setting)]
    done = CliRunner().invoke(
        app, ["lab", "run", "M-3.15", "--keep", "--seed", "1", "--out", str(out), *told]
    )
    assert done.exit_code == 0, done.output
    directory = out / "traces"
    [run] = TraceReader(directory).run_ids()
    rows = [row for batch in measure(directory, run).batches() for row in batch.to_pylist()]
    return read_result(out / "result.json"), keyed(rows)


def both_ways(
    out: Path, id_: str, settings: Sequence[str], metrics: list[str]
) -> list[tuple[Seen, dict[Key, float]]]:
    """Of each variant, what the lab saw, and what kernels find in its trace."""
    told = [part for setting in settings for part in ("--set", setting)]
    # One process: its children would be forked from one that may have started Java.
    told += ["--processes", "1"]
    done = CliRunner().invoke(
        app, ["lab", "run", id_, "--keep", "--seed", "1", "--out", str(out), *told]
    )
    assert done.exit_code == 0, done.output
    result = read_result(out / "result.json")
    reader = TraceReader(out / "traces")
    found = []
    for run in reader.run_ids():
        variant = reader.run(run).variant
        batches = measure(out / "traces", run, metrics).batches()
        figures = keyed(row for batch in batches for row in batch.to_pylist())
        ordered = f"{variant}.ordered"
        seen = Seen(
            result.variants[variant],
            result.series[variant],
            result.variants.get(ordered, {}),
            result.series.get(ordered, {}),
        )
        found.append((seen, figures))
    return found


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Seen, dict[Key, float]]]:
    """Each way of recovery."""
    settings = (
        "run.duration_s=3",
        "run.drain_s=2",
        "run.warmup_s=1",
        "clients.subscribers.count=12",
        "network.link.loss=0.05",
    )
    metrics = ["rates", "repaired", "recovery", "caches"]
    return both_ways(tmp_path_factory.mktemp("recovery"), "M-4.5", settings, metrics)


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Seen, dict[Key, float]]]:
    """Each way of congestion control."""
    settings = (
        "run.duration_s=4",
        "run.drain_s=1",
        "transport.congestion.queue=100",
        "clients.publishers.publish.rate={kind='constant', rate=1200}",
    )
    metrics = ["rates", "congestion", "receivers", "links", "drops", "fairness"]
    return both_ways(tmp_path_factory.mktemp("congestion"), "M-5.9", settings, metrics)


def test_what_control_did_is_what_the_result_says(
    controlled: list[tuple[Seen, dict[Key, float]]],
) -> None:
    names = (
        *("offered", "deliveries", "false_negatives", "sent", "rate_limited", "jain"),
        *("dropped_at_source", "feedback_rate", "ack_rate", "bottleneck_use", "queue_full_packets"),
        *("flow_table_mean", "flow_table_max"),
    )
    for seen, found in controlled:
        for metric in names:
            value = found["figures", "", metric, None]
            assert value == pytest.approx(seen.figures[metric].mean), metric
        for series in ("sent", "received.subscribers-1"):
            own = seen.series[series]
            assert [found["seconds", "", series, n] for n in range(len(own))] == own
    for metric in ("rate_limited", "dropped_at_source", "feedback_frames", "lost"):
        assert any(found["figures", "", metric, None] for _, found in controlled), metric


def test_figures_of_recovery_are_those_of_the_result(
    recovered: list[tuple[Seen, dict[Key, float]]],
) -> None:
    compared: set[str] = set()
    for seen, found in recovered:
        for metric, told in seen.figures.items():
            ordering = "ordered" if ("figures", "ordered", metric, None) in found else ""
            value = found["figures", ordering, metric, None]
            assert value == pytest.approx(told.mean, rel=1e-9), metric
            compared.add(metric)
        for metric in ("false_negatives", "false_negative_ratio"):
            value = found["figures", "ordered", metric, None]
            assert value == pytest.approx(seen.ordered_figures[metric].mean), metric
    assert compared >= {
        *("repaired", "header_bytes", "recovery_bytes", "hit_ratio"),
        *("requests_not_duplicated", "repairs_not_duplicated", "cache_limit_max"),
        *("delivery_delay_mean", "repaired_delay_p80", "request_to_repair_p80"),
    }
    assert any(found["figures", "", "signals", None] for _, found in recovered)


def test_series_of_recovery_are_those_of_the_result(
    recovered: list[tuple[Seen, dict[Key, float]]],
) -> None:
    for seen, found in recovered:
        told = {("", metric): seen.series[metric] for metric in ("requests", "repairs")}
        told["ordered", "false_negatives"] = seen.ordered_series["false_negatives"]
        for place, series in told.items():
            assert [found["seconds", *place, second] for second in range(len(series))] == series


def test_figures_are_those_of_the_result(both: tuple[Result, dict[Key, float]]) -> None:
    result, found = both
    compared = 0
    for variant, figures in result.variants.items():
        for metric, told in figures.items():
            if metric in OTHERS:
                continue
            # The network and the ordering "off" share a name.
            places = [("figures", ordering, metric, None) for ordering in (variant, "")]
            values = [found[place] for place in places if place in found]
            assert values, metric
            # What is said of both is the ordering's own.
            value = values[0]
            assert value == pytest.approx(told.mean, rel=1e-9), metric
            compared += 1
    assert compared > 50
    assert found["figures", "", "false_negatives", None] > 0


def test_series_are_those_of_the_result(both: tuple[Result, dict[Key, float]]) -> None:
    result, found = both
    for metric in ("sent", "deliveries", "false_negatives", "violations"):
        [series] = [own[metric] for own in result.series.values() if metric in own]
        seconds = range(len(series))
        assert [found["seconds", "", metric, second] for second in seconds] == series


def test_pairs_have_the_distribution_of_the_result(both: tuple[Result, dict[Key, float]]) -> None:
    result, found = both
    for ordering, quantiles in result.quantiles.items():
        means = [
            value
            for (table, own, metric, _), value in found.items()
            if (table, own, metric) == ("pairs", ordering, "extra_delay_mean")
        ]
        ends = min(means), max(means)
        told = quantiles["extra_delay_pairs_ms"]
        assert ends == pytest.approx((told[0], told[-1]))
