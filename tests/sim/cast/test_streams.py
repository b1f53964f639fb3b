"""Streams: blocks that are repaired while others are written, and handed over in order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from penstock.bloomcast.facts import (
    BlockEnded,
    BlockFilled,
    BlocksGone,
    TransferFinished,
    TransferStopped,
    WriterHeld,
    WriterReleased,
)
from penstock.bloomcast.publisher.publisher import Publisher
from penstock.bloomcast.settings import StreamOverflow
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.machine import Port
from penstock.sim.checkers.cast.base import CastChecker
from penstock.sim.checkers.cast.bounds_of_tables import BoundsOfTablesChecker
from penstock.sim.swarm.cast import ITEM
from penstock.sim.swarm.cast_options import StreamOptions
from penstock.wire.frames.cast.base import CastBody, CastFrame, Origin
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import BlockNeed, Report
from penstock.wire.frames.cast.transfer import ClosedBlock, End
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, sent
from tests.sim.cast.stream_scenes import (
    BLOCK,
    SentBlocks,
    all_have,
    reader_of,
    repairs_are_asked_for_block_by_block,
    run_until,
    stream,
    what_a_relay_says_is_true_of_all_below_it,
    writer_of,
)
from tests.sim.cast.test_attacks import without_symbol_checkers


def test_blocks_are_handed_over_as_they_are_written() -> None:
    swarm = stream()
    begin(swarm)
    reader = reader_of(swarm, "h0")
    run_until(swarm, lambda: len(reader.ready) == 2)
    # The third block is being written.
    assert 2 * BLOCK < writer_of(swarm).written <= 3 * BLOCK
    finish(swarm)
    all_have(swarm, 4)
    assert sent(swarm.network, "Repair", sender="p") == 0
    # Each is asked about once but the last, and nobody needs anything.
    assert sent(swarm.network, "Report", sender="h0") < 15


@pytest.mark.parametrize("loss", [0.05, 0.2])
def test_losses_are_repaired(loss: float) -> None:
    swarm = stream(loss=loss)
    begin(swarm)
    finish(swarm, 40 * SECOND)
    all_have(swarm, 4)


def test_two_blocks_are_open_at_once() -> None:
    """The first is repaired while the second is written, and data does not wait for repairs."""
    swarm = stream(loss=0.1, symbols=8 * BLOCK)
    trains = SentBlocks(swarm.network)
    swarm.checkers.append(trains)
    begin(swarm)
    finish(swarm)
    all_have(swarm, 8)
    kinds = [(block, generation) for _, block, generation, _ in trains.trains]
    first_repair = min(at for at, kind in enumerate(kinds) if kind[1])
    assert (1, 0) in kinds[first_repair:]
    # What is written waits for no answers: it is late by what repairs take of the rate.
    data = [at for at, _, generation, _ in trains.trains if not generation]
    repairs = sum(count for _, _, generation, count in trains.trains if generation)
    assert data[-1] - data[0] < (8 * BLOCK + repairs) * 10 * MILLISECOND


def test_repairs_are_asked_for_block_by_block() -> None:
    repairs_are_asked_for_block_by_block()


def test_what_a_relay_says_is_true_of_all_below_it() -> None:
    what_a_relay_says_is_true_of_all_below_it()


def test_a_late_joiner_begins_with_the_next_block() -> None:
    swarm = stream(joins_ns=(0, 0, 1))
    begin(swarm, without=("h2",))
    swarm.network.run(1_500 * MILLISECOND)
    late = reader_of(swarm, "h2")
    late.subscribe()
    finish(swarm)
    assert reader_of(swarm, "h0").ready == [0, 1, 2, 3]
    assert late.ready == [2, 3]
    assert not late.gone
    # Nothing that was written before is sent again.
    assert sent(swarm.network, "Repair", sender="p") == 0


def test_a_block_is_closed_after_a_while() -> None:
    """A hundred symbols a second, of which a block would have 50."""
    swarm = stream(sending_ns=8 * SECOND, stream=StreamOptions(), train_symbols=1)
    begin(swarm)
    finish(swarm)
    filled = [
        (at, fact)
        for at, fact in swarm.network.nodes["p"].told(BlockFilled)
        if isinstance(fact, BlockFilled)
    ]
    # The last one ends with the stream.
    assert {fact.symbols for _, fact in filled[:-1]} == {7}
    steps = [later[0] - earlier[0] for earlier, later in pairwise(filled[:-1])]
    assert set(steps) == {280 * MILLISECOND}
    all_have(swarm, len(filled))


def test_a_lost_end_is_made_good_by_a_later_one() -> None:
    """The next END also says how long the block before was."""
    swarm = stream()
    faults = swarm.network.faults("r0", "h0")
    faults.lost_kinds = ("End",)
    begin(swarm)
    writer, reader = writer_of(swarm), reader_of(swarm, "h0")
    run_until(swarm, lambda: 1 in writer.latest.blocks)
    assert reader.ready == []
    faults.mend()
    run_until(swarm, lambda: bool(reader.ready))
    [first, second] = swarm.network.nodes["h0"].told(BlockEnded)[:2]
    assert first[0] == second[0]
    assert reader.ready == [0, 1]
    finish(swarm)
    all_have(swarm, 4)


def overflowing(overflow: StreamOverflow) -> StreamOptions:
    return StreamOptions(flush_ns=10 * SECOND, overflow=overflow)


def test_the_writer_waits_when_too_many_blocks_are_open() -> None:
    swarm = stream(
        symbols=16 * BLOCK, sending_ns=2 * SECOND, stream=overflowing(StreamOverflow.BLOCK)
    )
    network = swarm.network
    begin(swarm)
    run_until(swarm, lambda: writer_of(swarm).written > BLOCK)
    network.cut("r0", "h0")
    run_until(swarm, lambda: writer_of(swarm).is_held)
    assert writer_of(swarm).written <= 9 * BLOCK
    network.run(300 * MILLISECOND)
    network.mend("r0", "h0")
    finish(swarm)
    all_have(swarm, 16)
    publisher = network.nodes["p"]
    assert len(publisher.told(WriterHeld)) == len(publisher.told(WriterReleased)) > 0
    assert not publisher.told(BlocksGone)


def test_the_oldest_block_is_given_up_when_too_many_are_open() -> None:
    swarm = stream(
        symbols=16 * BLOCK, sending_ns=2 * SECOND, stream=overflowing(StreamOverflow.DROP)
    )
    network = swarm.network
    begin(swarm)
    run_until(swarm, lambda: writer_of(swarm).written > BLOCK)
    network.cut("r0", "h0")
    run_until(swarm, lambda: bool(writer_of(swarm).latest.gone))
    network.mend("r0", "h0")
    finish(swarm)
    writer, hindered, other = writer_of(swarm), reader_of(swarm, "h0"), reader_of(swarm, "h1")
    assert not network.nodes["p"].told(WriterHeld)
    assert hindered.gone
    assert set(hindered.gone) <= writer.latest.gone
    assert sorted([*hindered.ready, *hindered.gone]) == [*range(16)]
    assert other.ready == [*range(16)]


def test_a_stream_on_which_nothing_is_written_goes_on() -> None:
    """Longer than anybody waits for a silent transfer."""
    swarm = stream()
    begin(swarm)
    writer = writer_of(swarm)
    run_until(swarm, lambda: writer.written > BLOCK)
    writer.pause()
    swarm.network.run(40 * SECOND)
    writer.go_on()
    finish(swarm)
    all_have(swarm, len(writer.latest.blocks))


def test_a_pause_does_not_slow_a_stream_down() -> None:
    """Nobody reports on what was not sent."""
    swarm = stream(is_controlled=True, symbols=40 * BLOCK, sending_ns=20 * SECOND)
    begin(swarm)
    writer = writer_of(swarm)
    run_until(swarm, lambda: writer.written > 20 * BLOCK)
    publisher = swarm.network.nodes["p"].machine._participants.publishers[ITEM]
    assert isinstance(publisher, Publisher)
    before = publisher._rate.rate_bps
    writer.pause()
    swarm.network.run(20 * SECOND)
    assert publisher._rate.rate_bps == before
    writer.go_on()
    finish(swarm)
    all_have(swarm, len(writer.latest.blocks))


def test_who_wants_a_file_is_told_that_it_is_a_stream() -> None:
    swarm = stream()
    begin(swarm, without=("h0",))
    host = swarm.network.nodes["h0"]
    host.call(lambda node, now: node.subscribe(ITEM, now=now))
    swarm.network.run(SECOND)
    [(_, stopped)] = host.told(TransferStopped)
    assert stopped == TransferStopped(ITEM, "the sender has a stream")


def test_nothing_at_all_may_be_written() -> None:
    swarm = stream(symbols=0)
    begin(swarm)
    finish(swarm)
    all_have(swarm, 0)


def test_receivers_are_told_when_the_publisher_begins_again() -> None:
    swarm = stream()
    begin(swarm)
    reader = reader_of(swarm, "h0")
    run_until(swarm, lambda: len(reader.ready) == 2)
    publisher = swarm.network.nodes["p"]
    publisher.crash()
    swarm.network.run(100 * MILLISECOND)
    publisher.restart()
    run_until(swarm, lambda: reader.interruptions == 1)
    assert reader.ready == []
    finish(swarm)
    all_have(swarm, 4)
    assert len(swarm.network.nodes["h0"].told(TransferFinished)) == 0


@pytest.mark.parametrize("name", ["tree", "two LANs"])
def test_a_relay_that_restarts_is_taken_back(name: str) -> None:
    swarm = stream(world=BY_NAME[name], filter_ones_max=22, symbols=8 * BLOCK, loss=0.02)
    begin(swarm)
    run_until(swarm, lambda: writer_of(swarm).written > 3 * BLOCK)
    relay = swarm.network.nodes["r1"]
    relay.crash()
    swarm.network.run(200 * MILLISECOND)
    relay.restart()
    finish(swarm, 30 * SECOND)
    for reader in swarm.receivers:
        assert reader.is_complete
    assert reader_of(swarm, swarm.options.world.receivers[-1]).ready[-1] == 7


def test_single_symbols_and_trains_lose_about_as_many() -> None:
    def repairs(train_symbols: int) -> int:
        swarm = stream(loss=0.05, symbols=40 * BLOCK, train_symbols=train_symbols, seed=5)
        begin(swarm)
        finish(swarm)
        all_have(swarm, 40)
        return sent(swarm.network, "Repair", sender="p")

    assert repairs(1) == pytest.approx(repairs(46), rel=0.15)


class Latest(CastChecker):
    """The latest frame of each kind, by who sent it where."""

    name = "latest"

    def __init__(self) -> None:
        super().__init__()
        self.frames: dict[tuple[str, Port, type[CastBody]], Packet] = {}

    def sent(self, node: str, port: Port, frame: CastFrame) -> None:
        if isinstance(frame, Packet) and isinstance(frame.body, End | Report):
            self.frames[node, port, type(frame.body)] = frame


def test_what_is_forged_fills_no_table() -> None:
    """ENDs and reports about blocks that nobody has written, from whoever may send them."""
    swarm = stream(world=BY_NAME["tree"], filter_ones_max=22)
    network, latest = swarm.network, Latest()
    bounds = BoundsOfTablesChecker(network, swarm.sender.offer)
    swarm.checkers.append(latest)
    begin(swarm)
    run_until(swarm, lambda: writer_of(swarm).written > 2 * BLOCK)
    without_symbol_checkers(swarm)
    for number, block in enumerate(range(20, 4_000, 100)):
        closed = ClosedBlock(block=block, symbols=BLOCK, digest=bytes(32))
        for (node, port, kind), frame in list(latest.frames.items()):
            changes: dict[str, Any] = {"needs": (BlockNeed(block, BLOCK),), "ranges": ()}
            if kind is End:
                changes = {"first_block": 0, "last_block": block, "closed": (closed,)}
            origin = frame.origin
            assert origin is not None
            forged = Packet(
                header=msgspec.structs.replace(frame.header, block=block),
                body=msgspec.structs.replace(frame.body, **changes),
                origin=Origin(origin.node, origin.boot, origin.number + 1_000 + number),
            )
            network.nodes[port].arrive(forged, node)
        bounds.sample(network)
        network.run(MILLISECOND)
    assert not bounds.wrong
