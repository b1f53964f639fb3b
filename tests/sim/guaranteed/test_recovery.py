"""Named runs of guaranteed streams: what went wrong once, and what must never."""

from __future__ import annotations

import pytest

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.settings import BrokerSettings, PubendSettings, Retention
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.checkers.guaranteed.decided_ticks import DecidedTicksChecker
from penstock.sim.checkers.guaranteed.trim import TrimChecker, cursors_on_disk
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

PUBEND = 0xA
ORDERS = {PUBEND: "orders"}


class Line:
    """p – i – s, with a writer at p."""

    def __init__(self, seed: int, settings: BrokerSettings | None = None) -> None:
        self.network = StreamNetwork(seed, settings=settings)
        self.decided = DecidedTicksChecker()
        self.network.watchers.append(self.decided)
        self.network.add_broker("p", streams=ORDERS)
        self.network.add_broker("i", parents=1)
        self.network.add_broker("s", parents=1)
        self.connect()
        self.run(100)
        self.writer = Writer(self.network, "writer", "p")
        self.published = 0

    def connect(self) -> None:
        """All that is up is linked."""
        self.network.connect("i", "p")
        self.network.connect("s", "i")
        for client in self.network.clients.values():
            client.connect()

    def run(self, duration_ms: int) -> None:
        """Lets time pass."""
        self.network.run(duration_ms * MILLISECOND)

    def reader(
        self,
        name: str,
        broker: str = "s",
        *,
        predicate: Predicate = EVERYTHING,
        window: int = 100,
        is_paused: bool = False,
        opens_for_ms: int = 100,
    ) -> ReadingProgram:
        """A durable reader of everything, from the first message on."""
        reader = ReadingProgram(
            self.network,
            name,
            broker,
            stream="orders",
            durable=name,
            window=window,
            predicate=predicate,
        )
        reader.is_paused = is_paused
        self.run(50)
        reader.open()
        self.run(opens_for_ms)
        return reader

    def publish(self, messages: int, *, every_ms: int = 5) -> None:
        """Messages numbered on."""
        for _ in range(messages):
            self.writer.publish("orders", {"n": self.published, "k": self.published % 4})
            self.published += 1
            self.run(every_ms)

    @property
    def is_idle(self) -> bool:
        """Whether nobody has anything to do."""
        return all(broker.machine.is_idle for broker in self.network.brokers.values())


