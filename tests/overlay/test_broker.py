"""Brokers and clients together, message by message."""

import re
from pathlib import Path

import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.machine import Send
from penstock.overlay.broker import Broker
from penstock.overlay.counters import Count
from penstock.overlay.settings import DEFAULTS
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Lsa, Neighbour
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from tests.frames import data
from tests.overlay.net import Net, line


def fork(*, codec: bool = False) -> Net:
    """The example of the specification: B1 - B2 - {B3, B4}, a client on each."""
    net = Net(codec=codec)
    for left, right in (("1", "2"), ("2", "3"), ("2", "4")):
        net.link(left, right)
    net.start("1", "2", "3", "4")
    for name, broker in (("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")):
        net.client(name, broker)
    net.run()
    return net


@pytest.mark.parametrize("codec", [False, True])
def test_one_copy_goes_out_and_two_go_on(codec: bool) -> None:
    net = fork(codec=codec)
    net.subscribe("c", 1, 'symbol = "IBM"')
    net.subscribe("d", 1, 'symbol = "IBM" and price < 120')
    net.run()
    message = net.publish("a", {"symbol": "IBM", "price": 101.5})
    net.run()
    assert net.packets() == [("1", "2", (3, 4)), ("2", "3", (3,)), ("2", "4", (4,))]
    assert net.got(message) == ["c", "d"]


def test_the_last_broker_decides_by_the_exact_predicate() -> None:
    net = fork()
    # Without a schema, a range is encoded as the presence of its attribute.
    net.subscribe("c", 1, "price < 120")
    net.run()
    message = net.publish("a", {"price": 130})
    net.run()
    assert net.packets() == [("1", "2", (3,)), ("2", "3", (3,))]
    assert net.got(message) == []
    assert net.brokers["3"].counters[Count.NO_MATCH] == 1


def test_what_nobody_wants_goes_nowhere() -> None:
    net = fork()
    net.publish("a", {"price": 130})
    net.run()
    assert net.packets() == []
    assert net.brokers["1"].counters[Count.FILTERED] == 1


def test_a_client_gets_a_message_once_however_many_subscriptions_match() -> None:
    net = fork()
    for number, text in enumerate(["x = 1", "x > 0", "y = 2 or x = 1"]):
        net.subscribe("c", number, text)
    net.run()
    message = net.publish("a", {"x": 1, "y": 2})
    net.run()
    assert net.got(message) == ["c"]


def test_a_publisher_that_subscribes_to_its_own_messages_gets_them() -> None:
    net = fork()
    net.subscribe("a", 1, "x = 1")
    net.run()
    message = net.publish("a", {"x": 1})
    net.run()
    assert net.got(message) == ["a"]
    assert net.packets() == []


def test_clients_of_the_first_broker_need_no_packet() -> None:
    net = fork()
    net.client("e", "1")
    net.subscribe("e", 1, "x = 1")
    net.run()
    message = net.publish("a", {"x": 1})
    net.run()
    assert net.got(message) == ["e"]
    assert net.packets() == []


def test_covered_filters_are_not_advertised() -> None:
    net = fork()
    for number, text in enumerate(["x < 10", "x < 20", "x = 5", 'x < 15 and s = "a"']):
        net.subscribe("c", number, text)
    net.run()
    assert len(net.brokers["3"].advertised()) == 1
    assert net.brokers["1"].advertised_by(3) == net.brokers["3"].advertised()
    net.unsubscribe("c", 1)
    net.run()
    # x < 10 and x < 15 have the same bits; x = 5 is covered by the first.
    bits = net.brokers["3"].advertised()
    assert len(bits) == 2
    assert net.brokers["1"].advertised_by(3) == bits


def test_changes_within_50_ms_are_told_together() -> None:
    net = fork()
    net.run()
    before = len(net.sent)
    for number in range(10):
        net.subscribe("d", number, f"x = {number}")
        net.run(4 * MILLISECOND)
    net.run(60 * MILLISECOND)
    adverts = [f for _, s, _, f in net.sent[before:] if s == "4" and type(f).__name__ == "Adv"]
    assert len(adverts) == 1
    assert len(net.brokers["1"].advertised_by(4)) == 10


