"""So many a second, and a second's worth at once, whatever the clock does."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import SECOND
from penstock.transport.recovery.admission import Budget


def spend(budget: Budget, now: int) -> int:
    spent = 0
    while budget.take(now):
        spent += 1
    return spent


@pytest.mark.parametrize("start", [0, 5 * SECOND, -3_600 * SECOND])
def test_a_budget_fills_at_its_rate(start: int) -> None:
    budget = Budget(10)
    assert spend(budget, start) == 10
    assert spend(budget, start + SECOND // 2) == 5
    assert spend(budget, start + 100 * SECOND) == 10
    assert budget.refused == 3


def test_a_clock_that_is_set_back_does_not_stop_it() -> None:
    budget = Budget(10)
    spend(budget, 3_600 * SECOND)
    assert spend(budget, 0) == 0
    assert spend(budget, SECOND // 2) == 5


def test_less_than_one_a_second_is_one_at_a_time() -> None:
    budget = Budget(0.5)
    assert [budget.take(at * SECOND) for at in range(5)] == [True, False, True, False, True]
