"""Durable names: in use, taken over, with another filter, forgotten, expired, moved."""

from __future__ import annotations

from penstock.content.syntax import parse
from penstock.guaranteed.settings import BrokerSettings, PubendSettings
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import NOW, ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.wire.frames.guaranteed.subscription import AttachFlags

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
    assert reader.values() == [0, 1, 2, 0, 1, 2, 3]
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