@pytest.mark.spec("R7")
def test_a_request_is_routed_by_its_own_bits() -> None:
    net = fork(codec=True)
    net.subscribe("c", 1, "x = 1", TrafficClass.REQUEST)
    net.subscribe("d", 1, "x = 2", TrafficClass.REQUEST)
    net.subscribe("a", 1, "x = 1", TrafficClass.REQUEST)
    net.subscribe("b", 1, "x = 1")
    net.run()
    message = net.publish("a", {"x": 1, "y": "whatever"}, TrafficClass.REQUEST)
    net.run()
    # Not those who only want messages, and not the one who asks.
    assert net.got(message) == ["c"]
    assert net.packets() == [("1", "2", (3,)), ("2", "3", (3,))]


def test_a_duplicate_is_dropped_where_it_arrives() -> None:
    net = fork()
    net.subscribe("c", 1, "x = 1")
    net.run()
    frame = data(9, {"x": 1}, pub=9)
    packet = Packet(
        id=PacketId(1, 7, 7),
        traffic=TrafficClass.DATA,
        destinations=(3,),
        carried=CarriedFrame(frame),
    )
    for _ in range(3):
        net.inject("1", "2", packet)
    net.inject("2", "3", packet)
    net.run()
    assert net.got(frame.id) == ["c"]
    assert net.brokers["2"].counters[Count.DUPLICATE] == 2
    # Broker 3 got one copy from the test and one from broker 2.
    assert net.brokers["3"].counters[Count.DUPLICATE] == 1


def test_copies_of_one_packet_for_different_destinations_are_no_duplicates() -> None:
    net = fork()
    net.subscribe("c", 1, "x = 1")
    net.subscribe("d", 1, "x = 1")
    net.run()
    frame = data(9, {"x": 1}, pub=9)
    for destinations in ((3,), (4,)):
        net.inject(
            "1",
            "2",
            Packet(
                id=PacketId(1, 7, 7),
                traffic=TrafficClass.DATA,
                destinations=destinations,
                carried=CarriedFrame(frame),
            ),
        )
    net.run()
    assert net.got(frame.id) == ["c", "d"]


def test_a_packet_dies_when_its_hops_are_used_up() -> None:
    net = Net()
    line(net, 5)
    net.client("z", "5")
    net.run()
    net.subscribe("z", 1, "x = 1")
    net.run()
    frame = data(9, {"x": 1}, pub=9)
    for counter, ttl in enumerate((3, 4)):
        net.inject(
            "1",
            "2",
            Packet(
                id=PacketId(1, 7, counter),
                traffic=TrafficClass.DATA,
                destinations=(5,),
                carried=CarriedFrame(frame),
                ttl=ttl,
            ),
        )
    net.run()
    # 2 to 3 to 4 to 5: the fourth broker must still have a hop to give.
    assert net.got(frame.id) == ["z"]
    assert net.brokers["4"].counters[Count.TTL] == 1


def test_a_packet_for_someone_unreachable_is_counted() -> None:
    net = fork()
    frame = data(9, {"x": 1}, pub=9)
    packet = Packet(
        id=PacketId(1, 7, 7),
        traffic=TrafficClass.DATA,
        destinations=(77,),
        carried=CarriedFrame(frame),
    )
    net.inject("1", "2", packet)
    assert net.brokers["2"].counters[Count.NO_ROUTE] == 1


def test_an_equally_short_way_goes_by_the_lowest_broker() -> None:
    net = Net()
    for left, right in (("1", "2"), ("1", "3"), ("2", "4"), ("3", "4")):
        net.link(left, right)
    net.start("4", "3", "2", "1")
    net.client("a", "1")
    net.client("d", "4")
    net.run()
    net.subscribe("d", 1, "x = 1")
    net.run()
    net.publish("a", {"x": 1})
    net.run()
    assert net.packets() == [("1", "2", (4,)), ("2", "4", (4,))]


def sent(broker: Broker, kind: type) -> list[str]:
    """The ports to which a broker wants such frames sent."""
    ports = []
    while (output := broker.poll()) is not None:
        if isinstance(output, Send) and isinstance(output.frame, kind):
            ports.append(output.port)
    return ports


