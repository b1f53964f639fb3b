"""Counts of disorder, against loops that anyone can check."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.metrics.laws import violations
from penstock.metrics.laws.violations import RunningMaximum

Rows = list[tuple[int, int]]

SMALL = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), max_size=40)
INT64 = st.integers(-(2**63), 2**63 - 1)
LARGE = st.lists(st.tuples(st.sampled_from([-(2**63), -1, 70_000, 2**63 - 1]), INT64), max_size=15)
ANY = st.one_of(SMALL, LARGE)


def columns(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def naive_late(rows: Rows) -> list[bool]:
    return [any(p == pair and s > seq for p, s in rows[:i]) for i, (pair, seq) in enumerate(rows)]


def naive_descents(rows: Rows) -> list[bool]:
    last: dict[int, int] = {}
    found = []
    for pair, seq in rows:
        found.append(last.get(pair, seq) > seq)
        last[pair] = seq
    return found


def naive_inversions(rows: Rows) -> int:
    return sum(a[0] == b[0] and a[1] > b[1] for a, b in combinations(rows, 2))


@settings(deadline=None, max_examples=60)
@given(ANY)
@example([(0, -(2**63)), (1, 2**63 - 1), (1, -(2**63)), (0, 5)])
def test_late_rows_are_those_a_loop_finds(rows: Rows) -> None:
    assert violations.late(*columns(rows)).tolist() == naive_late(rows)


@settings(deadline=None, max_examples=60)
@given(ANY)
def test_descents_are_those_a_loop_finds(rows: Rows) -> None:
    assert violations.descents(*columns(rows)).tolist() == naive_descents(rows)


@settings(deadline=None, max_examples=60)
@given(ANY)
def test_inversions_are_as_many_as_a_loop_finds(rows: Rows) -> None:
    assert violations.inversions(*columns(rows)) == naive_inversions(rows)


@settings(deadline=None, max_examples=60)
@given(rows=SMALL, cuts=st.lists(st.integers(0, 40), max_size=6))
def test_batches_find_what_the_whole_does(rows: Rows, cuts: list[int]) -> None:
    pairs, seqs = columns(rows)
    running = RunningMaximum()
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    found = [running.feed(pairs[a:b], seqs[a:b]) for a, b in pairwise(edges)]
    assert np.concatenate(found).tolist() == naive_late(rows)
    assert running.rows == len(rows)
    assert running.late == sum(naive_late(rows))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), pairs=st.sampled_from([1, 7, 300, 100_000]))
def test_batches_and_whole_agree_on_many_rows(seed: int, pairs: int) -> None:
    rng = np.random.default_rng(seed)
    pair = rng.integers(0, pairs, 5000).astype(np.int32)
    seq = (np.arange(5000) + rng.integers(0, 50, 5000)).astype(np.uint64)
    running = RunningMaximum()
    found = [running.feed(pair[i : i + 999], seq[i : i + 999]) for i in range(0, 5000, 999)]
    assert np.array_equal(np.concatenate(found), violations.late(pair, seq))


def test_a_reversed_stream_has_every_inversion_there_can_be() -> None:
    n = 100_000
    pairs, seqs = np.zeros(n, dtype=np.int64), np.arange(n)[::-1]
    assert violations.inversions(pairs, seqs) == n * (n - 1) // 2
    assert violations.late(pairs, seqs).sum() == n - 1
    assert violations.descents(pairs, seqs).sum() == n - 1


def test_one_straggler_is_late_once_but_inverts_with_all_before_it() -> None:
    pairs, seqs = [1] * 6, [2, 3, 4, 5, 1, 6]
    assert violations.late(pairs, seqs).tolist() == [False] * 4 + [True, False]
    assert violations.inversions(pairs, seqs) == 4


def test_one_early_bird_makes_all_after_it_late_but_only_one_descent() -> None:
    pairs, seqs = [1] * 5, [5, 1, 2, 3, 4]
    assert violations.late(pairs, seqs).sum() == 4
    assert violations.descents(pairs, seqs).sum() == 1


def test_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="one length"):
        violations.late([1, 2], [1])
    with pytest.raises(UsageError, match="integers"):
        violations.inversions([1.5], [1])
    with pytest.raises(UsageError, match="codes"):
        RunningMaximum().feed([-1], [1])
    with pytest.raises(UsageError, match="2\\^63"):
        violations.late([0], np.array([2**63], dtype=np.uint64))
