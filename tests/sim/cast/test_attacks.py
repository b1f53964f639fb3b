"""Whoever has the keys may still be hostile: nobody ends wrong, no table overflows."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Port
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.checkers.cast.base import CheckedFrames
from penstock.sim.checkers.cast.bounds_of_tables import BoundsOfTablesChecker
from penstock.sim.swarm.cast import ITEM, CastSwarm
from penstock.wire.frames.cast.base import FILTER_BITS, CastBody, CastFrame, Origin
from penstock.wire.frames.cast.control import Up
from penstock.wire.frames.cast.header import TTL_MAX, Flag, Header
from penstock.wire.frames.cast.membership import Subscribe, Unsubscribe
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.report import BlockNeed, Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.topology import CastRole, LinkState
from penstock.wire.frames.cast.transfer import First, Stop
from tests.sim.cast.faulty_worlds import BY_NAME, begin, finish, scene, sent

ALL_ONES = (1 << FILTER_BITS) - 1
FORGER = 99


def inject(swarm: CastSwarm, node: str, frame: CastFrame, *, via: Port) -> None:
    swarm.network.nodes[node].arrive(frame, via)


def packet(body: CastBody, *, links: int = 0, number: int = 1, **fields: Any) -> Packet:
    header = Header(ttl=TTL_MAX, choice=0, links=links, item=ITEM, **fields)
    origin = None if isinstance(body, Symbols) else Origin(FORGER, 1, number)
    return Packet(header=header, body=body, origin=origin)


def all_are_complete(swarm: CastSwarm) -> bool:
    return all(receiver.is_complete for receiver in swarm.receivers)


def test_full_filters_are_dropped() -> None:
    swarm = scene()
    begin(swarm)
    swarm.network.run(300 * MILLISECOND)
    before = sent(swarm.network, "Stop", sender="r0")
    inject(swarm, "r0", packet(Stop(reason="forged"), links=ALL_ONES), via="h0")
    assert sent(swarm.network, "Stop", sender="r0") == before
    finish(swarm)
    assert all_are_complete(swarm)


def test_a_filter_with_every_link_of_a_ring_goes_round_until_its_hops_end() -> None:
    assert crossings_of_a_ring() <= 4 * TTL_MAX


def crossings_of_a_ring() -> int:
    swarm = scene(world=BY_NAME["ring"])
    swarm.network.run(2 * SECOND)
    routers = ("r0", "r1", "r2", "r3")
    links = 0
    for one in routers:
        for info in swarm.network.nodes[one].machine._ports:
            if info.port in routers:
                links |= info.tags[0]
    assert links.bit_count() <= 99
    inject(swarm, "r0", packet(Stop(reason="forged"), links=links), via="h2")
    swarm.network.run(20 * SECOND)
    return sum(sent(swarm.network, "Stop", sender=router) for router in routers)


class Recorder(CheckedFrames):
    """Keeps what arrives, to send it again."""

    def __init__(self, swarm: CastSwarm) -> None:
        super().__init__(swarm.checkers)
        self.frames: list[tuple[str, CastFrame]] = []

    def arrived(self, node: str, frame: CastFrame, *, now: Instant) -> None:
        self.frames.append((node, frame))


def recorded(swarm: CastSwarm) -> Recorder:
    recorder = Recorder(swarm)
    # The observer is a part of the network.
    swarm.network.__dict__["observer"] = recorder
    return recorder


def test_frames_that_are_replayed_change_nothing() -> None:
    swarm = scene(world=BY_NAME["tree"], filter_ones_max=22, loss=0.02)
    recorder = recorded(swarm)
    begin(swarm)
    swarm.network.run(1_200 * MILLISECOND)
    for node, frame in list(recorder.frames):
        via = next(iter(swarm.network.nodes[node].machine._ports)).port
        inject(swarm, node, frame, via=via)
    for checker in swarm.checkers:
        checker.sample(swarm.network)
    finish(swarm)
    assert all_are_complete(swarm)
    assert [fact.failed for _, fact in swarm.sender.finished] == [()]


def test_the_stop_of_the_last_transfer_does_not_end_the_next() -> None:
    swarm = scene()
    recorder = recorded(swarm)
    begin(swarm, without=("h2",))
    swarm.network.run(8 * SECOND)
    [late] = [receiver for receiver in swarm.receivers if receiver.node == "h2"]
    stops = [
        (node, frame)
        for node, frame in recorder.frames
        if isinstance(frame, Packet) and isinstance(frame.body, Stop) and node != "h2"
    ]
    assert stops
    late.subscribe()
    swarm.sender.publish_again()
    swarm.network.run(1_500 * MILLISECOND)
    for _, frame in stops:
        inject(swarm, "h2", frame, via="r0")
    finish(swarm)
    assert late.is_complete


def forged_report(child: int, need: int, header: Header) -> Packet:
    body = Report(
        child=child, part=0, parts=1, hold_100us=0, loss=0, done=0, total=1,
        needs=(BlockNeed(0, need),),
    )  # fmt: skip
    return packet(
        body,
        segment=header.segment,
        plan=header.plan,
        generation=header.generation,
        stamp_us=header.stamp_us,
    )


def test_forged_reports_bring_no_repairs() -> None:
    swarm = scene(sending_ns=200 * MILLISECOND)
    recorder = recorded(swarm)
    begin(swarm)
    while not any(_is_report(frame) for _, frame in recorder.frames):
        swarm.network.run(10 * MILLISECOND)
    header = next(f.header for _, f in recorder.frames if isinstance(f, Packet) and _is_report(f))
    for generation in range(3):
        asked = msgspec.structs.replace(header, generation=generation)
        inject(swarm, "p", forged_report(FORGER, 100, asked), via="r0")
        known = swarm.network.nodes["h0"].number
        inject(swarm, "p", forged_report(known, 60_000, asked), via="r0")
        swarm.network.run(100 * MILLISECOND)
    finish(swarm)
    assert all_are_complete(swarm)
    assert swarm.network.crossings.total("Repair") == 0


def _is_report(frame: CastFrame) -> bool:
    return isinstance(frame, Packet) and isinstance(frame.body, Report)


def test_nobody_speaks_for_another_to_the_controller() -> None:
    swarm = scene()
    begin(swarm)
    swarm.network.run(300 * MILLISECOND)
    victim = swarm.network.nodes["h0"].number
    controller = swarm.network.nodes["r0"].number
    bodies: list[CastBody] = [
        Unsubscribe(subscriber=victim),
        Subscribe(subscriber=victim, name="forged"),
        LinkState(
            node=victim, name="h0", roles=CastRole(0), number=9_999, page=0, pages=1, ports=()
        ),
        Stop(reason="forged"),
    ]
    for number, body in enumerate(bodies):
        inject(swarm, "r0", packet(Up(to=controller, body=body), number=number + 1), via="h1")
    finish(swarm)
    assert all_are_complete(swarm)


def test_forged_frames_fill_no_table() -> None:
    """10 000 senders that do not exist, blocks that do not exist, and symbols without end."""
    swarm = scene(world=BY_NAME["tree"], filter_ones_max=22, symbols=40, sending_ns=4 * SECOND)
    begin(swarm)
    swarm.network.run(1_500 * MILLISECOND)
    network = swarm.network
    for number in range(10_000):
        body = Subscribe(subscriber=number + 1_000, name="forged")
        forged = Packet(
            header=Header(ttl=9, choice=0, links=0, item=ITEM._replace(name=number)),
            body=Up(to=network.nodes["r0"].number, body=body),
            origin=Origin(number + 2_000, 1, 1),
        )
        inject(swarm, "r0", forged, via="r1")
    for number in range(2_000):
        symbols = packet(
            Symbols(numbers=(100 + number,)),
            symbol=100 + number,
            block=number % 7,
            generation=number % 256,
            flags=Flag.REPAIR,
            segment=_parent_segment(network),
        )
        for node in ("h0", "r0", "r1", "r2"):
            inject(swarm, node, symbols, via="r1" if node != "r1" else "r0")
    checker = BoundsOfTablesChecker(network, swarm.sender.offer)
    checker.sample(network)
    assert not checker.wrong


def _parent_segment(network: CastNetwork) -> int:
    relays = network.nodes["r1"].machine._participants.relays._relays
    return next(iter(relays.values())).parent_segment if relays else 0


def without_symbol_checkers(swarm: CastSwarm) -> None:
    """They take false symbols for wrong ones."""
    for each in [*swarm.checkers]:
        if each.name in ("identical bytes", "identical blocks", "one crossing"):
            swarm.checkers.remove(each)
            swarm.network.watchers.remove(each)


def test_a_poisoned_block_is_asked_for_again() -> None:
    swarm = scene(loss=0.1)
    begin(swarm)
    network = swarm.network
    victim = network.nodes["h0"]
    for number in (5_000, 5_001):
        victim.poison(ITEM, 0, number)
    # A source symbol is false too: it comes before the true one.
    victim.poison(ITEM, 1, 7)
    without_symbol_checkers(swarm)
    while not any(True for _, fact in victim.facts):
        network.run(10 * MILLISECOND)
    for block, number in ((0, 5_000), (0, 5_001), (1, 7)):
        false = packet(Symbols(numbers=(number,)), symbol=number, block=block)
        inject(swarm, "h0", false, via="r0")
    # From now on what comes under that number is true.
    victim._decoder.false.discard((ITEM, 1, 7))
    finish(swarm, 30 * SECOND)
    assert all_are_complete(swarm)
    # About what all three lack, and one block.
    assert sent(network, "Repair", sender="p") < 100 + 3 * 40
    assert victim._decoder._were_poisoned
    assert [fact.failed for _, fact in swarm.sender.finished] == [()]


def test_an_impossible_object_is_not_opened() -> None:
    swarm = scene()
    swarm.network.run(2 * SECOND)
    swarm.receivers[0].subscribe()
    first = First(
        up_choice=0, up_links=0, up_ttl=1, epoch=1, object_id=bytes(16), kind=0,  # type: ignore[arg-type]
        length_bytes=1 << 60, symbol_bytes=64, blocks=3, block_symbols=9, manifest_bytes=0,
        hold_100us=0,
    )  # fmt: skip
    inject(swarm, "h0", packet(first), via="r0")
    assert swarm.network.nodes["h0"].machine.is_waiting(ITEM)
