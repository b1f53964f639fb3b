"""What a generation of repairs sends, while reports still come."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.bloomcast.publisher.generation import FreshSymbols, Repairs
from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.segment.missing import Listed, Missing
from penstock.bloomcast.segment.repair_targets import RepairTargets
from penstock.bloomcast.segment.report_parts import report_parts
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.settings import HeadSettings, PublisherSettings
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.transfer import RepairChoice

BLOCKS = {0: 1_000}


class OneRound:
    """The first generation of repairs of a head with three ends."""

    def __init__(self) -> None:
        self._table = RoundTable(blocks_max=8)
        self._table.begin(1)
        ends = EndTable(HeadSettings())
        ends.replace({node: (0, 1 << node) for node in (1, 2, 3)})
        self._targets = RepairTargets(self._table, ends, PublisherSettings())
        head: Any = SimpleNamespace(rounds=self._table, targets=self._targets)
        self.repairs = Repairs(
            head, FreshSymbols(BLOCKS), blocks=BLOCKS, choice=RepairChoice.AUTO, generation=1
        )

    def report(self, end: int, missing: Missing) -> None:
        for report, flags in report_parts(
            missing, child=end, hold_100us=0, loss=0, done=0, total=1
        ):
            is_exact = bool(flags & Flag.EXACT)
            self._table.add(1, end, report, all_blocks=False, is_exact=is_exact)
        self._targets.clear()
        self.repairs.look_again()

    def sent(self) -> list[tuple[tuple[int, ...], tuple[int, ...] | None]]:
        found = []
        while (train := self.repairs.next_train(4)) is not None:
            assert train.is_repair
            found.append((train.numbers, train.ends))
        return found


def listing(*runs: tuple[int, int]) -> Missing:
    need = sum(stop - start for start, stop in runs)
    return Missing(listed={0: Listed(IntervalSet(runs), need)})


def test_no_symbol_goes_twice_in_one_generation() -> None:
    """It would be sealed twice under one key and number."""
    scene = OneRound()
    scene.report(1, listing((3, 4), (9, 10)))
    assert scene.sent() == [((3, 9), (1,))]
    scene.report(2, listing((3, 5)))
    assert scene.sent() == [((4,), (2,))]
    # Who lists a symbol that has been sent already lists it again, in the next one.
    scene.report(3, listing((3, 4)))
    assert scene.sent() == []


def test_a_late_count_is_served_by_the_code() -> None:
    scene = OneRound()
    scene.report(1, listing((3, 4)))
    assert scene.sent() == [((3,), (1,))]
    scene.report(2, Missing({0: 2}))
    assert scene.sent() == [((1_000,), (1, 2)), ((1_001,), (2,))]


def test_lists_that_are_too_long_together_are_served_by_the_code() -> None:
    scene = OneRound()
    scene.report(1, listing((0, 4)))
    scene.report(2, listing((10, 13)))
    assert scene.sent() == [((1_000, 1_001, 1_002), (2, 1)), ((1_003,), (1,))]


def test_what_is_required_goes_beside_the_code() -> None:
    scene = OneRound()
    scene.report(1, Missing(exact={0: IntervalSet([(0, 6)])}))
    scene.report(2, Missing({0: 1}))
    assert scene.sent() == [((0, 1, 2, 3), (1,)), ((4, 5), (1,)), ((1_000,), (2,))]
