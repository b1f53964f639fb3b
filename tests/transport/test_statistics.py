"""What an endpoint says of its own size, and that to ask changes nothing."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from penstock.content.message import Message
from penstock.kernel.instant import MILLISECOND
from penstock.transport.congestion import settings as congestion
from penstock.transport.recovery import settings as recovery
from penstock.transport.settings import DEFAULT
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.request import Request
from tests.transport.harness import Receiver, published
from tests.transport.recovery.bus import Bus

PUBLISHER, ONE = 1, 2
SLOW = replace(congestion.DEFAULT, initial_rate_mps=5.0, queue_max=10, policy="drop-oldest")


def test_a_gap_is_seen_in_the_stream_that_waits_for_it() -> None:
    frames = published([1] * 5)
    receiver = Receiver(ordering=replace(DEFAULT, remember_ns=0))
    receiver.hear(frames[0], frames[2], frames[4])
    statistics = receiver.endpoint.statistics()
    (publisher,) = statistics.publishers
    (stream,) = publisher.streams
    assert (publisher.publisher, publisher.epoch) == (1, 1)
    assert stream.subscription_id == receiver.subscription
    assert stream.buffered == 2
    assert stream.missing == (1, 3)
    assert (stream.lost, stream.possible, stream.given_up) == ((), 0, 0)
    assert statistics.timers == 2
    assert (statistics.subscriptions, statistics.interests, statistics.caches) == (1, 1, 0)
    assert [len(delays.samples) for delays in publisher.delays] == [1]
    assert statistics.recovery is None
    assert statistics.congestion is None
    assert receiver.endpoint.publisher_statistics(1) == publisher
    assert receiver.endpoint.publisher_statistics(666) is None
    receiver.wait_for_all()
    (stream,) = receiver.endpoint.statistics().publishers[0].streams
    assert (stream.buffered, stream.missing, stream.given_up) == (0, (), 2)
    assert receiver.endpoint.statistics().timers == 0


def lossy_bus() -> Bus:
    """Message 5 is lost, and no request for it arrives."""

    def loses(_sender: int, _receiver: int, frame: TransportFrame) -> bool:
        return isinstance(frame, Request) or (isinstance(frame, Data) and frame.seq == 5)

    bus = Bus(loses=loses)
    bus.add(PUBLISHER, recovery.DEFAULT, congestion=SLOW)
    bus.add(ONE, recovery.DEFAULT, interest="topic = 1", congestion=SLOW)
    for _ in range(16):
        bus.endpoints[PUBLISHER].submit(Message({"topic": 1}), now=bus.now)
        bus.run(100 * MILLISECOND)
    return bus


def test_recovery_shows_what_is_requested_and_cached() -> None:
    bus = lossy_bus()
    own, other = (bus.endpoints[each].statistics() for each in (PUBLISHER, ONE))
    assert own.recovery is not None
    assert other.recovery is not None
    lost = other.publishers[0].streams[0].lost
    assert lost == other.recovery.requester.pending == (MessageId(PUBLISHER, 1, 5),)
    assert other.recovery.requester.timers == 1
    assert own.recovery.repairer.pending == ()
    sent = sum(type(frame) is Data for _, frame in bus.sent)
    (cached,) = other.recovery.cache.publishers
    assert (cached.publisher, cached.messages_max) == (PUBLISHER, recovery.DEFAULT.cache.k_min)
    assert other.recovery.cache.messages == min(sent - 1, cached.messages_max)
    assert cached.size_bytes == other.recovery.cache.size_bytes > 0
    assert own.recovery.publication_cache.messages > 0
    assert own.recovery.cache.publishers == ()


def test_congestion_control_shows_its_queue_and_its_sessions() -> None:
    bus = Bus()
    publisher = bus.add(PUBLISHER, None, congestion=SLOW)
    receiver = bus.add(ONE, None, interest="topic = 1", congestion=SLOW)
    for _ in range(30):
        publisher.submit(Message({"topic": 1}), now=bus.now)
    bus.run(100 * MILLISECOND)
    own, other = publisher.statistics().congestion, receiver.statistics().congestion
    assert own is not None
    assert own.sender is not None
    assert own.sender.queued == publisher.queued_messages == SLOW.queue_max
    assert (own.sender.lanes, own.sender.unclassified, own.sender.flows) == (1, 0, ())
    assert own.sender.receivers == 1
    assert own.receiver.sessions == ()
    assert other is not None
    assert other.sender is None
    (session,) = other.receiver.sessions
    assert session.publisher == PUBLISHER
    assert len(session.filters) == other.receiver.filters == 1
    assert other.receiver.request_allowances == 1


def test_to_ask_changes_nothing() -> None:
    bus = lossy_bus()
    for endpoint in bus.endpoints.values():
        due = endpoint.next_wakeup()
        before = endpoint.statistics()
        assert endpoint.statistics() == before
        assert endpoint.next_wakeup() == due
        with pytest.raises(FrozenInstanceError):
            before.timers = 0  # type: ignore[misc]
