"""Detection of losses: the specification's numbers, and a simulation of the story behind them."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from penstock.metrics.laws.detection import detected, detected_by_any

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "ordering.json").read_text())
CHANCES = st.floats(0, 1)


def test_one_receiver_detects_as_in_the_vectors() -> None:
    for row in VECTORS["detect_4_1"]:
        found = detected(row["R"], row["Pm"], row["Pl"])
        assert found == pytest.approx(row["Pd"], rel=1e-9), row


def test_receivers_that_share_a_loss_detect_as_in_the_vectors() -> None:
    for row in VECTORS["detect_shared"]:
        found = detected_by_any(
            row["R"], row["P"], row["Pl"], others=row["k"], overlap=row["overlap"]
        )
        assert found == pytest.approx(row["Pd"], rel=1e-9), row


def test_the_published_point_is_on_the_curve() -> None:
    assert detected(10, 0.05, 0.01) == pytest.approx(0.4, abs=0.005)


@pytest.mark.parametrize(
    ("record", "match", "loss", "others", "overlap"),
    [(10, 0.05, 0.01, 0, 0.5), (5, 0.2, 0.3, 2, 0.5), (10, 0.05, 0.1, 4, 0.5), (3, 0.3, 0, 3, 0.8)],
)
def test_a_simulation_of_the_story_detects_as_often(
    record: int, match: float, loss: float, others: int, overlap: float
) -> None:
    trials = 40_000
    rng = Seeds(1).generator("detection", f"{record} {match} {loss} {others}")
    besides = match * (1 - overlap) / (1 - match)
    sharing = rng.random((trials, 1, others)) < overlap
    first = rng.random((trials, record)) < match
    odds = np.where(first, overlap, besides)[:, :, None]
    matching = np.concatenate(
        [first[:, :, None], sharing & (rng.random((trials, record, others)) < odds)], axis=2
    )
    arrives = matching & (rng.random(matching.shape) >= loss)
    seen = arrives.any(axis=(1, 2)).mean()
    expected = detected_by_any(record, match, loss, others=others, overlap=overlap)
    assert abs(seen - expected) < 4 * sqrt(expected * (1 - expected) / trials)


@given(st.integers(0, 100), CHANCES, CHANCES)
def test_a_longer_record_never_detects_less(record: int, match: float, loss: float) -> None:
    assert 0 <= detected(record, match, loss) <= detected(record + 1, match, loss) + 1e-12


@given(st.integers(0, 100), st.floats(0, 0.5), CHANCES, st.integers(0, 6), CHANCES)
def test_more_sharers_never_detect_less(
    record: int, match: float, loss: float, others: int, overlap: float
) -> None:
    few, more = (
        detected_by_any(record, match, loss, others=count, overlap=overlap)
        for count in (others, others + 1)
    )
    assert few <= more + 1e-9


def test_others_that_want_just_the_same_add_their_luck_only() -> None:
    assert detected_by_any(5, 0.2, 0, others=3, overlap=1) == pytest.approx(detected(5, 0.2, 0))
    alone = detected_by_any(5, 0.2, 0.3, others=3, overlap=1)
    assert alone == pytest.approx(detected(5, 0.2, 0.3**4))


@pytest.mark.parametrize("match", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(match: float) -> None:
    with pytest.raises(UsageError, match="probability"):
        detected(5, match, 0.01)


def test_what_cannot_overlap_so_little_is_refused() -> None:
    with pytest.raises(UsageError, match="share more"):
        detected_by_any(5, 0.9, 0.01, others=1, overlap=0.5)
    with pytest.raises(UsageError, match="0 or more"):
        detected(-1, 0.5, 0.01)
