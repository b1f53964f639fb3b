"""What a program leaves unacknowledged comes again, is counted, and ends or is put aside."""

from __future__ import annotations

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.wire.frames.guaranteed.subscription import AttachFlags

ORDERS = {0xA: "orders"}


def network_with(
    messages: int, *, attempts_max: int = 5, seed: int = 1
) -> tuple[StreamNetwork, Writer, ReadingProgram]:
    """One broker, and a reader that has received and not acknowledged all messages."""
    network = StreamNetwork(seed)
    network.add_broker("b", streams=ORDERS)
    writer = Writer(network, "writer", "b")
    reader = ReadingProgram(
        network, "reader", "b", stream="orders", durable="billing", attempts_max=attempts_max
    )
    reader.is_paused = True
    network.run(100 * MILLISECOND)
    reader.open()
    network.run(100 * MILLISECOND)
    for n in range(messages):
        writer.publish("orders", {"n": n})
        network.run(10 * MILLISECOND)
    network.run(500 * MILLISECOND)
    assert reader.values() == [*range(messages)]
    assert reader.attempts() == [1] * messages
    return network, writer, reader


def reopen(network: StreamNetwork, reader: ReadingProgram, flags: AttachFlags) -> None:
    reader.client.crash()
    reader.client.connect()
    network.run(50 * MILLISECOND)
    reader.open(flags=flags)
    network.run(SECOND)


def test_after_a_crash_messages_come_one_at_a_time_until_past_what_was_handed_out() -> None:
    network, writer, reader = network_with(3)
    reader.crash()
    network.run(SECOND)
    assert reader.values() == [0]
    writer.publish("orders", {"n": 3})
    reader.resume()
    network.run(SECOND)
    assert reader.values() == [0, 1, 2, 3]
    assert reader.attempts() == [2, 2, 2, 1]


def test_a_client_that_acknowledges_many_at_once_goes_on_after_a_crash() -> None:
    network, _, reader = network_with(5)
    reader.crash()
    reader.is_paused = True
    network.run(SECOND)
    received = reader.life.received
    assert len(received) == 1
    network.run(6 * SECOND)
    assert [message.attempt for message in reader.life.received] == [2] * 5
    reader.resume()
    network.run(SECOND)
    assert reader.values() == [*range(5)]


def test_a_client_that_lives_gets_nothing_again_when_its_host_crashes() -> None:
    network, writer, reader = network_with(3)
    network.crash("b")
    network.run(50 * MILLISECOND)
    network.restart("b")
    reader.client.connect()
    writer.client.connect()
    writer.publish("orders", {"n": 3})
    network.run(SECOND)
    assert reader.values() == [0, 1, 2, 3]
    assert reader.attempts() == [1] * 4


def test_what_a_living_client_had_not_acknowledged_comes_when_it_dies_later() -> None:
    network, _writer, reader = network_with(3)
    reader.client.disconnect()
    reader.client.connect()
    network.run(SECOND)
    assert reader.values() == [0, 1, 2]
    reader.crash()
    reader.resume()
    network.run(SECOND)
    assert reader.values() == [0, 1, 2]
    assert reader.attempts() == [2, 2, 2]


def test_what_an_earlier_life_had_comes_again_also_after_a_reconnection() -> None:
    network, _writer, reader = network_with(3)
    reader.crash()
    network.run(SECOND)
    assert reader.values() == [0]
    reader.client.disconnect()
    reader.client.connect()
    reader.resume()
    network.run(SECOND)
    assert reader.values() == [0, 1, 2]
    assert reader.attempts() == [2, 2, 2]


def test_when_host_and_client_die_together_every_message_may_have_come_before() -> None:
    network, _writer, reader = network_with(3)
    network.crash("b")
    network.run(50 * MILLISECOND)
    network.restart("b")
    reader.client.crash()
    reader.client.connect()
    reader.is_paused = False
    reader.open()
    network.run(SECOND)
    assert reader.values() == [0, 1, 2]
    assert all(attempt > 1 for attempt in reader.attempts())


def test_after_a_clean_end_nothing_counts_as_handed_out() -> None:
    network, _writer, reader = network_with(3)
    reader.close()
    network.run(SECOND)
    reader.open()
    network.run(SECOND)
    assert reader.attempts() == [1, 1, 1]


