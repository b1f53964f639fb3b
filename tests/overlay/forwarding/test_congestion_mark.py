"""The congestion mark on its way: set once, kept at every hop, handed over with the message."""

from __future__ import annotations

import msgspec
import pytest

from penstock.kernel.instant import SECOND
from penstock.overlay.forwarding.congestion_mark import mark_congestion
from penstock.wire import decode, encode, size_of
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from tests.frames import data
from tests.overlay.net import Net
from tests.overlay.test_broker import fork

FRAME = data(9, {"x": 1}, pub=9)
PACKET = Packet(
    id=PacketId(1, 7, 1),
    traffic=TrafficClass.DATA,
    destinations=(3, 4),
    carried=CarriedFrame(FRAME),
)
UNMARKED: list[OverlayFrame] = [
    Hello(broker=1, epoch=1, network=1, heard=True),
    Pub(traffic=TrafficClass.DATA, carried=CarriedFrame(FRAME)),
    Notify(carried=CarriedFrame(EchoRequest(subscriber=1, pub=2, send_ts_us=3))),
]


def handed_over(net: Net) -> dict[str, bool]:
    """Whom the message came to, and whether it was marked."""
    return {name: (name, FRAME.id) in net.marked for name in net.got(FRAME.id)}


@pytest.mark.parametrize("codec", [False, True])
def test_it_comes_with_every_copy(codec: bool) -> None:
    net = fork(codec=codec)
    for name in ("c", "d"):
        net.subscribe(name, 1, "x = 1")
    net.run()
    net.inject("1", "2", mark_congestion(PACKET))
    net.run()
    assert handed_over(net) == {"c": True, "d": True}


def test_who_is_not_behind_the_queue_gets_none() -> None:
    net = fork()
    for name in ("c", "d"):
        net.subscribe(name, 1, "x = 1")
    net.run()
    # Of two copies only one stood in a queue.
    net.inject("2", "3", mark_congestion(msgspec.structs.replace(PACKET, destinations=(3,))))
    net.inject("2", "4", msgspec.structs.replace(PACKET, destinations=(4,)))
    net.run(SECOND)
    assert handed_over(net) == {"c": True, "d": False}


@pytest.mark.parametrize(
    "frame", [PACKET, Notify(carried=CarriedFrame(FRAME))], ids=["PACKET", "NOTIFY"]
)
def test_it_takes_no_room_and_changes_nothing_else(frame: OverlayFrame) -> None:
    marked = mark_congestion(frame)
    assert marked != frame
    assert mark_congestion(marked) is marked
    assert size_of(marked) == size_of(frame) == len(encode(marked))
    assert decode(encode(marked)) == marked
    differing = [a ^ b for a, b in zip(encode(frame), encode(marked), strict=True) if a != b]
    assert len(differing) == 1
    assert differing[0].bit_count() == 1


@pytest.mark.parametrize("frame", UNMARKED, ids=lambda frame: type(frame).__name__)
def test_other_frames_have_none(frame: OverlayFrame) -> None:
    assert mark_congestion(frame) is frame


def test_a_broker_that_knows_no_marks_passes_them_on() -> None:
    written = bytearray(encode(mark_congestion(PACKET)))
    # It takes the whole byte for a ttl, and one off.
    written[3] -= 1
    relayed = decode(bytes(written))
    assert isinstance(relayed, Packet)
    assert (relayed.congestion_experienced, relayed.ttl) == (True, PACKET.ttl - 1)
