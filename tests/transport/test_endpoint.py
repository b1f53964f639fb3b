"""Messages through two endpoints: order, gaps, lateness, losses, epochs and bounds."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.transport.facts import Loss
from penstock.transport.order.latch import LATCH_MAX_NS, ConstantLatch
from penstock.transport.settings import DEFAULT, OFF, OrderingSettings, constant, literal
from penstock.wire import size_of
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.data import Data
from penstock.wire.frames.record import EMPTY_RECORD
from penstock.wire.limits import FRAME_BYTES_MAX
from tests.transport.harness import Receiver, endpoint, message, published

HELD_10_MS = OrderingSettings(latch=ConstantLatch(10 * MILLISECOND))


def test_what_follows_is_handed_over_at_once() -> None:
    receiver = Receiver()
    frames = published([1] * 5)
    for frame in frames:
        receiver.hear(frame, at=frame.send_ts_us * 1000)
    assert receiver.numbers == [0, 1, 2, 3, 4]
    assert all(r.resolved_ns == r.arrived_ns and r.latch_ns is None for r in receiver.receipts)
    assert not receiver.absences


def test_what_is_not_for_us_is_not_waited_for() -> None:
    frames = published([1, 2, 2, 1])
    receiver = Receiver()
    receiver.hear(frames[0], frames[3])
    assert receiver.numbers == [0, 3]
    assert receiver.endpoint.next_wakeup() is None


def test_a_message_waits_for_one_that_is_missing() -> None:
    a, b, c = published([1] * 3)
    receiver = Receiver()
    receiver.hear(a, c)
    assert receiver.numbers == [0]
    receiver.hear(b)
    assert receiver.numbers == [0, 1, 2]
    assert receiver.fates == {1: "delivered"}


def test_held_messages_come_out_in_order_however_they_came() -> None:
    frames = published([1] * 6)
    receiver = Receiver()
    receiver.hear(frames[0], frames[5], frames[3], frames[2], frames[4], frames[1])
    assert receiver.numbers == [0, 1, 2, 3, 4, 5]


def test_when_the_latch_is_over_it_goes_on_without() -> None:
    a, b, c = published([1] * 3)
    receiver = Receiver(ordering=HELD_10_MS)
    receiver.hear(a, c, at=100 * MILLISECOND)
    receiver.wait_until(110 * MILLISECOND - 1)
    assert receiver.numbers == [0]
    receiver.wait_until(110 * MILLISECOND)
    assert receiver.numbers == [0, 2]
    assert receiver.receipts[1].latch_ns == 10 * MILLISECOND
    receiver.hear(b)
    assert receiver.numbers == [0, 2, 1]
    assert [str(r.fate) for r in receiver.receipts] == ["delivered", "delivered", "delivered_late"]
    assert receiver.fates == {1: "delivered_late"}


def test_late_messages_may_be_dropped_and_their_fate_is_told() -> None:
    a, b, c = published([1] * 3)
    receiver = Receiver(ordering=replace(HELD_10_MS, late="drop"))
    receiver.hear(a, c)
    receiver.hear(b, at=20 * MILLISECOND)
    assert receiver.numbers == [0, 2]
    assert receiver.fates == {1: "dropped_late"}
    assert str(receiver.receipts[-1].fate) == "dropped_late"


class Listener:
    def __init__(self) -> None:
        self.heard: list[Loss] = []

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        self.heard.append(loss)


@pytest.mark.spec("F12")
def test_a_loss_is_declared_later_than_the_latch_and_given_up_much_later() -> None:
    listener = Listener()
    a, _, c = published([1] * 3)
    receiver = Receiver(ordering=replace(DEFAULT, remember_ns=SECOND), listeners=[listener])
    receiver.hear(a, c)
    while not receiver.numbers[1:]:
        due = receiver.endpoint.next_wakeup()
        assert due is not None
        receiver.wait_until(due)
    released_at = receiver.now
    assert not listener.heard
    receiver.wait_for_all()
    [loss] = listener.heard
    [absence] = receiver.absences
    assert loss.id == absence.id == (1, 1, 1)
    assert not loss.is_retracted
    assert absence.lost_ns is not None
    assert absence.lost_ns > released_at
    assert (str(absence.state), str(absence.resolution)) == ("lost", "given_up")
    assert absence.ended_ns == absence.lost_ns + SECOND


@pytest.mark.spec("F10")
def test_a_late_original_retracts_its_loss() -> None:
    listener = Listener()
    a, b, c = published([1] * 3)
    receiver = Receiver(listeners=[listener])
    receiver.hear(a, c)
    receiver.hear(b, at=2 * SECOND)
    assert [loss.is_retracted for loss in listener.heard] == [False, True]
    assert receiver.fates == {1: "delivered_late"}
    assert receiver.absences[0].lost_ns is not None


def test_what_was_given_up_is_not_delivered_after_all() -> None:
    a, b, c = published([1] * 3)
    receiver = Receiver(ordering=replace(DEFAULT, remember_ns=SECOND))
    receiver.hear(a, c)
    receiver.wait_for_all()
    receiver.hear(b)
    assert receiver.numbers == [0, 2]
    assert receiver.fates == {1: "given_up"}
    assert receiver.endpoint.counters["after_end"] == 1


def test_nothing_is_delivered_twice() -> None:
    frames = published([1] * 4)
    receiver = Receiver()
    receiver.hear(frames[0], frames[0], frames[2], frames[2], frames[1], frames[1], frames[3])
    assert receiver.numbers == [0, 1, 2, 3]
    assert receiver.endpoint.counters["duplicate"] == 3


def test_a_restarted_publisher_starts_a_new_order() -> None:
    before, after = published([1] * 5), published([1] * 3, epoch=2)
    receiver = Receiver()
    receiver.hear(before[0], before[4])
    receiver.hear(after[1])
    # What was held is handed over, what was missing is given up, and the old epoch is over.
    assert [(r.frame.epoch, r.frame.seq) for r in receiver.receipts] == [(1, 0), (1, 4), (2, 1)]
    assert receiver.fates == {1: "given_up", 2: "given_up", 3: "given_up"}
    receiver.hear(before[2])
    assert receiver.endpoint.counters["old_epoch"] == 1
    receiver.hear(after[0], after[2])
    assert [r.frame.seq for r in receiver.receipts[3:]] == [0, 2]


def test_numbers_wrap_around() -> None:
    frames = [
        msgspec.structs.replace(frame, seq=(2**32 - 2 + i) % 2**32)
        for i, frame in enumerate(published([1] * 4))
    ]
    receiver = Receiver()
    receiver.hear(frames[0], frames[1], frames[3], frames[2])
    assert receiver.numbers == [2**32 - 2, 2**32 - 1, 0, 1]


def test_a_gap_beyond_the_record_is_unknown_and_not_waited_for() -> None:
    frames = published([1] * 20, size=5)
    receiver = Receiver()
    receiver.hear(frames[0], frames[19])
    receiver.wait_for_all()
    assert set(receiver.fates) == {14, 15, 16, 17, 18}
    # Of 1 to 13 nothing was told; one that comes is late, was never missing, and tells of others.
    receiver.hear(frames[13])
    assert receiver.numbers == [0, 19, 13]
    receiver.wait_for_all()
    assert set(receiver.fates) == {8, 9, 10, 11, 12, 14, 15, 16, 17, 18}


def test_a_longer_record_tells_of_what_was_unknown() -> None:
    frames = published([1] * 20, size=20)
    short = msgspec.structs.replace(frames[10], record=frames[10].record.newest(3))
    receiver = Receiver()
    receiver.hear(frames[0], short, frames[7], frames[8], frames[9])
    assert not set(receiver.fates) & {1, 2, 3, 4, 5, 6}
    receiver.hear(frames[11])
    # It blocks nobody: what follows was handed over.
    assert receiver.numbers == [0, 7, 8, 9, 10, 11]
    receiver.wait_for_all()
    assert {n: fate for n, fate in receiver.fates.items() if fate == "given_up"} == dict.fromkeys(
        range(1, 7), "given_up"
    )


@pytest.mark.spec("F9")
def test_the_paper_waits_for_what_no_entry_tells_of_and_only_then() -> None:
    frames = published([1, 2, 2, 2, 1], size=3)
    covered = Receiver(ordering=literal())
    covered.hear(frames[0], frames[4])
    assert covered.numbers == [0, 4]
    uncovered = Receiver(ordering=replace(literal(), latch=ConstantLatch(MILLISECOND)))
    frames = published([1, 2, 2, 2, 2, 1], size=3)
    uncovered.hear(frames[0], frames[5])
    assert uncovered.numbers == [0]
    uncovered.wait_for_all()
    assert uncovered.numbers == [0, 5]
    assert not uncovered.absences


def test_without_a_record_the_whole_gap_is_waited_for() -> None:
    frames = published([1, 2, 1, 1, 1], size=0)
    receiver = Receiver(ordering=constant(10 * MILLISECOND))
    receiver.hear(frames[0], frames[4], frames[3])
    assert receiver.numbers == [0]
    receiver.hear(frames[2], at=5 * MILLISECOND)
    assert receiver.numbers == [0]
    receiver.wait_until(10 * MILLISECOND)
    assert receiver.numbers == [0, 2, 3, 4]
    assert receiver.endpoint.next_wakeup() is None


def test_without_a_record_a_gap_that_closes_is_not_waited_for() -> None:
    frames = published([1] * 4, size=0)
    receiver = Receiver(ordering=constant(10 * MILLISECOND))
    receiver.hear(frames[0], frames[3], frames[1])
    assert receiver.numbers == [0, 1]
    receiver.hear(frames[2])
    assert receiver.numbers == [0, 1, 2, 3]


def test_off_hands_over_what_arrives_as_it_arrives() -> None:
    frames = published([1] * 4)
    receiver = Receiver(ordering=OFF)
    receiver.hear(frames[2], frames[0], frames[2], frames[3])
    assert receiver.numbers == [2, 0, 3]


def test_what_does_not_match_exactly_is_never_delivered() -> None:
    # A network may hand over too much.
    frames = published([1, 2, 1])
    receiver = Receiver()
    receiver.hear(*frames)
    assert receiver.numbers == [0, 2]
    assert receiver.endpoint.counters["unmatched"] == 1


def test_a_message_that_only_seemed_to_be_missing_ends_the_wait() -> None:
    # One that is for us by the record and not by its content: as after a collision.
    frames = published([1, 1, 1])
    impostor = msgspec.structs.replace(frames[1], message=message(2))
    receiver = Receiver()
    receiver.hear(frames[0], frames[2])
    assert receiver.numbers == [0]
    receiver.hear(impostor)
    assert receiver.numbers == [0, 2]
    assert receiver.fates == {1: "irrelevant"}


def test_subscriptions_with_one_interest_share_it_below_and_order_each_in_its_way() -> None:
    a, b, c = published([1] * 3)
    receiver = Receiver(ordering=OFF)
    second = receiver.subscribe("topic = 1", HELD_10_MS)
    network = receiver.endpoint.network
    assert isinstance(network, LoopbackNetwork)
    assert list(network.subscriptions.values()) == [(TrafficClass.DATA, parse("topic = 1"))]
    receiver.hear(a, c, b)
    by = {1: [0, 2, 1], second: [0, 1, 2]}
    for number, expected in by.items():
        got = [r.frame.seq for r in receiver.receipts if r.subscription == number]
        assert got == expected
    receiver.endpoint.unsubscribe(receiver.subscription, now=0)
    assert network.subscriptions
    receiver.endpoint.unsubscribe(second, now=0)
    assert not network.subscriptions


def test_unsubscribing_hands_over_what_is_held_and_then_nothing() -> None:
    frames = published([1] * 5)
    receiver = Receiver()
    receiver.hear(frames[0], frames[2], frames[3])
    receiver.endpoint.unsubscribe(receiver.subscription, now=receiver.now)
    receiver.drain()
    assert receiver.numbers == [0, 2, 3]
    assert receiver.fates == {1: "given_up"}
    receiver.hear(frames[1], frames[4])
    assert receiver.numbers == [0, 2, 3]
    with pytest.raises(UsageError, match="no subscription"):
        receiver.endpoint.unsubscribe(receiver.subscription, now=0)


def test_no_message_waits_longer_than_the_caller_allows() -> None:
    frames = published([1] * 5)
    slow = OrderingSettings(latch=ConstantLatch(SECOND), max_delay_ns=50 * MILLISECOND)
    receiver = Receiver(ordering=slow)
    receiver.hear(frames[0], frames[2])
    receiver.hear(frames[4], at=40 * MILLISECOND)
    receiver.wait_until(50 * MILLISECOND)
    assert receiver.numbers == [0, 2]
    receiver.wait_for_all()
    assert [r.resolved_ns - r.arrived_ns for r in receiver.receipts] == [
        0, 50 * MILLISECOND, 50 * MILLISECOND,
    ]  # fmt: skip


def test_a_shorter_max_delay_holds_for_what_waits_already() -> None:
    frames = published([1] * 3)
    receiver = Receiver(ordering=OrderingSettings(latch=ConstantLatch(SECOND)))
    receiver.hear(frames[0], frames[2])
    quicker = OrderingSettings(latch=ConstantLatch(SECOND), max_delay_ns=5 * MILLISECOND)
    receiver.endpoint.reconfigure(receiver.subscription, quicker, now=0)
    receiver.wait_until(5 * MILLISECOND)
    assert receiver.numbers == [0, 2]


def test_ordering_can_be_turned_off_and_on_while_it_runs() -> None:
    frames = published([1] * 8)
    receiver = Receiver()
    receiver.hear(frames[0], frames[2])
    receiver.endpoint.reconfigure(receiver.subscription, OFF, now=0)
    receiver.drain()
    assert receiver.numbers == [0, 2]
    receiver.hear(frames[4], frames[3])
    receiver.endpoint.reconfigure(receiver.subscription, HELD_10_MS, now=0)
    receiver.hear(frames[5], frames[7], frames[6])
    assert receiver.numbers == [0, 2, 4, 3, 5, 6, 7]


def test_there_is_a_bound_on_what_is_held() -> None:
    frames = published([1] * 30, size=30)
    receiver = Receiver(ordering=replace(DEFAULT, held_max=10))
    receiver.hear(frames[0], *frames[2:])
    # The eleventh would have had to wait: what is missing is let go.
    assert receiver.numbers == [0, *range(2, 30)]
    assert receiver.endpoint.counters["held_overflow"] == 1


def test_there_is_a_bound_on_what_is_missing() -> None:
    frames = published([1] * 100, size=100)
    receiver = Receiver(ordering=replace(DEFAULT, missing_max=10))
    receiver.hear(frames[0], frames[99])
    assert receiver.endpoint.counters["missing_overflow"] == 88
    receiver.wait_for_all()
    assert set(receiver.fates) == set(range(89, 99))
    # What was not taken up is delivered all the same when it comes.
    receiver.hear(frames[50])
    assert receiver.numbers == [0, 99, 50]


def test_publishers_heard_longest_ago_are_forgotten_first() -> None:
    receiver = Receiver(publishers_max=3)
    senders = {pub: endpoint(pub) for pub in range(1, 5)}

    def hear(pub: int) -> None:
        receiver.hear(senders[pub].publish(message(), now=receiver.now))

    for pub in (1, 2, 3, 1, 4, 1):
        hear(pub)
    assert receiver.endpoint.counters["publishers_overflow"] == 1
    # 2 went, so its first message is unknown and would be taken again; 1 is known.
    assert set(receiver.endpoint.publishers) == {1, 3, 4}


def test_a_gap_of_a_billion_costs_nothing() -> None:
    frames = published([1] * 3, size=0)
    far = msgspec.structs.replace(frames[2], seq=2**30, record=EMPTY_RECORD)
    for ordering in (DEFAULT, constant(MILLISECOND), literal()):
        receiver = Receiver(ordering=ordering)
        receiver.hear(frames[0], far, frames[1])
        receiver.wait_for_all()
        assert receiver.numbers == [0, 2**30]
        assert receiver.endpoint.counters["too_old"] == 1


def test_settings_out_of_bounds_are_refused() -> None:
    for wrong in (
        {"max_delay_ns": -1},
        {"max_delay_ns": LATCH_MAX_NS + 1},
        {"record_used": 256},
        {"loss_share": 1.5},
        {"held_max": 0},
    ):
        with pytest.raises(UsageError):
            replace(DEFAULT, **wrong)


def test_what_leaves_says_when_how_fast_and_after_what() -> None:
    sender = endpoint()
    frames = [sender.publish(message(at=i), now=i * 5 * MILLISECOND) for i in range(400)]
    assert [frame.seq for frame in frames] == list(range(400))
    assert frames[0].since_previous_100us == 0
    assert all(frame.since_previous_100us == 50 for frame in frames[1:])
    assert [len(frame.record) for frame in frames[:12]] == [*range(11), 10]
    assert frames[-1].send_rate_mps == pytest.approx(200, rel=0.02)
    assert frames[-1].send_ts_us == 399 * 5000


def test_a_frame_never_grows_beyond_its_bound() -> None:
    sender = endpoint()
    frame: Data | None = None
    for i in range(20):
        big = {f"attribute{j}": f"{i:030}" for j in range(20)}
        frame = sender.publish(Message(big, bytes(200)), now=i * MILLISECOND)
    assert frame is not None
    assert size_of(frame) <= FRAME_BYTES_MAX
    assert len(frame.record) < 10


def test_a_message_that_is_too_large_leaves_no_trace() -> None:
    sender, receiver = endpoint(), Receiver()
    first = sender.publish(message(), now=0)
    with pytest.raises(UsageError, match="too large"):
        sender.publish(Message({"topic": 1}, bytes(1_400)), now=MILLISECOND)
    second = sender.publish(message(), now=2 * MILLISECOND)
    assert (second.seq, len(second.record)) == (1, 1)
    receiver.hear(first, second)
    assert receiver.numbers == [0, 1]


def test_after_a_long_silence_any_other_epoch_is_new() -> None:
    # Epochs of a clock wrap after eighteen hours: what looks older may be younger.
    receiver = Receiver()
    receiver.hear(published([1], epoch=9)[0])
    old = published([1], epoch=8)[0]
    receiver.hear(old, at=30 * SECOND)
    assert receiver.endpoint.counters["old_epoch"] == 1
    receiver.hear(old, at=31 * SECOND)
    assert len(receiver.numbers) == 2