def test_a_message_that_kills_its_reader_ends_the_subscription_and_keeps_its_place() -> None:
    network, _writer, reader = network_with(2, attempts_max=3)
    for attempt in (2, 3):
        reopen(network, reader, AttachFlags.NONE)
        assert reader.attempts() == [attempt]
    # The broker counts through its own crashes.
    network.crash("b")
    network.restart("b")
    reopen(network, reader, AttachFlags.NONE)
    assert reader.attempts() == []
    [ended] = reader.life.ended
    assert ended.refused.reason == "poison"
    assert "handed out 3 times" in ended.refused.text
    assert network.brokers["b"].machine.host.durables["billing"].stopped


def test_a_message_that_kills_its_reader_is_put_aside_if_asked_for() -> None:
    network, writer, reader = network_with(2, attempts_max=3)
    for _ in range(2):
        reopen(network, reader, AttachFlags.PARK)
    reader.is_paused = False
    reopen(network, reader, AttachFlags.PARK)
    assert reader.values() == [1]
    writer.publish("orders", {"n": 2})
    network.run(SECOND)
    assert reader.values() == [1, 2]
    network.crash("b")
    network.restart("b")
    [parked] = network.brokers["b"].machine.host.parking.of("billing")
    assert parked.attempts == 3
    assert network.brokers["b"].machine.host.durables["billing"].cursors[0xA] > parked.tick


def test_a_failed_message_comes_again_with_all_behind_it_after_growing_waits() -> None:
    network, _writer, reader = network_with(3, attempts_max=4)
    reader.fail("no")
    network.run(900 * MILLISECOND)
    assert len(reader.life.received) == 3
    network.run(300 * MILLISECOND)
    assert reader.values() == [0, 1, 2] * 2
    reader.fail("no")
    network.run(1800 * MILLISECOND)
    assert len(reader.life.received) == 6
    network.run(400 * MILLISECOND)
    reader.resume()
    network.run(SECOND)
    assert reader.values() == [0, 1, 2] * 3
    # Those behind it were not to blame.
    assert reader.attempts() == [1, 1, 1, 2, 1, 1, 3, 1, 1]
    assert network.brokers["b"].machine.is_idle


def test_a_broker_is_not_idle_while_a_failed_message_has_to_come_again() -> None:
    network, _writer, reader = network_with(1)
    reader.fail("no")
    idle: list[bool] = []
    for duration_ms in (900, 1_000):
        network.run(duration_ms * MILLISECOND)
        idle.append(network.brokers["b"].machine.is_idle)
    assert idle == [False, True]
    assert reader.attempts() == [1, 2]


def test_a_message_that_fails_too_often_ends_the_subscription_and_says_why() -> None:
    network, _writer, reader = network_with(1, attempts_max=2)
    reader.fail("no such customer")
    network.run(2 * SECOND)
    assert reader.attempts() == [1, 2]
    reader.fail("no such customer")
    network.run(3 * SECOND)
    [ended] = reader.life.ended
    assert ended.refused.reason == "poison"
    assert "no such customer" in ended.refused.text


def test_a_failure_without_a_connection_counts_on_the_next_one() -> None:
    network, _writer, reader = network_with(2)
    reader.client.disconnect()
    reader.fail("no")
    network.run(SECOND)
    reader.is_paused = False
    reader.client.connect()
    network.run(3 * SECOND)
    assert reader.values() == [0, 1, 0, 1]
    assert reader.attempts() == [1, 1, 2, 1]


def test_without_a_name_a_failed_message_comes_again_although_its_host_has_crashed() -> None:
    network = StreamNetwork(1)
    network.add_broker("b", streams=ORDERS)
    writer = Writer(network, "writer", "b")
    reader = ReadingProgram(network, "reader", "b", stream="orders")
    reader.is_paused = True
    network.run(100 * MILLISECOND)
    reader.open()
    network.run(100 * MILLISECOND)
    for n in range(3):
        writer.publish("orders", {"n": n})
    network.run(500 * MILLISECOND)
    assert reader.values() == [0, 1, 2]
    network.crash("b")
    reader.fail("no room")
    network.restart("b")
    reader.client.connect()
    reader.is_paused = False
    network.run(3 * SECOND)
    assert reader.values() == [0, 1, 2, 0, 1, 2]