def test_of_two_links_to_one_neighbour_the_cheaper_is_used_while_it_lasts() -> None:
    broker = Broker(1, 1, Net().encoder)
    hello = Hello(broker=2, epoch=1, network=0, heard=True)
    for port, cost in (("dear", 5), ("cheap", 2), ("cheap too", 2)):
        broker.link_up(port, cost, now=0)
        broker.receive(hello, via=port, now=0)
    broker.receive(Lsa(origin=2, seq=1, neighbours=(Neighbour(1, 2),)), via="dear", now=0)
    everything = Adv(
        origin=2, seq=1, traffic=TrafficClass.DATA, full=True, bloom_bytes=32, added=(0,)
    )
    broker.receive(everything, via="dear", now=0)
    pub = Pub(traffic=TrafficClass.DATA, carried=CarriedFrame(data(1, {})))
    for port, next_port in (("cheap", "cheap too"), ("cheap too", "dear")):
        broker.receive(pub, via="client", now=0)
        assert sent(broker, Packet) == [port]
        broker.link_down(port, now=0)
        broker.receive(pub, via="client", now=0)
        assert sent(broker, Packet) == [next_port]
    broker.link_up("dear", 1, now=0)
    assert sent(broker, Lsa) == ["dear"]
    broker.link_down("dear", now=0)
    broker.receive(pub, via="client", now=0)
    assert sent(broker, Packet) == []
    assert broker.counters[Count.NO_ROUTE] == 1


class Question(TransportFrame, frozen=True, kw_only=True):
    """A request as the transport will make them: it has bits and no message."""

    bloom: int


@pytest.mark.spec("R7")
def test_any_transport_frame_with_bits_can_be_a_request() -> None:
    encoder = Net().encoder
    broker = Broker(1, 1, encoder)
    interest = parse("x = 1")
    broker.receive(
        Sub(subscription=1, traffic=TrafficClass.REQUEST, predicate=interest), via="a", now=0
    )
    bits = encoder.message_bits(Message({"x": 1, "y": 2}))
    for bloom, ports in ((bits, ["a"]), (bits & ~encoder.filter_bits(interest.filters[0]), [])):
        parcel = CarriedFrame(Question(bloom=bloom))
        broker.receive(Pub(traffic=TrafficClass.REQUEST, carried=parcel), via="b", now=0)
        assert sent(broker, Notify) == ports
    for wrong in (Question(bloom=1 << 256), Question(bloom=-1)):
        broker.receive(
            Pub(traffic=TrafficClass.REQUEST, carried=CarriedFrame(wrong)), via="b", now=0
        )
    # And it is no message.
    pub = Pub(traffic=TrafficClass.DATA, carried=CarriedFrame(Question(bloom=bits)))
    broker.receive(pub, via="b", now=0)
    assert broker.counters[Count.MALFORMED] == 3


def test_the_page_names_every_counter_and_its_bounds_are_the_defaults() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "overlay.md").read_text(encoding="utf-8")
    assert [count for count in Count if f"`{count}`" not in page] == []
    bounds = [DEFAULTS.links_max, DEFAULTS.origins_max, DEFAULTS.origins_max]
    bounds += [DEFAULTS.origin_filters_max, DEFAULTS.filters_max, DEFAULTS.clients_max]
    bounds += [DEFAULTS.client_subscriptions_max, DEFAULTS.seen_max]
    rows = re.findall(r"^\| [^|]+ \| ([\d ]+) \| [^|]+ \|[^|]*\|$", page, re.MULTILINE)
    assert [int(row.replace(" ", "")) for row in rows] == bounds


def test_nothing_is_asked_of_time_before_the_first_input() -> None:
    assert Broker(1, 1, Net().encoder).next_wakeup() is None


def test_zero_is_no_broker() -> None:
    with pytest.raises(UsageError, match="from 1"):
        Broker(0, 1, Net().encoder)


def test_a_quiet_network_says_little() -> None:
    net = fork()
    net.run(10 * SECOND)
    before = len(net.sent)
    net.run(60 * SECOND)
    by_kind: dict[str, int] = {}
    for _, source, target, frame in net.sent[before:]:
        if (source, target) == ("1", "2"):
            name = type(frame).__name__
            by_kind[name] = by_kind.get(name, 0) + 1
    # Two refreshes of 60 s: one LSA and two adverts each; three summaries every 5 s.
    assert by_kind == {"Hello": 60, "Lsa": 2, "Adv": 4, "Summary": 36}
