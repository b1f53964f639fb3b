"""Quantiles, inflation and latches, against the specification's numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.transport.order.delay_law import tail, tail_quantile, tail_quantile_as_printed
from penstock.transport.order.latch import (
    LATCH_MAX_NS,
    ConditionalLatch,
    ConstantLatch,
    Latch,
    LiteralLatch,
)
from penstock.transport.order.small_sample import small_sample_factor

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ordering.json").read_text())


@dataclass
class Known:
    """A scale that is known as if from any number of samples."""

    scale_ns: float
    weight: int = 10**9


@pytest.mark.spec("F1")
@pytest.mark.parametrize("row", VECTORS["quantile"])
def test_quantiles_are_those_of_the_vectors(row: dict[str, float]) -> None:
    assert tail_quantile(row["Pt"]) * row["b"] == pytest.approx(row["Q"], abs=2e-9 * row["b"])


@given(st.floats(1e-290, 0.4999))
def test_a_quantile_is_where_the_tail_is(p: float) -> None:
    u = tail_quantile(p)
    assert u >= 0
    assert tail(u) == pytest.approx(p, rel=1e-9)


@given(st.floats(0.5, 1))
def test_what_is_probable_anyway_needs_no_wait(p: float) -> None:
    assert tail_quantile(p) == 0


@pytest.mark.spec("F1")
def test_the_printed_formula_takes_the_wrong_branch() -> None:
    for p in (0.2, 0.05, 0.01, 0.001):
        assert 1.87 <= tail_quantile_as_printed(p) <= 2
        assert 0.135 <= tail(tail_quantile_as_printed(p)) <= 0.149


@pytest.mark.parametrize("row", VECTORS["latch_literal"])
def test_literal_latches_are_those_of_the_vectors(row: dict[str, float]) -> None:
    assert _wait_ms(LiteralLatch(row["Pt"]), row) == pytest.approx(row["tau"], abs=2e-6)


@pytest.mark.spec("F11")
@pytest.mark.parametrize("row", VECTORS["latch_conditional"])
def test_conditional_latches_are_those_of_the_vectors(row: dict[str, float]) -> None:
    assert _wait_ms(ConditionalLatch(row["Pc"]), row) == pytest.approx(row["tau"], abs=2e-6)


def _wait_ms(latch: Latch, row: dict[str, Any]) -> float:
    gap_ns = round(row["delta"] * MILLISECOND)
    return latch.wait_ns(gap_ns, Known(row["b"] * MILLISECOND)) / MILLISECOND


@pytest.mark.spec("F11")
@pytest.mark.parametrize("chance", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("gap_scales", [0.0, 0.5, 2.0, 6.0])
def test_a_conditional_latch_lets_through_what_it_says(chance: float, gap_scales: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.laplace(size=4_000_000) + rng.laplace(size=4_000_000)
    late = x[x > gap_scales]
    unit = 10**6
    wait = ConditionalLatch(chance).wait_ns(round(gap_scales * unit), Known(unit)) / unit
    share = (late > gap_scales + wait).mean()
    error = 4 * (chance / len(late)) ** 0.5
    assert share == pytest.approx(chance, abs=error)


def test_however_long_it_is_late_a_latch_has_an_end() -> None:
    latch, known = ConditionalLatch(0.01), Known(MILLISECOND)
    waits = [latch.wait_ns(gap * MILLISECOND, known) for gap in (0, 10, 100, 600, 1000, 10_000)]
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] == pytest.approx(4.6 * MILLISECOND, rel=0.01)
    assert latch.wait_ns(0, Known(10_000 * MILLISECOND)) == LATCH_MAX_NS
    assert latch.wait_ns(0, Known(0.0)) == 0


@pytest.mark.spec("F6")
@pytest.mark.parametrize("chance", VECTORS["inflation"])
def test_inflation_is_that_of_the_vectors(chance: str) -> None:
    for samples, factor in VECTORS["inflation"][chance].items():
        assert small_sample_factor(int(samples), float(chance)) == pytest.approx(factor, rel=0.012)


@given(st.integers(0, 1000), st.floats(1e-9, 0.5))
def test_inflation_falls_with_samples_and_with_the_chance(samples: int, p: float) -> None:
    assert small_sample_factor(samples, p) >= small_sample_factor(samples + 1, p) >= 1
    assert small_sample_factor(samples, p) <= small_sample_factor(samples, p / 2) + 1e-12


@pytest.mark.spec("F6")
@pytest.mark.parametrize(("samples", "chance"), [(5, 0.05), (10, 0.01), (25, 0.2), (25, 0.003)])
def test_an_inflated_latch_keeps_its_promise_with_few_samples(samples: int, chance: float) -> None:
    rng = np.random.default_rng(7)
    delays = rng.gamma(2, 1, (200_000, samples + 1))
    scale = np.abs(np.diff(delays)).mean(axis=1) * 2 / 3
    latch = tail_quantile(chance) * scale * small_sample_factor(samples, chance)
    beyond = (2 + latch) / 4 * np.exp(-latch)
    assert beyond.mean() == pytest.approx(chance, rel=0.02)


@pytest.mark.parametrize(
    "make", [lambda: ConditionalLatch(0), lambda: LiteralLatch(0.6), lambda: ConstantLatch(-1)]
)
def test_impossible_promises_are_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def test_a_constant_latch_is_constant() -> None:
    assert ConstantLatch(30 * MILLISECOND).wait_ns(5, Known(1)) == 30 * MILLISECOND
