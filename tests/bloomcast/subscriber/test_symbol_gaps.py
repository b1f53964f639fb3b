"""Losses by gaps in (block, symbol)."""

from __future__ import annotations

from penstock.bloomcast.subscriber.symbol_gaps import SymbolGaps
from penstock.wire.frames.cast.base import MANIFEST_BLOCK


def heard(*trains: tuple[int, range | list[int]], symbols: int = 100) -> list[int]:
    gaps = SymbolGaps()
    return [gaps.arrived(block, symbols, list(numbers)) for block, numbers in trains]


def test_without_gaps_nothing_is_lost() -> None:
    assert heard((0, range(50)), (0, range(50, 100)), (1, range(10))) == [0, 0, 0]


def test_a_gap_between_trains_is_lost() -> None:
    assert heard((0, range(10)), (0, range(14, 20))) == [0, 4]


def test_a_gap_within_a_train_is_lost() -> None:
    assert heard((0, [0, 1, 4, 5, 6])) == [2]


def test_the_tail_of_one_block_and_the_head_of_the_next_are_lost() -> None:
    assert heard((0, range(97)), (1, range(2, 10))) == [0, 5]


def test_blocks_that_are_missing_as_a_whole_are_not_counted() -> None:
    """Nobody needs them: they were not sent."""
    assert heard((0, range(100)), (7, range(10))) == [0, 0]


def test_who_joins_late_has_lost_nothing() -> None:
    assert heard((5, range(40, 50)), (5, range(50, 60))) == [0, 0]


def test_the_manifest_comes_first_and_may_come_again() -> None:
    gaps = SymbolGaps()
    assert gaps.arrived(MANIFEST_BLOCK, 3, [0, 1, 2]) == 0
    assert gaps.arrived(0, 100, range(10)) == 0
    assert gaps.arrived(MANIFEST_BLOCK, 3, [0, 1, 2]) == 0
    assert gaps.arrived(0, 100, range(10, 20)) == 0


def test_what_three_others_have_not_overtaken_is_only_late() -> None:
    gaps = SymbolGaps()
    assert [gaps.arrived(0, 100, [number]) for number in (0, 2, 3, 1, 4, 5)] == [0] * 6
    assert [gaps.arrived(0, 100, [number]) for number in (7, 8, 9)] == [0, 0, 1]


def test_gaps_that_follow_one_another_are_not_forgotten() -> None:
    gaps = SymbolGaps()
    lost = sum(gaps.arrived(0, 1_000, [number]) for number in range(0, 1_000, 2))
    assert 490 < lost < 500
