"""Whatever a peer sends, a broker keeps going, stays within its bounds and serves the others."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from penstock.overlay.broker import Broker
from penstock.overlay.counters import Count
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Lsa, Neighbour
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.summary import Database, Summary, SummaryRow
from penstock.wire.frames.unsub import Unsub
from tests.frames import data
from tests.overlay.net import Net
from tests.wire.strategies import STRATEGIES

SMALL = OverlaySettings(
    origins_max=8,
    origin_filters_max=88,
    filters_max=200,
    clients_max=4,
    client_subscriptions_max=5,
    seen_max=16,
)
BLOOM_BYTES = 32


def pair() -> Net:
    """Brokers 1 and 2, and at 2 a link to a bad peer, 66, who is heard."""
    net = Net(settings=SMALL)
    net.link("1", "2")
    net.start("1", "2")
    net.brokers["2"].link_up("bad", 1, now=net.now)
    for name, broker in (("a", "1"), ("b", "2")):
        net.client(name, broker)
    net.run()
    net.subscribe("a", 1, "x = 1")
    net.run()
    net.inject("bad", "2", Hello(broker=66, epoch=1, network=0, heard=True))
    net.run(10 * MILLISECOND)
    return net


def still_works(net: Net) -> None:
    message = net.publish("b", {"x": 1})
    net.run(100 * MILLISECOND)
    assert net.got(message) == ["a"]
    for broker in net.brokers.values():
        sizes = broker.sizes()
        assert sizes["lsas"] <= SMALL.origins_max
        # As many again may be on their way in parts.
        assert sizes["data_adverts"] <= 2 * SMALL.origins_max
        assert sizes["data_filters"] <= SMALL.filters_max
        assert sizes["request_filters"] <= SMALL.filters_max
        assert sizes["clients"] <= SMALL.clients_max
        assert sizes["seen"] <= SMALL.seen_max


def adv(origin: int, seq: int, *added: int, full: bool = True, parts: int = 1) -> Adv:
    return Adv(
        origin=origin,
        seq=seq,
        traffic=TrafficClass.DATA,
        full=full,
        bloom_bytes=BLOOM_BYTES,
        added=tuple(sorted(added)),
        parts=parts,
    )


def test_invented_origins_do_not_push_out_those_that_can_be_reached() -> None:
    net = pair()
    for origin in range(1000, 1100):
        net.inject("bad", "2", Lsa(origin=origin, seq=1, neighbours=()))
        net.inject("bad", "2", adv(origin, 1, origin))
        net.inject("bad", "2", adv(origin, 1, origin, parts=2))
    counters = net.brokers["2"].counters
    assert counters[Count.LINKS_OVERFLOW] > 0
    assert counters[Count.ADVERTS_OVERFLOW] > 0
    still_works(net)


def test_filters_have_a_bound_for_each_origin_and_for_all() -> None:
    net = pair()
    malformed = net.brokers["2"].counters[Count.MALFORMED]
    for seq, start in enumerate(range(0, 1000, 20), start=1):
        net.inject("bad", "2", adv(66, seq, *range(start, start + 20), full=seq == 1))
    assert net.brokers["2"].counters[Count.MALFORMED] > malformed
    assert len(net.brokers["2"].advertised_by(66)) <= SMALL.origin_filters_max
    for origin in (70, 71, 72):
        for seq in range(1, 5):
            filters = range(20 * seq, 20 * seq + 20)
            net.inject("bad", "2", adv(origin, seq, *filters, full=seq == 1))
    assert net.brokers["2"].counters[Count.FILTERS_OVERFLOW] > 0
    still_works(net)


@pytest.mark.parametrize("seq", [0, 5, 2**31 - 1, 2**31, 2**31 + 2**16, 2**32 - 1])
def test_words_put_into_the_mouth_of_another_are_overtaken(seq: int) -> None:
    net = pair()
    # In the name of broker 1, who wants something, and of broker 2 itself.
    for origin in (1, 2):
        net.inject("bad", "2", adv(origin, seq))
        net.inject("bad", "2", Lsa(origin=origin, seq=seq, neighbours=()))
        net.inject(
            "bad",
            "2",
            Summary(database=Database.LINKS, first=0, last=9, rows=(SummaryRow(origin, seq),)),
        )
    net.run(SECOND)
    still_works(net)


def test_a_neighbour_that_claims_our_number_or_none_is_no_neighbour() -> None:
    net = pair()
    counters = net.brokers["2"].counters
    before = counters[Count.MALFORMED]
    for number in (0, 2):
        net.inject("bad", "2", Hello(broker=number, epoch=9, network=0, heard=True))
    assert (counters[Count.MALFORMED], counters[Count.OWN_NUMBER]) == (before + 1, 1)
    still_works(net)


def test_another_encoding_is_another_network() -> None:
    net = pair()
    net.inject("bad", "2", Hello(broker=67, epoch=1, network=5, heard=True))
    net.inject("new client", "2", Hello(broker=0, epoch=1, network=5, heard=True))
    assert net.brokers["2"].counters[Count.FOREIGN] == 2
    wide = Adv(
        origin=66, seq=1, traffic=TrafficClass.DATA, full=True, bloom_bytes=64, added=(1 << 300,)
    )
    net.inject("bad", "2", wide)
    assert net.brokers["2"].counters[Count.MALFORMED] == 1
    still_works(net)


def test_who_has_not_said_hello_is_not_listened_to() -> None:
    net = pair()
    net.brokers["2"].link_up("shy", 1, now=net.now)
    net.inject("shy", "2", Lsa(origin=9, seq=1, neighbours=(Neighbour(2, 1),)))
    net.inject("nobody", "2", Lsa(origin=9, seq=1, neighbours=(Neighbour(2, 1),)))
    net.inject("nobody", "2", Hello(broker=9, epoch=1, network=0, heard=True))
    assert net.brokers["2"].counters[Count.STRANGER] == 3
    assert 9 not in net.brokers["2"].reachable


def test_a_client_may_not_speak_as_a_broker_nor_a_broker_as_a_client() -> None:
    net = pair()
    parcel = CarriedFrame(data(1, {"x": 1}))
    before = dict(net.brokers["2"].counters)
    net.inject("bad", "2", Pub(traffic=TrafficClass.DATA, carried=parcel))
    net.inject("bad", "2", Sub(subscription=1, traffic=TrafficClass.DATA, predicate=parse("x=1")))
    net.inject("b", "2", Notify(carried=parcel))
    net.inject(
        "b",
        "2",
        Packet(id=PacketId(7, 7, 7), traffic=TrafficClass.DATA, destinations=(1,), carried=parcel),
    )
    after = net.brokers["2"].counters
    assert after[Count.MALFORMED] == before[Count.MALFORMED] + 3
    assert after[Count.STRANGER] == before[Count.STRANGER] + 1
    net.run(100 * MILLISECOND)
    assert net.got(data(1, {}).id) == []


def test_clients_and_their_subscriptions_have_bounds() -> None:
    net = pair()
    for i in range(20):
        for number in range(20):
            sub = Sub(
                subscription=number, traffic=TrafficClass.DATA, predicate=parse(f"y = {number}")
            )
            net.brokers["2"].receive(sub, via=f"client {i}", now=net.now)
    counters = net.brokers["2"].counters
    assert counters[Count.CLIENTS_OVERFLOW] > 0
    assert counters[Count.SUBSCRIPTIONS_OVERFLOW] > 0
    still_works(net)
    for number in range(5):
        net.clients["b"].subscribe(number, parse("x = 1"), now=net.now)
    with pytest.raises(UsageError, match="at most 5"):
        net.clients["b"].subscribe(5, parse("x = 1"), now=net.now)


def test_more_filters_than_others_have_room_for_attract_everything() -> None:
    small = OverlaySettings(origin_filters_max=3)
    broker = Broker(1, 1, Net().encoder, settings=small)
    for number in range(4):
        sub = Sub(subscription=number, traffic=TrafficClass.DATA, predicate=parse(f"y = {number}"))
        broker.receive(sub, via="client", now=0)
    broker.wake(now=small.coalesce_ns)
    assert broker.advertised() == (0,)
    assert broker.counters[Count.OWN_FILTERS_OVERFLOW] == 1
    broker.receive(Unsub(subscription=0), via="client", now=SECOND)
    broker.wake(now=2 * SECOND)
    assert len(broker.advertised()) == 3


def any_frame(rng: random.Random) -> OverlayFrame:
    """A well-formed frame with numbers near those that matter."""
    origin = rng.choice([1, 2, 3, 66, 70, 2**32 - 1])
    seq = rng.choice([0, 1, 1 << 16, (1 << 16) + rng.randrange(9), 2**31, rng.getrandbits(32)])
    match rng.randrange(6):
        case 0:
            return Hello(broker=66, epoch=rng.randrange(2), network=0, heard=rng.random() < 0.9)
        case 1:
            ids = sorted(rng.sample([1, 2, 3, 66, 70], rng.randrange(5)))
            return Lsa(
                origin=origin,
                seq=seq,
                neighbours=tuple([Neighbour(i, rng.randrange(3)) for i in ids]),
            )
        case 2:
            parts = rng.choice([1, 1, 2, 3, 50])
            return Adv(
                origin=origin,
                seq=seq,
                traffic=rng.choice(list(TrafficClass)),
                full=True,
                bloom_bytes=BLOOM_BYTES,
                added=tuple(sorted(rng.sample(range(1000), rng.randrange(40)))),
                part=rng.randrange(parts),
                parts=parts,
            )
        case 3:
            return adv(origin, seq, *rng.sample(range(1000), rng.randrange(40)), full=False)
        case 4:
            rows = tuple([SummaryRow(i, rng.getrandbits(32)) for i in (1, 2, 66)])
            return Summary(database=rng.choice(list(Database)), first=0, last=2**32 - 1, rows=rows)
        case _:
            return Packet(
                id=PacketId(origin, rng.randrange(3), rng.randrange(50)),
                traffic=rng.choice(list(TrafficClass)),
                destinations=tuple(sorted(rng.sample([1, 2, 3, 66, 70], rng.randint(1, 5)))),
                carried=CarriedFrame(data(5, {"y": 1}, pub=5)),
                ttl=rng.randrange(40),
            )


@pytest.mark.parametrize("seed", range(5))
def test_a_storm_of_frames_leaves_it_standing(seed: int) -> None:
    net = pair()
    rng = Seeds(seed).rng("storm")
    for _ in range(400):
        net.inject("bad", "2", any_frame(rng))
        net.run(rng.randrange(20 * MILLISECOND))
    # The bad peer falls silent; what it said in the name of others is overtaken by them.
    net.run(5 * SECOND)
    still_works(net)
    # And what it invented expires.
    net.run(100 * SECOND)
    assert net.brokers["1"].reachable == [2]
    assert net.brokers["1"].sizes()["lsas"] == 2
    assert net.brokers["1"].sizes()["data_filters"] == 0
    still_works(net)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(["bad", "b", "x"]), st.one_of(*STRATEGIES.values())), max_size=12
    )
)
def test_any_frame_that_can_be_read_can_be_received(
    frames: list[tuple[str, OverlayFrame]],
) -> None:
    broker = Broker(2, 1, Net().encoder, settings=SMALL)
    broker.link_up("bad", 1, now=0)
    broker.receive(Hello(broker=66, epoch=1, network=0, heard=True), via="bad", now=0)
    for now, (via, frame) in enumerate(frames):
        broker.receive(frame, via=via, now=now)
        while broker.poll() is not None:
            pass
    broker.wake(now=100 * SECOND)
