"""Streams in worlds of the swarm, and what was said about their blocks."""

from __future__ import annotations

from typing import Any

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.stream_programs import ReadingProgram, WritingProgram
from penstock.sim.checkers.cast.base import CastChecker
from penstock.sim.swarm.cast import CastSwarm
from penstock.sim.swarm.cast_options import StreamOptions
from penstock.wire.frames.cast.base import CastFrame
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, scene

BLOCK = 50


class SentBlocks(CastChecker):
    """The symbols that the publisher sends, in order: when, block, generation, how many."""

    name = "sent blocks"

    def __init__(self, network: CastNetwork) -> None:
        super().__init__()
        self._network = network
        self.trains: list[tuple[Instant, int, int, int]] = []

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        if node == "p" and isinstance(frame, Packet) and isinstance(frame.body, Symbols):
            header, now = frame.header, self._network.events.now
            count = len(frame.body.numbers)
            self.trains.append((now, header.block, header.generation, count))

    def repairs(self, block: int) -> int:
        return sum(count for _, each, gen, count in self.trains if each == block and gen)


def stream(**changes: Any) -> CastSwarm:
    """Four blocks in four seconds to three hosts, unless something else is said."""
    options = {
        "symbols": 4 * BLOCK,
        "block_symbols": BLOCK,
        "manifest_symbols": 0,
        "sending_ns": 4 * SECOND,
        "stream": StreamOptions(flush_ns=10 * SECOND),
        **changes,
    }
    return scene(**options)


def writer_of(swarm: CastSwarm) -> WritingProgram:
    assert isinstance(swarm.sender, WritingProgram)
    return swarm.sender


def reader_of(swarm: CastSwarm, node: str) -> ReadingProgram:
    for reader in swarm.receivers:
        if reader.node == node:
            assert isinstance(reader, ReadingProgram)
            return reader
    raise AssertionError(node)


def run_until(swarm: CastSwarm, condition: Any, within_s: int = 30) -> None:
    """Lets time pass until something is so."""
    network = swarm.network
    end = network.events.now + within_s * SECOND
    while not condition():
        assert network.events.now < end
        network.run(5 * MILLISECOND)


def all_have(swarm: CastSwarm, blocks: int) -> None:
    """Everybody has every block, and knows that there are no others."""
    for reader in swarm.receivers:
        assert isinstance(reader, ReadingProgram)
        assert (reader.node, reader.ready) == (reader.node, [*range(blocks)])
        assert reader.is_complete
        assert not reader.gone
    assert [fact.failed for _, fact in writer_of(swarm).finished] == [()]


def repairs_are_asked_for_block_by_block() -> None:
    """A train of ten symbols is lost of each block: each is repaired by as many, and a few more."""
    swarm = stream(symbols=2 * BLOCK, sending_ns=SECOND, world=BY_NAME["tree"], filter_ones_max=22)
    sent = SentBlocks(swarm.network)
    swarm.checkers.append(sent)
    network = swarm.network
    begin(swarm)
    run_until(swarm, lambda: bool(sent.trains))
    for _ in range(2):
        network.cut("r3", "h0")
        network.run(60 * MILLISECOND)
        network.mend("r3", "h0")
        network.run(440 * MILLISECOND)
    finish(swarm, 10 * SECOND)
    all_have(swarm, 2)
    for block in (0, 1):
        assert 10 <= sent.repairs(block) <= 15, (block, sent.repairs(block))


def what_a_relay_says_is_true_of_all_below_it() -> None:
    """One of two hosts loses symbols of each block: the other's later reports do not hide it."""
    swarm = stream(world=BY_NAME["tree"], filter_ones_max=22, loss=0.05)
    begin(swarm)
    finish(swarm, 20 * SECOND)
    all_have(swarm, 4)
