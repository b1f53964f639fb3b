"""Laws fitted to the delays of one pair at each distance."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.metrics.laws import delay_laws, hypoexponential, two_laplace
from penstock.metrics.laws.delay_laws import DelayLaws
from penstock.metrics.results import Results
from penstock.metrics.sketches import BINS_MAX, Bins
from penstock.trace.batch import Floats
from tests.metrics.laws.arrivals import by_time, delayed
from tests.metrics.measured import measure_rows, values_of

MESSAGES = 1500
SERVICE_MS = 4


def delays_ms(brokers: int, links_ms: float) -> Floats:
    draws = np.random.default_rng(brokers).exponential(SERVICE_MS, (brokers, MESSAGES))
    return np.asarray(links_ms + draws.sum(axis=0))


@pytest.fixture(scope="module")
def results() -> Results:
    rows = [
        *delayed(delays_ms(3, 100), ("p-1", "s-1"), brokers=3),
        # As far apart, and seen later: another pair that nobody looks at.
        *delayed(delays_ms(3, 900), ("p-2", "s-1"), brokers=3),
        *delayed(delays_ms(2, 50), ("p-1", "s-2"), brokers=2),
    ]
    return measure_rows(by_time(rows), [DelayLaws], batch_rows=400)


@pytest.fixture(scope="module")
def sketches(results: Results) -> dict[str, Bins]:
    return {
        key.flat: sketch for key, sketch in results.sketches.items() if isinstance(sketch, Bins)
    }


def edges(bins: Bins) -> Floats:
    return bins.start + bins.width * np.arange(len(bins.counts) + 1, dtype=np.float64)


def shares(bins: Bins) -> Floats:
    """The shares of values below each edge."""
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


def test_figures_of_a_distance_describe_delays_without_the_links(results: Results) -> None:
    figures = values_of(results)
    assert figures["samples.3"] == MESSAGES
    assert figures["delay_mean.3"] == pytest.approx(delays_ms(3, 0).mean(), abs=1e-6)
    assert figures["delay_ks.3"] < 0.03
    assert figures["difference_scale.2"] == pytest.approx(SERVICE_MS, rel=0.1)
    assert figures["tail_0.05.2"] == pytest.approx(0.05, abs=0.02)


def test_too_few_messages_leave_nothing() -> None:
    few = by_time(delayed(delays_ms(3, 100)[:50], brokers=3))
    # Laws have one phase for each broker.
    no_broker = by_time(delayed(delays_ms(3, 100), brokers=0))
    alike = delayed([5.0] * MESSAGES)
    for rows in (few, no_broker, alike):
        found = measure_rows(rows, [DelayLaws], batch_rows=400)
        assert (found.values, found.sketches) == ({}, {})


def test_only_messages_that_crossed_so_many_brokers_count() -> None:
    near = delayed(delays_ms(2, 50), brokers=2)
    # The same pair, further apart while its path was another.
    far = delayed(delays_ms(3, 100), brokers=3, epoch=1, start_ms=20_000)
    alone, both = (
        values_of(measure_rows(by_time(rows), [DelayLaws], batch_rows=400))
        for rows in (near, [*near, *far])
    )
    assert both["samples.2"] == both["samples.3"] == MESSAGES
    assert {name: value for name, value in both.items() if name.endswith(".2")} == alone


@pytest.mark.parametrize("batch_rows", [7, 400, 5000])
def test_the_first_messages_count_by_publication_and_not_by_arrival(
    monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(delay_laws, "_SAMPLES", 200)
    delays = delays_ms(1, 0)
    # Long overdue, after more than twice as many messages as are kept.
    delays[3] = 9_000
    found = measure_rows(by_time(delayed(delays)), [DelayLaws], batch_rows=batch_rows)
    assert values_of(found)["samples.1"] == 200
    assert values_of(found)["delay_mean.1"] == pytest.approx(delays[:200].mean(), abs=1e-6)
