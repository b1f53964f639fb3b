"""Amounts by second: what counts, and what is left out."""

from __future__ import annotations

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.streams.second_sums import SecondSums
from penstock.metrics.tally import Tally
from tests.metrics.streams.made import run_of


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_samples_add_up_in_the_second_that_they_end() -> None:
    run, tally = run_of(2), Tally()
    run.codes.names("broker").extend(["late", "seen", "never"])
    sums = SecondSums(run, "broker", ["a", "b"])
    sums.add(ints(1, 1, 1), ints(SECOND, SECOND // 2, 2 * SECOND), a=ints(1, 2, 4), b=ints(0, 0, 8))
    sums.add(ints(0), ints(3 * SECOND), a=ints(9), b=ints(9))
    sums.tally(tally)
    assert tally.names_of_entities("a") == ["seen"]
    assert tally.get("a", entity="seen").tolist() == [3, 4]
    assert tally.get("b", entity="seen").tolist() == [0, 8]
