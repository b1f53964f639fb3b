"""Quantiles from bins: near the exact ones, and never beyond the longest value."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from penstock.kernel.instant import MILLISECOND
from penstock.lab.metrics.delay_bins import DelayBins
from penstock.lab.metrics.delays import Delays
from tests.lab.metrics.batches import context, delayed, feed, values


def test_a_quantile_is_off_by_half_a_bin_at_most() -> None:
    draw = Random(3)
    delays_ns = np.array([draw.randrange(-MILLISECOND, 20 * MILLISECOND) for _ in range(999)])
    for share in (0, 0.25, 0.5, 0.99, 1):
        exact_ms = float(np.quantile(delays_ns, share)) / MILLISECOND
        assert DelayBins(delays_ns).quantile_ms(share) == pytest.approx(exact_ms, abs=0.0501)


def test_no_quantile_exceeds_the_longest_value() -> None:
    assert DelayBins(np.array([MILLISECOND])).quantile_ms(0.5) == 1
    assert DelayBins(np.array([MILLISECOND, 3 * MILLISECOND])).quantile_ms(0.25) == pytest.approx(
        1.55
    )


def test_delays_have_quantiles_of_bins_and_an_exact_mean() -> None:
    metric = Delays(context())
    feed(metric, delayed([1.01, 1.02, 2.03, 9.04]))
    found = values(metric.figures())
    assert found["delay_mean"] == pytest.approx(13.1 / 4)
    assert found["delay_p50"] == pytest.approx((1.05 + 2.05) / 2)
    assert found["delay_max"] == pytest.approx(9.04)
