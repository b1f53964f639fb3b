"""Durable names: in use, taken over, with another filter, forgotten, expired, moved."""

from __future__ import annotations

import re

from penstock.content.syntax import parse
from penstock.guaranteed.settings import BrokerSettings, PubendSettings, Retention
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import NOW, ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.wire.frames.guaranteed.subscription import AttachFlags, Position

from .asking import Operator

ORDERS = {0xA: "orders"}


class World:
    """A broker that stores, and one that hosts."""

    def __init__(self) -> None:
        self.network = StreamNetwork(7)
        self.network.add_broker("p", streams=ORDERS)
        self.network.add_broker("s", parents=1)
        self.network.connect("s", "p")
        self.network.run(200 * MILLISECOND)
        self.writer = Writer(self.network, "writer", "p")
        self.operator = Operator(self.network, "s")

    def reader(self, name: str = "reader", broker: str = "s", **options: object) -> ReadingProgram:
        program = ReadingProgram(
            self.network,
            name,
            broker,
            stream="orders",
            durable="billing",
            **options,  # type: ignore[arg-type]
        )
        self.network.run(50 * MILLISECOND)
        return program

    def open(self, reader: ReadingProgram, flags: AttachFlags = AttachFlags.NONE) -> None:
        reader.open(flags=flags)
        self.network.run(500 * MILLISECOND)

    def publish(self, start: int, stop: int) -> None:
        for n in range(start, stop):
            self.writer.publish("orders", {"n": n})
            self.network.run(10 * MILLISECOND)
        self.network.run(500 * MILLISECOND)

    def rows(self) -> dict[str, object]:
        rows = self.network.brokers["p"].machine.pubends[0xA].rows
        return {**rows.by_host, **rows.host_of}

    def saved(self, broker: str, prefix: str) -> list[str]:
        return [key for key in self.network.brokers[broker].disk.saved if key.startswith(prefix)]


def test_a_name_in_use_is_refused_with_who_and_since_when() -> None:
    world = World()
    first, second = world.reader("first"), world.reader("second")
    world.open(first)
    world.open(second)
    [ended] = second.life.ended
    assert ended.refused.reason == "in_use"
    assert "is read by first since 00:00:0" in ended.refused.text


def test_takeover_fences_the_first_and_hands_out_again_what_it_had_not_acknowledged() -> None:
    world = World()
    first, second = world.reader("first"), world.reader("second")
    first.is_paused = True
    world.open(first)
    world.publish(0, 2)
    world.open(second, AttachFlags.TAKEOVER)
    assert [each.refused.reason for each in first.life.ended] == ["taken_over"]
    assert second.values() == [0, 1]
    assert second.attempts() == [2, 2]


def test_another_filter_reads_everything_above_the_cursor_again() -> None:
    world = World()
    reader = world.reader(predicate=parse("n >= 2"))
    world.open(reader)
    world.publish(0, 3)
    assert reader.values() == [2]
    reader.is_paused = True
    world.publish(3, 5)
    assert reader.values() == [2, 3, 4]
    reader.close()
    reader.is_paused = False
    reader.predicate = parse("n < 5")
    world.open(reader)
    assert [each.refused.reason for each in reader.life.ended] == ["other_filter"]
    world.open(reader, AttachFlags.CHANGE_FILTER)
    world.publish(5, 6)
    assert reader.values() == [3, 4]


def test_forgetting_a_name_frees_it_everywhere_and_takes_the_row_away() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 3)
    assert list(world.rows()) == ["s", "billing"]
    assert world.operator.ask("forget", durable="billing") == {}
    assert [each.refused.reason for each in reader.life.ended] == ["forgotten"]
    world.network.run(SECOND)
    assert world.rows() == {}
    assert not world.saved("s", "durable/") + world.saved("s", "forgetting/")
    assert not world.saved("p", "pubend/000000000000000a/row")
    # Another host may have the name now.
    other = world.reader("other", "p", start=NOW)
    world.open(other)
    assert other.life.opened is not None
    assert not other.life.opened.resumed