def test_two_messages_on_consecutive_ticks_with_link_up_between_them() -> None:
    """The link comes up when the first is synced and the second is not: neither is silence."""
    line = Line(11)
    reader = line.reader("r")
    line.network.cut("i", "p")
    line.run(100)
    for _ in range(2):
        line.publish(1, every_ms=0)
    disk = line.network.brokers["p"].disk
    while len(line.writer.confirmed) < 1:
        line.network.run(MILLISECOND // 10)
    line.network.connect("i", "p")
    line.run(2_000)
    ticks = sorted(position.tick for position in line.writer.confirmed.values())
    assert ticks[1] == ticks[0] + 1
    assert [each.tick for each in reader.life.received] == ticks
    assert [record.tick for record in disk.logs[f"{PUBEND:016x}"].records] == ticks


def test_a_relay_restarted_while_a_host_is_away_trims_nothing_of_that_host() -> None:
    """The relay knows only the host that is there: that one must not speak for the other."""
    retention = Retention(size_bytes=8_000)
    settings = BrokerSettings(pubend=PubendSettings(retention=retention))
    line = Line(12, settings)
    line.network.add_broker("t", parents=1)
    line.network.connect("t", "i")
    line.run(100)
    away, there = line.reader("away", "s"), line.reader("there", "t")
    checker = TrimChecker(line.network)
    line.network.watchers.append(checker)
    line.publish(20)
    line.network.crash("s")
    line.network.crash("i")
    line.run(100)
    line.network.restart("i")
    line.network.connect("i", "p")
    line.network.connect("t", "i")
    line.publish(200)
    line.run(2_000)
    assert line.writer.refused
    assert not checker.wrong
    line.network.restart("s")
    line.connect()
    line.run(20_000)
    assert not line.writer.unconfirmed
    assert checker.trims
    assert not checker.wrong
    for reader in (away, there):
        assert not reader.life.missed
        assert len({*reader.values()}) == 220


def test_after_a_cut_of_power_everything_confirmed_is_there() -> None:
    """All brokers lose their power at once, again and again, in the middle of syncs."""
    line = Line(13)
    reader = line.reader("r")
    for _ in range(10):
        line.publish(15, every_ms=3)
        for name in ("p", "i", "s"):
            line.network.crash(name)
        line.run(20)
        for name in ("p", "i", "s"):
            line.network.restart(name)
        line.connect()
    line.run(5_000)
    assert len(line.writer.confirmed) == 150
    assert reader.values() == [*range(150)]
    assert not line.decided.wrong
    assert line.is_idle


def test_ticks_of_a_restored_log_are_not_given_again() -> None:
    """A wall clock that is right is ahead of all that the lost part of the log has said.

    Section 3 asks for more: a host whose cursor lies in the dead range is to tell its readers of a
    gap. That is not built yet: they see messages on both sides of it, and no word between. And it
    would see nothing of the two seconds that the lease of the backup lies ahead.
    """
    line = Line(14)
    reader = line.reader("r")
    line.publish(20)
    line.run(500)
    backup = line.network.brokers["p"].disk.backup()
    line.run(3_000)
    line.publish(20)
    line.run(500)
    said = max(position.tick for position in line.writer.confirmed.values())
    line.network.crash("p")
    line.network.brokers["p"].disk.restore(backup)
    line.network.restart("p")
    line.connect()
    line.publish(20)
    line.run(5_000)
    machine = line.network.brokers["p"].machine
    assert any(start <= said < stop for start, stop in machine.pubends[PUBEND].dead_ranges)
    assert reader.values() == [*range(60)]
    assert not reader.life.missed
    assert line.is_idle


def test_a_restored_log_and_a_clock_that_was_set_back_give_ticks_again() -> None:
    """What section 3 is to detect: a cursor above the lease. Today such messages are lost."""
    line = Line(15)
    reader = line.reader("r")
    line.publish(20)
    backup = line.network.brokers["p"].disk.backup()
    line.publish(200)
    line.run(10_000)
    broker = line.network.brokers["p"]
    line.network.crash("p")
    broker.disk.restore(backup)
    broker.wall_offset_ns -= 3600 * SECOND
    line.network.restart("p")
    line.connect()
    line.publish(20)
    line.run(5_000)
    cursor = cursors_on_disk(line.network)["s"][PUBEND]
    assert all(position.tick < cursor for position in line.writer.confirmed.values())
    assert reader.values() == [*range(220)]


# Found by the swarm.


def test_a_lease_is_synced_before_a_filter_is_granted() -> None:
    """Else the next life could give ticks out that a host has passed already."""
    line = Line(16)
    line.reader("r")
    for _ in range(20):
        line.network.crash("p")
        line.run(10)
        line.network.restart("p")
        line.connect()
        line.run(15)
    line.run(1_000)
    assert not line.decided.wrong


def test_credit_counts_for_an_attachment_that_waits_for_streams() -> None:
    network = StreamNetwork(17)
    network.add_broker("p", streams=ORDERS)
    network.add_broker("s", parents=1)
    writer = Writer(network, "writer", "p")
    reader = ReadingProgram(network, "r", "s", stream="orders", durable="r")
    network.run(50 * MILLISECOND)
    reader.open()
    network.run(50 * MILLISECOND)
    network.connect("s", "p")
    network.run(100 * MILLISECOND)
    writer.publish("orders", {"n": 0})
    network.run(SECOND)
    assert reader.values() == [0]


def test_a_stream_is_not_unknown_while_grandparents_are_away() -> None:
    network = StreamNetwork(18)
    network.add_broker("p", streams=ORDERS)
    network.add_broker("i", parents=1)
    network.add_broker("s", parents=1)
    reader = ReadingProgram(network, "r", "s", stream="orders", durable="r")
    network.connect("s", "i")
    network.run(100 * MILLISECOND)
    reader.open()
    network.run(100 * MILLISECOND)
    assert not reader.life.ended
    network.connect("i", "p")
    network.run(100 * MILLISECOND)
    assert reader.life.opened is not None


def test_a_client_is_not_told_of_a_gap_where_there_was_silence() -> None:
    """Its own position is behind the cursor, and the log was trimmed up to there."""
    settings = BrokerSettings(pubend=PubendSettings(retention=Retention(size_bytes=2_000)))
    line = Line(19, settings)
    reader = line.reader("r", predicate=parse("k = 7"))
    line.publish(200)
    line.run(2_000)
    assert line.network.brokers["p"].machine.pubends[PUBEND].trimmed_upto
    reader.client.disconnect()
    reader.client.connect()
    line.run(2_000)
    assert not reader.life.missed
    assert line.is_idle


def test_a_slow_reader_takes_no_more_into_memory_than_it_has_asked_for() -> None:
    line = Line(20)
    slow = line.reader("slow", window=1)
    slow.is_paused = True
    line.publish(400, every_ms=20)
    line.run(20_000)
    (feed,) = line.network.brokers["s"].machine.host.readings[PUBEND].feeds
    assert len(feed.pending) < 150
    slow.resume()
    line.run(20_000)
    assert slow.values() == [*range(400)]
    assert line.is_idle


@pytest.mark.parametrize("cut_after_ms", range(30, 90, 3))
def test_a_reader_of_an_earlier_life_answers_none_of_a_new_one(cut_after_ms: int) -> None:
    """The pubend has a catch-up reader of a host that has died; its successor's READER is lost."""
    line = Line(22)
    line.publish(100)
    # It takes one message, and its reader stays where it is.
    line.reader("early", predicate=parse("k = 1"), window=1, is_paused=True)
    line.network.crash("s")
    line.run(100)
    line.network.restart("s")
    line.network.connect("s", "i")
    late = line.reader("late", predicate=parse("k = 2"), opens_for_ms=cut_after_ms)
    line.network.cut("i", "p")
    line.run(20)
    line.network.connect("i", "p")
    line.run(5_000)
    assert late.values() == [*range(2, 100, 4)]


def test_an_acknowledgement_that_a_link_has_lost_is_repeated() -> None:
    """Its reader is gone by then, so no other follows it."""
    line = Line(23)
    reader = line.reader("r")
    reader.is_paused = True
    line.publish(20)
    line.run(500)
    line.network.cut("i", "p")
    reader.resume()
    line.run(500)
    reader.close()
    line.run(500)
    line.network.connect("i", "p")
    line.run(3_000)
    row = line.network.brokers["p"].machine.pubends[PUBEND].rows.by_host["s"]
    assert row.tick == cursors_on_disk(line.network)["s"][PUBEND]


def test_a_gap_is_told_again_if_the_client_has_not_got_it() -> None:
    settings = BrokerSettings(
        pubend=PubendSettings(retention=Retention(size_bytes=2_000, drops=True))
    )
    line = Line(24, settings)
    reader = line.reader("r")
    reader.close()
    line.run(100)
    line.publish(200)
    line.run(1_000)
    trimmed = line.network.brokers["p"].machine.pubends[PUBEND].trimmed_upto
    reader.open()
    host = line.network.brokers["s"].machine.host
    while not any(feed.position > trimmed for feed in host.readings[PUBEND].feeds):
        line.network.run(MILLISECOND // 10)
    assert not reader.life.missed
    reader.client.disconnect()
    line.run(500)
    reader.client.connect()
    line.run(2_000)
    assert [gap.stop for gap in reader.life.missed] == [trimmed + 1]
    assert len(reader.values()) < 50
    assert line.is_idle


@pytest.mark.parametrize("joins_after_ms", range(0, 200, 20))
def test_no_acknowledgement_overtakes_a_name_that_is_being_stored(joins_after_ms: int) -> None:
    """The host has read everything for one name, and is just storing where another begins."""
    settings = BrokerSettings(pubend=PubendSettings(retention=Retention(size_bytes=4_000)))
    network = StreamNetwork(25, settings=settings, sync_ns=100 * MILLISECOND)
    checker = TrimChecker(network)
    network.watchers.append(checker)
    network.add_broker("b", streams=ORDERS)
    writer = Writer(network, "writer", "b")
    first, second = (
        ReadingProgram(network, name, "b", stream="orders", durable=name, window=window)
        for name, window in (("first", 100), ("second", 1))
    )
    network.run(100 * MILLISECOND)
    first.open()
    network.run(SECOND)
    for n in range(200):
        writer.publish("orders", {"n": n})
        network.run(10 * MILLISECOND)
        if n == 50 + joins_after_ms // 10:
            second.open()
    network.run(20 * SECOND)
    assert checker.trims
    assert not checker.wrong
    assert not second.life.missed


def test_a_small_stream_that_may_drop_is_trimmed() -> None:
    settings = BrokerSettings(
        pubend=PubendSettings(retention=Retention(size_bytes=4_000, drops=True))
    )
    line = Line(21, settings)
    line.publish(400)
    line.run(1_000)
    log = line.network.brokers["p"].disk.logs[f"{PUBEND:016x}"]
    assert len(log.records) < 100
