"""Scenes in which chosen symbols of one block are lost, and what was sent again of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.symbol_loss import SymbolLoss
from penstock.sim.checkers.cast.base import CastChecker
from penstock.sim.swarm.cast import CastSwarm
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import BlockNeed, Report
from penstock.wire.frames.cast.symbols import Symbols
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, scene

SYMBOLS = 1_000


class LosesOnce(SymbolLoss):
    """Loses these symbols the first time."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = set(numbers)

    def passes(self, now: Instant) -> bool:
        return True

    def survivors(self, numbers: tuple[int, ...], now: Instant) -> tuple[int, ...]:
        lost = self._numbers.intersection(numbers)
        self._numbers -= lost
        return tuple([number for number in numbers if number not in lost])


class Said(CastChecker):
    """What nodes sent again, and what they reported."""

    name = "said"

    def __init__(self) -> None:
        super().__init__()
        # By sender, in the order of sending.
        self.repairs: dict[str, list[int]] = {}
        self.to: dict[tuple[str, Port], list[int]] = {}
        self.reports: dict[str, list[tuple[Flag, Report]]] = {}
        self.generations = 0

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        if not isinstance(frame, Packet):
            return
        self.generations = max(self.generations, frame.header.generation)
        if isinstance(frame.body, Symbols) and frame.header.flags & Flag.REPAIR:
            self.repairs.setdefault(node, []).extend(frame.body.numbers)
            self.to.setdefault((node, port), []).extend(frame.body.numbers)
        elif isinstance(frame.body, Report):
            self.reports.setdefault(node, []).append((frame.header.flags, frame.body))


def one_block(**changes: Any) -> tuple[CastSwarm, Said]:
    """One block of a thousand symbols, and nothing is lost but what a test says."""
    options = {"symbols": SYMBOLS, "block_symbols": SYMBOLS, "manifest_symbols": 0, **changes}
    swarm = scene(**options)
    said = Said()
    swarm.checkers.append(said)
    return swarm, said


def lose(network: CastNetwork, sender: str, receiver: str, numbers: Iterable[int]) -> None:
    """These symbols of generation 0, on one link."""
    link, node = network.link(sender, receiver), network.nodes[receiver].number
    arrive, _ = link._receivers[node]
    link.connect(node, arrive, LosesOnce(numbers))


def cast(swarm: CastSwarm) -> None:
    """Until everybody has it."""
    begin(swarm)
    finish(swarm, 10 * SECOND)
    assert all(receiver.is_complete for receiver in swarm.receivers)
    assert [fact.failed for _, fact in swarm.sender.finished] == [()]


def what_is_listed_serves_all_in_one_generation() -> None:
    """Two ends of one relay lack different symbols: neither list holds the other."""
    swarm, said = one_block(world=BY_NAME["tree"], filter_ones_max=22)
    lose(swarm.network, "r3", "h0", [3, 500])
    lose(swarm.network, "r3", "h1", [3, 700])
    lose(swarm.network, "r4", "h2", [900])
    cast(swarm)
    assert said.repairs["p"] == [3, 500, 700, 900]
    assert said.to["r3", "h0"] == [3, 500]
    assert said.to["r3", "h1"] == [3, 700]
    assert said.to["r4", "h2"] == [900]
    assert said.generations == 1


def lists_that_are_too_long_together_count_as_the_longest() -> None:
    """Four symbols by code serve two ends that lack four each."""
    swarm, said = one_block(world=BY_NAME["tree"], filter_ones_max=22)
    lose(swarm.network, "r3", "h0", [1, 2, 3, 4])
    lose(swarm.network, "r3", "h1", [5, 6, 7])
    cast(swarm)
    assert said.repairs["p"] == [SYMBOLS, SYMBOLS + 1, SYMBOLS + 2, SYMBOLS + 3]
    assert said.to["r3", "h1"] == said.repairs["p"][:3]
    # The relay of both counted for them; they had listed.
    [relayed] = [report for _, report in said.reports["r0"] if report.needs or report.ranges]
    assert relayed.needs == (BlockNeed(0, 4),)