def test_a_name_forgotten_while_the_parent_is_away_is_released_after_a_crash() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    reader.close()
    world.network.cut("s", "p")
    world.operator.ask("forget", durable="billing")
    world.network.crash("s")
    world.network.restart("s")
    assert list(world.rows()) == ["s", "billing"]
    world.network.connect("s", "p")
    world.network.run(3 * SECOND)
    assert world.rows() == {}
    assert not world.saved("s", "forgetting/")
    assert world.network.brokers["s"].machine.is_idle


def test_a_name_that_is_new_again_survives_the_release_of_the_old_one() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.operator.client.call(lambda c: c.ask("forget", b'{"durable":"billing"}'))
    reader.open()
    world.network.run(3 * SECOND)
    assert reader.life.opened is not None
    assert list(world.rows()) == ["s", "billing"]
    world.publish(0, 2)
    assert reader.values() == [0, 1]


def test_a_name_unread_for_too_long_is_forgotten() -> None:
    world = World()
    reader = world.reader(expire_s=5)
    world.open(reader)
    world.network.run(10 * SECOND)
    assert list(world.rows()) == ["s", "billing"]
    reader.client.disconnect()
    world.network.run(4 * SECOND)
    world.network.crash("s")
    world.network.restart("s")
    world.network.connect("s", "p")
    assert "billing" in world.network.brokers["s"].machine.host.durables
    world.network.run(3 * SECOND)
    assert world.rows() == {}


def test_the_log_is_kept_for_a_name_and_trimmed_when_it_is_forgotten() -> None:
    network = StreamNetwork(3, settings=BrokerSettings(pubend=PubendSettings()))
    network.add_broker("b", streams=ORDERS)
    reader = ReadingProgram(network, "reader", "b", stream="orders", durable="billing")
    network.run(100 * MILLISECOND)
    reader.open()
    network.run(500 * MILLISECOND)
    reader.close()
    network.run(500 * MILLISECOND)
    pubend = network.brokers["b"].machine.pubends[0xA]
    assert pubend.rows.trim_limit() is not None
    assert Operator(network, "b").ask("forget", durable="billing") == {}
    network.run(500 * MILLISECOND)
    assert pubend.rows.trim_limit() is None


def test_seek_back_repeats_for_a_reader_that_is_there() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 3)
    assert world.operator.ask("seek", durable="billing", start="first") == {}
    world.network.run(SECOND)
    world.publish(3, 4)
    assert [len(life.received) for life in reader.lives] == [3, 4]
    assert reader.values() == [0, 1, 2, 3]
    assert world.network.brokers["s"].machine.is_idle


def test_seek_forward_skips_for_a_reader_that_comes_later() -> None:
    world = World()
    reader = world.reader()
    reader.is_paused = True
    world.open(reader)
    world.publish(0, 3)
    reader.client.crash()
    assert world.operator.ask("seek", durable="billing", start="now") == {}
    reader.client.connect()
    reader.is_paused = False
    world.network.run(50 * MILLISECOND)
    world.open(reader)
    world.publish(3, 5)
    assert reader.values() == [3, 4]
    assert reader.attempts() == [1, 1]


def test_seek_wins_over_the_positions_of_a_client_that_was_away() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 3)
    reader.client.disconnect()
    world.network.run(100 * MILLISECOND)
    assert world.operator.ask("seek", durable="billing", start="first") == {}
    world.network.crash("s")
    world.network.restart("s")
    world.network.connect("s", "p")
    reader.client.connect()
    world.network.run(SECOND)
    assert reader.values() == [0, 1, 2]
    # From here on its own positions count again.
    reader.client.disconnect()
    reader.client.connect()
    world.publish(3, 5)
    assert reader.values() == [0, 1, 2, 3, 4]
    assert not reader.again


def test_seek_forward_wins_over_the_positions_of_a_client_that_was_away() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 3)
    reader.client.disconnect()
    world.publish(3, 6)
    assert world.operator.ask("seek", durable="billing", start="now") == {}
    reader.client.connect()
    world.publish(6, 8)
    assert len(reader.lives[0].received) == 3
    assert reader.values() == [6, 7]


