"""The use of links, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kernel.instant import SECOND
from penstock.lab.experiment import MeasurePart
from penstock.lab.metrics.links import Links
from penstock.trace.records import LinkSample
from tests.lab.metrics.batches import context, feed, values


def sample(
    at_s: float, link: str, sent_bytes: int, capacity_bps: int | None, *, period_s: float = 1
) -> LinkSample:
    at, period = round(at_s * SECOND), round(period_s * SECOND)
    return LinkSample(at, link, period, capacity_bps, sent_bytes, 1, 0, 0, 0, 0)


def figures(
    rows: list[LinkSample], phases: dict[str, tuple[float, float]] | None = None
) -> dict[str, float]:
    measure = MeasurePart(metrics=[], phases=phases or {})
    metric = Links(replace(context(seconds=4), measure=measure))
    feed(metric, rows)
    return values(metric.figures())


def test_use_is_bits_by_bits_where_the_capacity_changes() -> None:
    rows = [sample(1, "a", 1_000, 8_000), sample(2, "a", 1_000, 16_000)]
    assert figures(rows)["bottleneck_use"] == pytest.approx(16_000 / 24_000)
    in_phase = figures([*rows, sample(3, "a", 500, 8_000)], {"late": (1, 3)})
    assert in_phase["bottleneck_use.late"] == pytest.approx(12_000 / 24_000)


def test_a_short_sample_counts_less_than_a_long_one() -> None:
    rows = [sample(1, "a", 1_000, 8_000), sample(1.5, "a", 0, 8_000, period_s=0.5)]
    assert figures(rows)["bottleneck_use"] == pytest.approx(8_000 / 12_000)


def test_a_link_without_a_capacity_is_no_bottleneck() -> None:
    rows = [sample(1, "open", 1_000, None), sample(1, "a", 480, 8_000)]
    assert figures(rows)["bottleneck_use"] == pytest.approx(0.48)
    alone = figures(rows[:1])
    assert alone["link_packets"] == 1
    assert "bottleneck_use" not in alone


def test_the_busiest_link_is_the_same_in_all_phases() -> None:
    rows = [sample(1, "a", 900, 8_000), sample(1, "b", 100, 8_000)]
    rows += [sample(2, "a", 300, 8_000), sample(2, "b", 800, 8_000)]
    found = figures(rows, {"early": (0, 1), "late": (1, 2)})
    uses = [found[f"bottleneck_use{phase}"] for phase in ("", ".early", ".late")]
    assert uses == pytest.approx([0.6, 0.9, 0.3])
