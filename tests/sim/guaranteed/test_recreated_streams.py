"""Streams that are deleted, and created again under the same name: they are others."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import NOW, ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.wire.frames.guaranteed.base import GapReason, Start

from .asking import Operator


class World:
    """p stores, s hosts, i is between them."""

    def __init__(self) -> None:
        self.network = StreamNetwork(7)
        self.network.add_broker("p")
        for name in "is":
            self.network.add_broker(name, parents=1)
        self.connect()
        self.network.run(200 * MILLISECOND)
        self.operator = Operator(self.network, "p")
        self.create()
        self.writer = Writer(self.network, "writer", "p")
        self.network.run(100 * MILLISECOND)

    def connect(self) -> None:
        self.network.connect("i", "p")
        self.network.connect("s", "i")
        for client in self.network.clients.values():
            client.connect()

    def create(self, **retention: int | bool) -> int:
        status = self.operator.ask("create", stream="bids", retention=retention)
        return int(status["pubends"][0], 16)

    def delete(self) -> None:
        assert self.operator.ask("delete", stream="bids") == {}

    def publish(self, start: int, stop: int) -> None:
        for n in range(start, stop):
            self.writer.publish("bids", {"n": n})
        self.network.run(500 * MILLISECOND)

    def reader(
        self, broker: str = "s", *, start: Start = NOW, durable: str = "billing"
    ) -> ReadingProgram:
        reader = ReadingProgram(
            self.network, "reader", broker, stream="bids", durable=durable, start=start
        )
        self.network.run(50 * MILLISECOND)
        reader.open()
        self.network.run(200 * MILLISECOND)
        return reader

    def known_pubends(self, broker: str) -> int:
        machine = self.network.brokers[broker].machine
        saved = [k for k in self.network.brokers[broker].disk.saved if k.startswith("announced/")]
        assert len(saved) == len(machine.relays) == len(machine.host.readings)
        return len(saved)


def test_whoever_reads_a_stream_is_told_that_it_was_deleted_wherever_that_is() -> None:
    world = World()
    reader = world.reader()
    world.publish(0, 2)
    world.delete()
    world.network.run(500 * MILLISECOND)
    assert reader.values() == [0, 1]
    assert [each.refused.reason for each in reader.life.ended] == ["unknown_stream"]
    assert [world.known_pubends(broker) for broker in "is"] == [0, 0]


@pytest.mark.parametrize("broker", ["s", "p"])
def test_a_name_of_a_deleted_stream_is_told_that_there_is_another_one(broker: str) -> None:
    world = World()
    reader = world.reader(broker)
    world.publish(0, 2)
    world.delete()
    world.network.run(500 * MILLISECOND)
    reader.open()
    world.network.run(200 * MILLISECOND)
    assert [each.refused.reason for each in reader.life.ended] == ["unknown_stream"]
    world.create()
    world.publish(2, 4)
    reader.open()
    world.network.run(SECOND)
    assert [gap.reason for gap in reader.life.missed] == [GapReason.RECREATED]
    # All of it, although the name has once begun with what was published from then on.
    assert reader.values() == [2, 3]
    world.publish(4, 5)
    assert reader.values() == [2, 3, 4]
    reader.close()
    reader.open()
    world.network.run(SECOND)
    assert not reader.life.missed
    durable = world.network.brokers[broker].machine.host.durables["billing"]
    assert len(durable.cursors) == 1


def test_a_reader_goes_on_with_a_stream_that_was_created_again_while_its_host_was_away() -> None:
    world = World()
    reader = world.reader()
    world.publish(0, 2)
    world.network.cut("s", "i")
    world.delete()
    world.create()
    world.publish(2, 4)
    world.connect()
    world.network.run(2 * SECOND)
    world.publish(4, 5)
    assert reader.values() == [0, 1, 2, 3, 4]
    assert [gap.reason for gap in reader.life.missed] == [GapReason.RECREATED]
    assert not reader.life.ended
    assert world.known_pubends("s") == 1
    assert all(broker.machine.is_idle for broker in world.network.brokers.values())


def test_a_host_that_was_down_while_a_stream_was_created_again_tells_of_it() -> None:
    world = World()
    reader = world.reader()
    world.publish(0, 2)
    world.network.crash("s")
    world.delete()
    world.create()
    world.publish(2, 4)
    world.network.restart("s")
    world.connect()
    world.network.run(3 * SECOND)
    assert reader.values() == [0, 1, 2, 3]
    assert [gap.reason for gap in reader.life.missed] == [GapReason.RECREATED]
    assert world.known_pubends("s") == 1


def test_the_notice_comes_again_until_it_is_dealt_with() -> None:
    world = World()
    reader = world.reader()
    world.publish(0, 2)
    world.delete()
    world.create()
    world.network.run(500 * MILLISECOND)
    for _ in range(2):
        reader.client.crash()
        reader.client.connect()
        world.network.run(50 * MILLISECOND)
        reader.open()
        # It dies before anything comes.
        world.network.run(8 * MILLISECOND)
    reader.client.crash()
    reader.client.connect()
    world.network.run(50 * MILLISECOND)
    reader.open()
    world.network.run(SECOND)
    assert [gap.reason for gap in reader.life.missed] == [GapReason.RECREATED]


def test_streams_that_come_and_go_leave_nothing_behind() -> None:
    world = World()
    reader = world.reader()
    for _ in range(20):
        world.delete()
        world.create()
    world.network.run(SECOND)
    assert [world.known_pubends(broker) for broker in "is"] == [1, 1]
    for broker in world.network.brokers.values():
        assert len([key for key in broker.disk.saved if key.startswith("heard/")]) <= 1
    assert reader.life.ended


def test_a_name_of_a_deleted_stream_can_be_forgotten() -> None:
    world = World()
    world.reader()
    world.delete()
    world.network.run(500 * MILLISECOND)
    operator = Operator(world.network, "s")
    assert operator.ask("forget", durable="billing") == {}
    world.network.run(500 * MILLISECOND)
    assert world.network.brokers["s"].machine.is_idle
    saved = world.network.brokers["s"].disk.saved
    assert not [key for key in saved if key.startswith(("durable/", "forgetting/"))]


def test_a_parent_that_is_away_takes_no_stream_with_it() -> None:
    world = World()
    reader = world.reader()
    world.network.cut("i", "p")
    world.network.crash("i")
    world.network.restart("i")
    world.network.connect("s", "i")
    world.network.run(SECOND)
    assert world.known_pubends("s") == 1
    world.connect()
    world.publish(0, 2)
    world.network.run(SECOND)
    assert reader.values() == [0, 1]
    assert not reader.life.missed


# Found by the swarm.


def test_what_waits_to_be_stored_in_a_deleted_stream_is_refused() -> None:
    world = World()
    for n in range(5):
        world.writer.publish("bids", {"n": n})
    # It has arrived, and no sync has ended.
    world.network.run(5_100_000)
    broker = world.network.brokers["p"]
    [pubend] = broker.machine.pubends.values()
    assert pubend.unsynced
    broker.recreate("bids")
    world.network.run(3 * SECOND)
    assert {each.refused.reason for each in world.writer.refused} == {"unknown_stream"}
    assert not world.writer.unconfirmed


def test_an_acknowledgement_of_the_old_stream_is_not_one_of_the_notice() -> None:
    world = World()
    reader = world.reader("p")
    reader.is_paused = True
    world.publish(0, 3)
    world.network.brokers["p"].recreate("bids")
    reader.resume()
    world.network.run(500 * MILLISECOND)
    # It was refused or goes on; either way it hears of it once more, or for the first time.
    if reader.life.ended:
        reader.open()
        world.network.run(500 * MILLISECOND)
    assert [gap.reason for gap in reader.life.missed] == [GapReason.RECREATED]


def recreate_and_trim(world: World, *, drops: bool) -> int:
    """Creates the stream again while the host is cut off; returns how many messages are gone."""
    world.network.cut("s", "i")
    world.delete()
    pubend = world.create(size_bytes=2_000, drops=drops)
    for n in range(2, 102):
        world.writer.publish("bids", {"n": n})
        world.network.run(10 * MILLISECOND)
    world.network.run(SECOND)
    log = world.network.brokers["p"].disk.logs[f"{pubend:016x}"]
    assert 0 < len(log.records) < 100
    return 100 - len(log.records)


@pytest.mark.parametrize("durable", ["billing", ""])
@pytest.mark.parametrize("drops", [False, True])
def test_what_a_stream_gave_up_before_its_host_heard_of_it_is_a_gap(
    drops: bool, durable: str
) -> None:
    world = World()
    reader = world.reader(durable=durable)
    world.publish(0, 2)
    gone = recreate_and_trim(world, drops=drops)
    world.connect()
    world.network.run(2 * SECOND)
    told = [(gap.reason, gap.messages) for gap in reader.life.missed]
    assert told == [(GapReason.RECREATED, 0), (GapReason.RETENTION, gone)]
    assert reader.values() == [0, 1, *range(2 + gone, 102)]


def test_what_a_stream_gave_up_is_a_gap_for_who_left_before_it_was_held() -> None:
    world = World()
    reader = world.reader()
    world.publish(0, 2)
    gone = recreate_and_trim(world, drops=False)
    world.connect()
    host = world.network.brokers["s"].machine.host
    while not dict(host.table_sizes())["holds"]:
        world.network.run(MILLISECOND)
    reader.client.disconnect()
    world.network.run(SECOND)
    reader.client.connect()
    world.network.run(2 * SECOND)
    told = [(gap.reason, gap.messages) for gap in reader.life.missed]
    assert told == [(GapReason.RECREATED, 0), (GapReason.RETENTION, gone)]
    assert reader.values() == [0, 1, *range(2 + gone, 102)]