def test_acknowledgements_of_before_a_seek_move_no_cursor() -> None:
    world = World()
    reader = world.reader(window=100)
    reader.is_paused = True
    world.open(reader)
    world.publish(0, 5)
    before = reader.life.received
    world.operator.client.call(lambda c: c.ask("seek", b'{"durable":"billing","start":"first"}'))
    while len(reader.lives) < 2:
        world.network.run(MILLISECOND)
    # The program has not heard of the seek, and acknowledges what it got before it.
    last = Position(0xA, before[-1].tick)
    reader.client.call(lambda client: client.acknowledge(before[0].subscription, [last]))
    world.network.run(SECOND)
    assert len(reader.life.received) == 5
    reader.client.crash()
    reader.client.connect()
    reader.is_paused = False
    world.network.run(50 * MILLISECOND)
    world.open(reader)
    assert reader.values() == [*range(5)]


def test_seek_while_the_parent_is_away_is_done_when_it_is_back() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 3)
    world.network.cut("s", "p")
    number = world.operator.client.call(
        lambda c: c.ask("seek", b'{"durable":"billing","start":"first"}')
    )
    world.network.run(3 * SECOND)
    assert len(reader.lives) == 1
    world.network.connect("s", "p")
    world.network.run(3 * SECOND)
    assert number
    assert reader.values() == [0, 1, 2]
    assert len(reader.lives) == 2
    world.publish(3, 4)
    assert reader.values() == [0, 1, 2, 3]


def test_seek_during_a_recovery_reads_everything_behind_it_once() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 10)
    world.network.cut("s", "p")
    world.publish(10, 40)
    world.network.connect("s", "p")
    world.network.run(20 * MILLISECOND)
    assert world.operator.ask("seek", durable="billing", start="first") == {}
    world.network.run(3 * SECOND)
    assert reader.values() == [*range(40)]
    assert world.network.brokers["s"].machine.is_idle


def test_publishing_where_a_stream_is_not_stored_is_refused_with_the_address() -> None:
    world = World()
    writer = Writer(world.network, "elsewhere", "s")
    world.network.run(50 * MILLISECOND)
    writer.publish("orders", {"n": 0})
    world.network.run(100 * MILLISECOND)
    refused = writer.refused[0].refused
    assert (refused.reason, refused.address) == ("not_here", "p:7451")
    assert refused.text == "stream 'orders' is stored at p:7451: publish there"


def test_a_full_stream_says_who_it_waits_for_since_when_and_how_much() -> None:
    settings = BrokerSettings(pubend=PubendSettings(retention=Retention(size_bytes=20_000)))
    network = StreamNetwork(9, settings=settings)
    network.add_broker("b", streams=ORDERS)
    reader = ReadingProgram(network, "reader", "b", stream="orders", durable="billing")
    writer = Writer(network, "writer", "b")
    network.run(100 * MILLISECOND)
    reader.open()
    network.run(2 * SECOND)
    reader.close()
    for n in range(500):
        writer.publish("orders", {"n": n})
    network.run(SECOND)
    said, since, what_to_do = writer.refused[0].refused.text.split(": ", 2)[:3]
    assert said == "stream 'orders' is full"
    assert re.fullmatch(r"20 kB wait for 'billing' at b since 00:00:0\dZ", since)
    assert what_to_do == "read or delete it, or raise retention.size"


# Found by the swarm.


def test_a_name_forgotten_before_it_was_held_is_held_by_nobody() -> None:
    world = World()
    world.network.cut("s", "p")
    reader = world.reader()
    world.open(reader)
    assert reader.life.opened is None
    reader.close()
    world.operator.ask("forget", durable="billing")
    other = ReadingProgram(world.network, "other", "s", stream="orders", durable="other")
    world.network.run(50 * MILLISECOND)
    other.open()
    world.network.connect("s", "p")
    world.network.run(3 * SECOND)
    assert other.life.opened is not None
    assert list(world.rows()) == ["s", "other"]


