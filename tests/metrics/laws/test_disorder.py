"""Counts over streams agree with the counts over whole columns."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.metrics.laws import violations
from penstock.metrics.laws.disorder import Disorder


def shuffled(rng: np.random.Generator, rows: int, pairs: int, shift: float) -> tuple[
    violations.Ints, violations.Ints
]:  # fmt: skip
    """Each pair counts up, but each row comes a little later than its turn."""
    pair = rng.integers(0, pairs, rows)
    seq = np.zeros(rows, np.int64)
    for code in range(pairs):
        seq[pair == code] = np.arange((pair == code).sum())
    order = np.argsort(np.arange(rows) + rng.exponential(shift, rows), kind="stable")
    return pair[order], seq[order]


@pytest.mark.parametrize("batch", [1, 7, 100, 5000])
def test_batches_count_what_the_whole_counts(batch: int) -> None:
    pair, seq = shuffled(np.random.default_rng(batch), 2000, 20, 60)
    disorder = Disorder()
    parts = [disorder.feed(pair[i : i + batch], seq[i : i + batch]) for i in range(0, 2000, batch)]
    late, descents, inversions = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert (late == violations.late(pair, seq)).all()
    assert (descents == violations.descents(pair, seq)).all()
    assert inversions.sum() == violations.inversions(pair, seq) > late.sum() > 0
    assert (late == (inversions > 0)).all()


@pytest.mark.parametrize("batch", [1, 3, 50])
def test_only_the_last_rows_are_held_against_a_late_one(batch: int) -> None:
    seq = np.append(np.arange(1, 21), 0)
    disorder = Disorder(remembered=4)
    parts = [
        disorder.feed(np.zeros(len(p), int), p) for p in np.split(seq, range(batch, 21, batch))
    ]
    inversions = np.concatenate([part.inversions for part in parts])
    assert inversions.tolist() == [0] * 20 + [4]
    assert parts[-1].late.tolist()[-1:] == [True]


def test_numbers_of_32_bits_are_compared_as_they_are() -> None:
    disorder = Disorder()
    high = 2**32 - 1
    disorder.feed(np.array([5]), np.array([high]))
    assert disorder.feed(np.array([5]), np.array([high - 1])).inversions.tolist() == [1]


def test_no_rows_are_in_order() -> None:
    assert Disorder().feed(np.empty(0, np.int64), np.empty(0, np.int64)).late.size == 0
