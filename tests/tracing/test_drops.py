from penstock.trace.fates import DropReason
from penstock.trace.records import Drop
from penstock.tracing.drops import Drops
from penstock.wire import size_of
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from tests.frames import data
from tests.tracing.rows import NAMES, ListSink

FULL = DropReason.QUEUE_FULL


def test_a_dropped_packet_has_its_id_and_its_message() -> None:
    sink = ListSink()
    packet = Packet(
        id=PacketId(1, 2, 3),
        traffic=TrafficClass.DATA,
        destinations=(2,),
        carried=CarriedFrame(data(5, {"n": 1})),
    )
    Drops(sink.add, NAMES).on_frame("B1-B2", packet, FULL, now=100)
    assert sink.rows == [Drop(100, "B1-B2", FULL, "data", size_of(packet), 1, 2, 3, "writer", 1, 5)]


def test_between_client_and_broker_a_message_is_in_no_packet() -> None:
    sink = ListSink()
    Drops(sink.add, NAMES).on_frame(
        "B2-far", Notify(carried=CarriedFrame(data(5, {"n": 1}))), FULL, now=100
    )
    (row,) = sink.of(Drop)
    assert (row.traffic_class, row.packet_origin) == ("data", None)
    assert (row.publisher, row.epoch, row.seq) == ("writer", 1, 5)


def test_a_carried_control_frame_is_no_message() -> None:
    sink = ListSink()
    carried = CarriedFrame(EchoRequest(subscriber=2, pub=1, send_ts_us=0))
    Drops(sink.add, NAMES).on_frame("B2-far", Notify(carried=carried), FULL, now=100)
    (row,) = sink.of(Drop)
    assert (row.traffic_class, row.publisher, row.seq) == ("data", None, None)


def test_frames_between_brokers_are_control_traffic() -> None:
    sink = ListSink()
    hello = Hello(broker=1, epoch=1, network=0, heard=True)
    Drops(sink.add, NAMES).on_frame("B1-B2", hello, DropReason.DOWN, now=100)
    assert sink.rows == [Drop(100, "B1-B2", DropReason.DOWN, "control", size_of(hello))]


def test_other_traffic_has_a_class_and_a_size_only() -> None:
    sink = ListSink()
    Drops(sink.add, NAMES).on_other("B1-B2", "tcp", 1500, FULL, now=100)
    assert sink.rows == [Drop(100, "B1-B2", FULL, "tcp", 1500)]