def test_a_name_is_released_although_another_was_held_since() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.network.cut("s", "p")
    world.operator.ask("forget", durable="billing")
    other = ReadingProgram(world.network, "other", "s", stream="orders", durable="other")
    world.network.run(300 * MILLISECOND)
    other.open()
    world.network.connect("s", "p")
    world.network.run(3 * SECOND)
    assert list(world.rows()) == ["s", "other"]


def test_a_name_that_is_forgotten_while_it_is_moved_is_gone() -> None:
    network = StreamNetwork(8, sync_ns=100 * MILLISECOND)
    network.add_broker("b", streams=ORDERS)
    reader = ReadingProgram(network, "reader", "b", stream="orders", durable="billing")
    operator = Operator(network, "b")
    network.run(SECOND)
    reader.open()
    network.run(SECOND)
    host = network.brokers["b"].machine.host
    operator.client.call(lambda c: c.ask("seek", b'{"durable":"billing","start":"first"}'))
    while not host.names.is_moving("billing"):
        network.run(MILLISECOND)
    operator.client.call(lambda c: c.ask("forget", b'{"durable":"billing"}'))
    network.run(3 * SECOND)
    assert not host.durables
    assert network.brokers["b"].machine.is_idle


def test_a_name_that_a_crash_has_taken_keeps_nothing_from_being_trimmed() -> None:
    """The pubend holds it already, the host has not stored it, and its program never comes back."""
    network = StreamNetwork(9, sync_ns=50 * MILLISECOND)
    network.add_broker("p", streams=ORDERS)
    network.add_broker("s", parents=1)
    network.connect("s", "p")
    reader = ReadingProgram(network, "reader", "s", stream="orders", durable="billing")
    network.run(SECOND)
    reader.open()
    rows = network.brokers["p"].machine.pubends[0xA].rows
    while not rows.by_host:
        network.run(MILLISECOND)
    network.crash("s")
    network.run(SECOND)
    network.restart("s")
    assert not network.brokers["s"].machine.host.durables
    network.connect("s", "p")
    network.run(2 * SECOND)
    assert not rows.by_host
    assert not rows.host_of


def test_a_forgotten_host_that_comes_back_is_held_again_when_its_names_are_read() -> None:
    world = World()
    reader = world.reader()
    world.open(reader)
    world.publish(0, 3)
    above = Operator(world.network, "p")
    assert above.ask("forget", host="s").reason == "bad_request"
    reader.close()
    world.network.run(500 * MILLISECOND)
    world.network.cut("s", "p")
    world.network.run(500 * MILLISECOND)
    assert above.ask("forget", host="s") == {}
    world.network.run(500 * MILLISECOND)
    assert not world.rows()
    world.network.connect("s", "p")
    world.network.run(500 * MILLISECOND)
    world.open(reader)
    assert set(world.rows()) == {"s", "billing"}
    world.publish(3, 6)
    assert reader.values() == [3, 4, 5]


def test_a_name_is_released_once_it_is_off_the_disk() -> None:
    """Before that a crash brings it back, and its messages would be trimmed."""
    network = StreamNetwork(10, sync_ns=100 * MILLISECOND)
    network.add_broker("p", streams=ORDERS)
    network.add_broker("s", parents=1)
    network.connect("s", "p")
    reader = ReadingProgram(network, "reader", "s", stream="orders", durable="billing")
    operator = Operator(network, "s")
    network.run(SECOND)
    reader.open()
    network.run(SECOND)
    rows = network.brokers["p"].machine.pubends[0xA].rows
    assert list(rows.by_host) == ["s"]
    operator.client.call(lambda c: c.ask("forget", b'{"durable":"billing"}'))
    while rows.by_host:
        network.run(MILLISECOND)
    assert "durable/billing" not in network.brokers["s"].disk.saved
    network.run(SECOND)
    assert network.brokers["s"].machine.is_idle
