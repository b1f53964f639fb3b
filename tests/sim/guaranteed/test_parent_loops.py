"""Brokers of which the parents form a loop: streams go on, nothing goes round for ever."""

from __future__ import annotations

from penstock.guaranteed.announcements import DISTANCE_MAX
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.watcher import NetworkWatcher
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Role

PUBEND = 0xA
RING = ("a", "b", "c")


class Hellos(NetworkWatcher):
    """Counts them."""

    def __init__(self) -> None:
        self.count = 0

    def on_frame(self, sender: str, frame: BrokerFrame) -> None:
        """One more."""
        self.count += isinstance(frame, Hello)


def ring(network: StreamNetwork, *, parents_of_a: int = 1) -> Hellos:
    """Each is the parent of the next; returns what counts their HELLOs."""
    hellos = Hellos()
    network.watchers.append(hellos)
    for name in RING:
        stored = {PUBEND: "orders"} if name == "a" and parents_of_a == 1 else {}
        network.add_broker(name, streams=stored, parents=parents_of_a if name == "a" else 1)
    for parent, child in zip(RING, (*RING[1:], RING[0]), strict=True):
        network.connect(child, parent)
    return hellos


def loops(network: StreamNetwork) -> list[str]:
    return [
        alarm.text
        for broker in network.brokers.values()
        for alarm in broker.alarms
        if alarm.kind == "loop"
    ]


def test_in_a_ring_streams_are_read_and_brokers_are_quiet() -> None:
    network = StreamNetwork(70)
    hellos = ring(network)
    network.run(2 * SECOND)
    writer = Writer(network, "writer", "a")
    readers = [
        ReadingProgram(network, f"at {name}", name, stream="orders", durable=f"at {name}")
        for name in RING
    ]
    for program in (writer.client, *(reader.client for reader in readers)):
        program.connect()
    network.run(50 * MILLISECOND)
    for reader in readers:
        reader.open()
    network.run(SECOND)
    before = hellos.count
    for number in range(20):
        writer.publish("orders", {"n": number})
        network.run(100 * MILLISECOND)
    network.run(SECOND)
    assert [reader.values() for reader in readers] == [[*range(20)]] * 3
    assert hellos.count == before < 20
    # Whoever stores a stream sees it come back.
    (told,) = loops(network)
    assert told.startswith("parent 'c' has 'orders' of this broker: end the loop of parents")
    assert [alarm.kind for alarm in network.brokers["a"].alarms] == ["loop"]


def test_a_stream_that_is_deleted_in_a_ring_is_gone_and_the_loop_is_told() -> None:
    """Its brokers announce it to each other until it seems to be too far away."""
    network = StreamNetwork(71)
    hellos = ring(network, parents_of_a=2)
    network.add_broker("top", streams={PUBEND: "orders"})
    network.connect("a", "top")
    network.run(2 * SECOND)
    assert not loops(network)
    network.crash("top")
    network.run(5 * SECOND)
    before = hellos.count
    network.run(5 * SECOND)
    assert hellos.count == before < 100
    (told,) = loops(network)
    assert told.startswith(f"stream 'orders' is {DISTANCE_MAX} brokers away, too far for children")
    for name in RING:
        announcements = network.brokers[name].machine.links.announcements
        assert announcements.best_parent(PUBEND) is None


def test_a_row_of_brokers_that_is_too_long_says_where_it_ends() -> None:
    network = StreamNetwork(72)
    network.add_broker("b0", streams={PUBEND: "orders"})
    for number in range(1, DISTANCE_MAX + 3):
        network.add_broker(f"b{number}", parents=1)
        network.connect(f"b{number}", f"b{number - 1}")
        network.run(100 * MILLISECOND)
    assert len(loops(network)) == 1
    at_the_end = network.brokers[f"b{DISTANCE_MAX + 1}"]
    assert [alarm.kind for alarm in at_the_end.alarms] == ["loop"]
    assert PUBEND in at_the_end.machine.relays
    assert PUBEND not in network.brokers[f"b{DISTANCE_MAX + 2}"].machine.relays


def test_a_parent_that_has_a_stream_from_too_far_away_is_told_and_not_used() -> None:
    network = StreamNetwork(73)
    network.add_broker("p", streams={PUBEND: "orders"})
    network.add_broker("s", parents=1)
    network.connect("s", "p")
    network.run(100 * MILLISECOND)
    far = Announcement(pubend=PUBEND, stream="orders", distance=DISTANCE_MAX + 1, lease=0)
    said = Hello(broker="p", life=1, roles=Role.RELAY, token=0, pubends=(far,))
    for _ in range(3):
        network.brokers["s"].call(lambda b, now: b.receive(said, via="p", now=now))
    network.run(100 * MILLISECOND)
    (told,) = loops(network)
    assert told.startswith("parent 'p' has stream 'orders' from over 16 brokers away: ")
    assert not network.brokers["s"].machine.links.announcements.is_served_by(PUBEND, "p")
