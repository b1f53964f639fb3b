"""Named runs of guaranteed streams: what went wrong once, and what must never."""

from __future__ import annotations

import pytest

from penstock.content.syntax import parse
from penstock.guaranteed.settings import (
    BrokerSettings,
    HostSettings,
    PubendSettings,
    RelaySettings,
    Retention,
)
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.checkers.guaranteed.trim import TrimChecker, cursors_on_disk
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

from .line import ORDERS, PUBEND, Line


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
    assert reader.life.opened is None
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
    assert line.network.brokers["p"].machine.pubends[PUBEND].stored.trimmed_upto
    reader.client.disconnect()
    reader.client.connect()
    line.run(2_000)
    assert not reader.life.missed
    assert line.is_idle


def test_a_slow_reader_takes_no_more_into_memory_than_it_has_asked_for() -> None:
    line = Line(20, BrokerSettings(host=HostSettings(waiting_messages=50)))
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
        pubend=PubendSettings(retention=Retention(size_bytes=2_000, drops=True)),
        # What a cache still has is no gap.
        relay=RelaySettings(cache_bytes=1_000),
    )
    line = Line(24, settings)
    reader = line.reader("r")
    reader.close()
    line.run(100)
    line.publish(200)
    line.run(1_000)
    trimmed = line.network.brokers["p"].machine.pubends[PUBEND].stored.trimmed_upto
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


def test_a_gap_that_stays_open_is_told_once() -> None:
    """The pubend answers no request, and says what is new."""
    line = Line(26)
    reader = line.reader("r")
    line.network.cut("i", "p")
    line.publish(5)
    pubend = line.network.brokers["p"].machine.pubends[PUBEND]
    pubend.repairs.on_nack = lambda _frame, **_others: None  # type: ignore[method-assign]
    line.connect()
    line.run(25_000)
    broker = line.network.brokers["s"]
    assert not broker.alarms
    line.run(60_000)
    assert [alarm.kind for alarm in broker.alarms] == ["gap_open"]
    del pubend.repairs.on_nack
    line.run(10_000)
    assert reader.values() == [*range(5)]
    assert len(broker.alarms) == 1
