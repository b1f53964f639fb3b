"""Clusters by hop are counted, neither more nor fewer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.kernel.errors import UsageError
from penstock.metrics.laws.clusters import clusters

SPACING_MS = 50.0


def delays_ms(
    counts: list[int], *, service_ms: float, seed: int, jitter_ms: float = 5.0
) -> NDArray[np.float64]:
    """So many messages over 0, 1, 2… links, each 50 ± jitter ms, with brokers in between."""
    rng = np.random.default_rng(seed)
    parts = []
    for links, n in enumerate(counts):
        crossing = rng.uniform(-jitter_ms, jitter_ms, (n, links)).sum(axis=1) + SPACING_MS * links
        parts.append(crossing + rng.exponential(service_ms, (n, links + 1)).sum(axis=1))
    return rng.permutation(np.concatenate(parts))


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    counts=st.lists(st.integers(300, 1500), min_size=1, max_size=6),
    service_ms=st.floats(0.1, 4.0),
    seed=st.integers(0, 2**32),
)
def test_there_are_as_many_clusters_as_distances(
    counts: list[int], service_ms: float, seed: int
) -> None:
    found = clusters(delays_ms(counts, service_ms=service_ms, seed=seed), SPACING_MS)
    assert len(found) == len(counts)
    for links, (cluster, n) in enumerate(zip(found, counts, strict=True)):
        assert cluster.share == pytest.approx(n / sum(counts), abs=0.02)
        assert cluster.centre == pytest.approx(50 * links + service_ms * (links + 1), abs=6)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    missing=st.integers(1, 2),
    counts=st.tuples(*[st.integers(300, 1500)] * 4),
    seed=st.integers(0, 2**32),
)
def test_a_distance_nobody_has_leaves_a_hole(
    missing: int, counts: tuple[int, int, int, int], seed: int
) -> None:
    present = [0 if links == missing else n for links, n in enumerate(counts)]
    assert len(clusters(delays_ms(present, service_ms=2.0, seed=seed), SPACING_MS)) == 3


@pytest.mark.parametrize("seed", range(5))
def test_four_clusters_of_very_different_size(seed: int) -> None:
    found = clusters(delays_ms([400, 6000, 12000, 1600], service_ms=4.0, seed=seed), SPACING_MS)
    assert [round(c.share, 2) for c in found] == pytest.approx([0.02, 0.30, 0.60, 0.08], abs=0.011)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    n=st.integers(1, 5000),
    mean_ms=st.floats(0.01, 150.0),
    phases=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_one_law_is_one_cluster_however_long_its_tail(
    n: int, mean_ms: float, phases: int, seed: int
) -> None:
    x = np.random.default_rng(seed).gamma(phases, mean_ms / phases, n)
    assert len(clusters(x, SPACING_MS)) == 1


def test_two_humps_closer_than_half_the_spacing_are_one_cluster() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 1, 5000), rng.normal(20, 1, 5000)])
    assert len(clusters(x, SPACING_MS)) == 1
    assert len(clusters(x, 20.0)) == 2


@pytest.mark.parametrize("seed", range(10))
def test_a_ragged_top_does_not_break_a_wide_cluster_in_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.append(rng.uniform(0, 150, 400), rng.uniform(500, 650, 600))
    assert [c.share for c in clusters(x, SPACING_MS)] == [0.4, 0.6]


def test_a_far_cluster_counts_from_one_in_a_hundred() -> None:
    rng = np.random.default_rng(2)
    near, far = rng.normal(0, 3, 10_000), rng.normal(100, 3, 10_000)
    assert len(clusters(np.append(near, far[:90]), SPACING_MS)) == 1
    two = clusters(np.append(near, far[:120]), SPACING_MS)
    assert [c.centre for c in two] == pytest.approx([0, 100], abs=1)
    assert two[1].share == pytest.approx(120 / 10_120)


def test_the_origin_and_the_unit_do_not_matter() -> None:
    x = delays_ms([500, 500, 500], service_ms=2.0, seed=3)
    moved = clusters(1e6 * (x - 1e4), 1e6 * SPACING_MS)
    assert [c.share for c in moved] == pytest.approx([c.share for c in clusters(x, SPACING_MS)])


def test_the_least_sets() -> None:
    assert clusters([], SPACING_MS) == []
    only = clusters([70.0, 70.0], SPACING_MS)
    assert [(c.centre, c.share) for c in only] == [(70.0, 1.0)]


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="units"):
        clusters([0.0, 1e9], SPACING_MS)
    with pytest.raises(UsageError, match="finite"):
        clusters([0.0, np.inf], SPACING_MS)
