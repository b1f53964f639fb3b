"""What is kept of pairs at each distance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.lab.metrics.fits import Fits
from penstock.metrics.laws import hypoexponential, two_laplace
from penstock.metrics.sketches import BINS_MAX, Bins
from tests.lab.metrics.batches import as_they_come, context, delayed, feed

MESSAGES = 1500
SERVICE_MS = 4


def delays_ms(brokers: int, links_ms: float) -> NDArray[np.float64]:
    draws = np.random.default_rng(brokers).exponential(SERVICE_MS, (brokers, MESSAGES))
    return np.asarray(links_ms + draws.sum(axis=0))


@pytest.fixture(scope="module")
def sketches() -> dict[str, Bins]:
    metric = Fits(context())
    rows = [
        *delayed(delays_ms(3, 100), ("p-1", "s-1"), brokers=3),
        # As far apart, and seen later: another pair that nobody looks at.
        *delayed(delays_ms(3, 900), ("p-2", "s-1"), brokers=3),
        *delayed(delays_ms(2, 50), ("p-1", "s-2"), brokers=2),
    ]
    feed(metric, as_they_come(rows), batch_rows=400)
    found = metric.sketches()
    assert not [sketch for sketch in found.values() if not isinstance(sketch, Bins)]
    return {name: sketch for name, sketch in found.items() if isinstance(sketch, Bins)}


def edges(bins: Bins) -> NDArray[np.float64]:
    return bins.start + bins.width * np.arange(len(bins.counts) + 1, dtype=np.float64)


def shares(bins: Bins) -> NDArray[np.float64]:
    """Of values below each edge."""
    return (bins.below + np.cumsum([0, *bins.counts])) / bins.total


def test_each_distance_has_both_histograms_of_one_pair(sketches: dict[str, Bins]) -> None:
    assert list(sketches) == ["delays.2", "differences.2", "delays.3", "differences.3"]
    assert [bins.total for bins in sketches.values()] == [MESSAGES, MESSAGES - 1] * 2
    assert max(len(bins.counts) for bins in sketches.values()) <= BINS_MAX


@pytest.mark.parametrize(("brokers", "links_ms"), [(2, 50), (3, 100)])
def test_the_law_of_delays_lies_on_their_histogram(
    sketches: dict[str, Bins], brokers: int, links_ms: float
) -> None:
    bins = sketches[f"delays.{brokers}"]
    inside = np.sort(delays_ms(brokers, links_ms))
    assert shares(bins) == pytest.approx(np.searchsorted(inside, edges(bins)) / MESSAGES)
    constant, *rates = bins.law
    assert len(rates) == brokers
    law = hypoexponential.cdf(edges(bins) - constant, rates)
    assert np.abs(law - shares(bins)).max() < 0.03


def test_the_law_of_differences_lies_on_their_histogram(sketches: dict[str, Bins]) -> None:
    bins = sketches["differences.2"]
    # Two brokers make two Laplacians, each with the mean time of service as its scale.
    (scale,) = bins.law
    assert scale == pytest.approx(SERVICE_MS, rel=0.1)
    assert np.abs(two_laplace.cdf(edges(bins), scale) - shares(bins)).max() < 0.05
    assert edges(bins)[0] < 0 < edges(bins)[-1]


def test_too_few_messages_leave_nothing() -> None:
    metric = Fits(context())
    feed(metric, as_they_come(delayed(delays_ms(3, 100)[:50], brokers=3)))
    assert metric.sketches() == {}
