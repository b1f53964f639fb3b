"""What was lost is sent again as it is where that is little, and to those alone who lack it."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.swarm.cast import ITEM, CastSwarm
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import RepairChoice
from tests.sim.cast.exact_scenes import SYMBOLS, Said, cast, lose, one_block
from tests.sim.cast.faulty_worlds import begin, finish
from tests.sim.cast.test_attacks import all_are_complete, inject, packet, without_symbol_checkers


def star(choice: RepairChoice, **lost: list[int]) -> Said:
    """One router; by host, what does not reach it at first."""
    swarm, said = one_block(repair=choice)
    for host, numbers in lost.items():
        lose(swarm.network, "r0", host, numbers)
    cast(swarm)
    return said


@pytest.mark.parametrize("choice", [RepairChoice.AUTO, RepairChoice.EXACT])
def test_a_small_loss_is_repaired_exactly_and_by_no_more_symbols(choice: RepairChoice) -> None:
    lost = {"h0": [3, 500, 501], "h1": [3]}
    exact, coded = star(choice, **lost), star(RepairChoice.CODED, **lost)
    assert exact.to["r0", "h0"] == lost["h0"]
    assert exact.to["r0", "h1"] == lost["h1"]
    assert ("r0", "h2") not in exact.to
    assert len(exact.repairs["p"]) <= len(coded.repairs["p"])
    assert coded.repairs["p"] == [SYMBOLS, SYMBOLS + 1, SYMBOLS + 2]


def test_a_larger_loss_is_counted_and_coded() -> None:
    """Up to 0.5 % of a block: five symbols."""
    assert star(RepairChoice.AUTO, h0=[*range(0, 500, 100)]).repairs["p"] == [*range(0, 500, 100)]
    said = star(RepairChoice.AUTO, h0=[*range(0, 600, 100)])
    assert min(said.repairs["p"]) == SYMBOLS
    assert not any(report.ranges for _, report in said.reports["h0"])


def test_one_who_counts_has_all_coded() -> None:
    said = star(RepairChoice.AUTO, h0=[7], h1=[*range(100, 110)])
    assert min(said.repairs["p"]) == SYMBOLS
    # One symbol serves who lists one.
    assert len(said.to["r0", "h0"]) == 1


def test_all_that_can_be_listed_is_if_the_publisher_says_so() -> None:
    lost = [*range(0, 1_000, 40)]
    assert star(RepairChoice.EXACT, h0=lost).repairs["p"] == lost
    # A report lists 32 ranges of a block at most.
    assert min(star(RepairChoice.EXACT, h0=[*range(0, 1_000, 30)]).repairs["p"]) == SYMBOLS


def test_nobody_lists_for_a_publisher_that_codes() -> None:
    said = star(RepairChoice.CODED, h0=[3])
    assert not any(report.ranges for reports in said.reports.values() for _, report in reports)


def poisoned(*, times: int, seed: int = 1, loss: float = 0.1) -> tuple[CastSwarm, Said]:
    """Somebody sends false repair symbols, again and again."""
    swarm, said = one_block(symbols=200, block_symbols=100, loss=loss, seed=seed)
    begin(swarm)
    network = swarm.network
    victim = network.nodes["h0"]
    without_symbol_checkers(swarm)
    while not victim.facts:
        network.run(10 * MILLISECOND)
    for number in range(5_000, 5_000 + times):
        victim.poison(ITEM, 0, number)
        false = packet(Symbols(numbers=(number,)), symbol=number, block=0)
        inject(swarm, "h0", false, via="r0")
        network.run(100 * MILLISECOND)
    finish(swarm)
    assert all_are_complete(swarm)
    return swarm, said


def test_a_poisoned_block_takes_no_more_repair_symbols() -> None:
    """However often it is tried, nothing is sent again but what is missing."""
    once, often = (len(poisoned(times=times)[1].repairs["p"]) for times in (1, 20))
    assert often <= once + 10


def test_the_missing_symbols_of_a_poisoned_block_are_required() -> None:
    _, said = poisoned(times=1)
    required = [report for flags, report in said.reports["h0"] if flags & Flag.EXACT]
    assert required
    assert {entry.block for report in required for entry in report.ranges} == {0}
    # Others are served by code at the same time.
    assert min(said.repairs["p"]) < 100 <= max(said.repairs["p"])


def test_a_poisoned_block_is_repaired_exactly_even_by_a_publisher_that_codes() -> None:
    swarm, said = one_block(repair=RepairChoice.CODED)
    lose(swarm.network, "r0", "h0", [*range(0, 1_000, 10)])
    begin(swarm)
    network = swarm.network
    victim = network.nodes["h0"]
    without_symbol_checkers(swarm)
    while not victim.facts:
        network.run(10 * MILLISECOND)
    victim.poison(ITEM, 0, 5_000)
    inject(swarm, "h0", packet(Symbols(numbers=(5_000,)), symbol=5_000, block=0), via="r0")
    finish(swarm, 10 * SECOND)
    assert all_are_complete(swarm)
    # 99 repair symbols were enough with the false one; then come all that were lost.
    assert sorted(set(said.repairs["p"])) == [*range(0, 1_000, 10), *range(1_000, 1_099)]
