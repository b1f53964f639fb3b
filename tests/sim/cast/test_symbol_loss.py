"""How many symbols a link loses, and how many in a row."""

from __future__ import annotations

from itertools import groupby
from random import Random

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.sim.cast.symbol_loss import SymbolLoss

COUNT = 400_000


def lost(share: float, burst: float, *, train: int) -> list[bool]:
    loss = SymbolLoss(share, Random(4), burst=burst)
    found: list[bool] = []
    for start in range(0, COUNT, train):
        numbers = tuple(range(start, start + train))
        arrived = set(loss.survivors(numbers, 0))
        found += [number not in arrived for number in numbers]
    return found


@pytest.mark.parametrize("burst", [1.0, 2.5, 8.0])
@pytest.mark.parametrize("share", [0.03, 0.2])
def test_the_share_and_the_length_of_bursts_are_as_asked(share: float, burst: float) -> None:
    found = lost(share, burst, train=1)
    assert sum(found) / COUNT == pytest.approx(share, rel=0.12)
    lengths = [sum(1 for _ in run) for is_lost, run in groupby(found) if is_lost]
    # Two bursts may meet: with so many more losses in a row.
    begins = share / (share + burst * (1 - share))
    assert sum(lengths) / len(lengths) == pytest.approx(burst / (1 - begins), rel=0.1)


@pytest.mark.parametrize("burst", [1.0, 8.0])
def test_trains_lose_what_single_symbols_would(burst: float) -> None:
    alone = lost(0.1, burst, train=1)
    assert alone == lost(0.1, burst, train=40)
    assert alone == lost(0.1, burst, train=8)


def test_nothing_is_lost_without_losses() -> None:
    assert not any(lost(0.0, 8.0, train=40))


def test_a_burst_is_over_when_nothing_was_sent_for_a_while() -> None:
    """Frames that are a second apart are lost one by one."""
    loss = SymbolLoss(0.2, Random(4), burst=8.0)
    found = [not loss.passes(number * SECOND) for number in range(100_000)]
    lengths = [sum(1 for _ in run) for is_lost, run in groupby(found) if is_lost]
    assert sum(lengths) / len(lengths) < 1.1


@pytest.mark.parametrize(("share", "burst"), [(1.0, 1.0), (-0.1, 1.0), (0.1, 0.5)])
def test_odd_shares_and_bursts_are_refused(share: float, burst: float) -> None:
    with pytest.raises(UsageError):
        SymbolLoss(share, Random(1), burst=burst)
