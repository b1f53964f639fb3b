"""Kernels find in a kept trace what the lab's own metrics saw go by during the run."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.lab.result import Result, read_result
from penstock.pipeline.kernels.histogram import BIN_MS
from penstock.pipeline.kernels.measure import measure
from penstock.tracefile.reader import TraceReader
from tests.pipeline.kernels.brute import Key, keyed

# The lab's quantiles of delays are exact.
FROM_BINS = {"delay_p50", "delay_p99"}
# What only the lab computes.
OTHERS = {"delay_clusters", "delivery_rate_peak", "violations_with_deliveries"}


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


def test_figures_are_those_of_the_result(both: tuple[Result, dict[Key, float]]) -> None:
    result, found = both
    compared = 0
    for variant, figures in result.variants.items():
        for metric, told in figures.items():
            if metric in OTHERS:
                continue
            # The network and the ordering "off" share a name.
            places = [("figures", ordering, metric, None) for ordering in (variant, "")]
            values = {found[place] for place in places if place in found}
            assert values, metric
            [value] = values
            off = BIN_MS / 2 if metric in FROM_BINS else 0
            assert value == pytest.approx(told.mean, rel=1e-9, abs=off), metric
            compared += 1
    assert compared > 50
    assert found["figures", "", "false_negatives", None] > 0


def test_series_are_those_of_the_result(both: tuple[Result, dict[Key, float]]) -> None:
    result, found = both
    for metric in ("publications", "deliveries", "false_negatives", "violations"):
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
