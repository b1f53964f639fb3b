"""Readers that catch up share few places."""

from __future__ import annotations

from penstock.guaranteed.settings import BrokerSettings, HostSettings

from .line import PUBEND, Line


def test_readers_that_take_nothing_do_not_keep_others_from_catching_up() -> None:
    line = Line(41, BrokerSettings(host=HostSettings(catch_up_readers_max=2)))
    line.publish(50)
    stuck = [line.reader(f"stuck {at}", window=1, is_paused=True) for at in range(3)]
    reading = line.network.brokers["s"].machine.host.readings[PUBEND]
    assert reading.catch_up_readers == 2
    others = [line.reader(f"other {at}", window=10) for at in range(4)]
    line.run(10_000)
    for reader in others:
        assert reader.values() == [*range(50)]
    for reader in stuck:
        reader.resume()
    line.run(10_000)
    for reader in stuck:
        assert reader.values() == [*range(50)]
        assert not reader.life.missed
    assert line.is_idle


def test_a_host_is_not_idle_while_a_reader_waits_for_its_turn() -> None:
    line = Line(48, BrokerSettings(host=HostSettings(catch_up_readers_max=1)))
    line.publish(50)
    readers = [line.reader(f"r{at}", opens_for_ms=0) for at in range(3)]
    reading = line.network.brokers["s"].machine.host.readings[PUBEND]
    waits = []
    for _ in range(1_000):
        line.run(1)
        waits.append(reading.waiting_readers > 0)
        assert not (waits[-1] and reading.is_idle)
    assert any(waits)
    assert reading.is_idle
    assert all(reader.values() == [*range(50)] for reader in readers)


def test_a_reader_without_credit_for_a_moment_goes_on_from_memory() -> None:
    line = Line(43)
    reader = line.reader("r", window=10)
    line.publish(20)
    reading = line.network.brokers["s"].machine.host.readings[PUBEND]
    (feed,) = reading.feeds
    reader.is_paused = True
    line.publish(40)
    assert 30 <= len(feed.pending) <= 40
    assert feed.pending_bytes > 0
    reader.resume()
    line.run(1_000)
    assert reader.values() == [*range(60)]
    assert not reading.catch_up_readers
    assert feed.pending_bytes == 0
    assert line.is_idle


def test_a_reader_that_leaves_too_much_catches_up_from_the_log() -> None:
    line = Line(44, BrokerSettings(host=HostSettings(waiting_messages=20)))
    reader = line.reader("r", window=10)
    reader.is_paused = True
    line.publish(40)
    reading = line.network.brokers["s"].machine.host.readings[PUBEND]
    (feed,) = reading.feeds
    assert not feed.is_live
    assert not feed.pending
    reader.resume()
    line.run(5_000)
    assert reader.values() == [*range(40)]
    assert line.is_idle


def test_a_client_that_gives_credit_and_does_not_read_has_a_bounded_queue() -> None:
    line = Line(42, BrokerSettings(host=HostSettings(client_queue_bytes=2_000)))
    reader = line.reader("r", "p", window=1_000)
    broker = line.network.brokers["p"].machine
    queue = broker.queues[reader.client.port]
    # Its connection takes nothing more.
    room_bytes, queue.room_bytes = queue.room_bytes, 0
    largest = 0
    for _ in range(200):
        line.publish(1)
        largest = max(largest, queue.queue_bytes)
    assert 2_000 <= largest < 2_500
    line.network.brokers["p"].call(lambda b, now: b.room(reader.client.port, room_bytes, now=now))
    line.run(10_000)
    assert reader.values() == [*range(200)]
    assert line.is_idle


def test_what_waits_for_a_connection_with_too_much_on_its_way_leaves_when_it_has_room() -> None:
    line = Line(45, BrokerSettings(host=HostSettings(client_queue_bytes=500)))
    # It gives all its credit at once, and says nothing more.
    reader = line.reader("r", "p", window=1_000_000, is_paused=True)
    broker = line.network.brokers["p"]
    queue = broker.machine.queues[reader.client.port]
    room_bytes, queue.room_bytes = queue.room_bytes, 0
    line.publish(30)
    (feed,) = broker.machine.host.readings[PUBEND].feeds
    assert feed.pending
    broker.call(lambda b, now: b.room(reader.client.port, room_bytes, now=now))
    line.run(5_000)
    assert reader.values() == [*range(30)]
