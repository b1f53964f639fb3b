"""What once went wrong under odd but possible traffic, changes at run time, and forged frames."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.transport.facts import Loss
from penstock.transport.order.delay_estimator import EstimatorSettings
from penstock.transport.order.latch import ConditionalLatch
from penstock.transport.order.reorder_buffer import BufferedMessage, ReorderBuffer
from penstock.transport.receive.publisher_image import WINDOW_SIZE
from penstock.transport.settings import (
    DEFAULT,
    OFF,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
)
from tests.transport.harness import Receiver, endpoint, published

DELAY_NS = 50 * MILLISECOND


def test_a_record_that_reaches_far_back_calls_nothing_missing_that_is_too_old_to_tell() -> None:
    sender = endpoint(record=RecordSettings(size=10))
    step_ns = 20_000
    frames = [
        sender.publish(
            Message({"topic": 1 + (i > 100 and i % 2), "at": i}),
            now=i * step_ns,
        )
        for i in range(WINDOW_SIZE + 1200)
    ]
    # As if hardly any of its record had found room.
    frames[65] = msgspec.structs.replace(frames[65], record=frames[65].record.newest(1))
    receiver = Receiver()
    for i in (0, 80, 65, *range(82, WINDOW_SIZE + 1100, 2), 70, 65):
        receiver.hear(frames[i], at=max(receiver.now, DELAY_NS + i * step_ns))
    receiver.wait_for_all()
    assert receiver.numbers.count(65) == 1
    assert 65 not in receiver.fates


@pytest.mark.parametrize("is_on_again", [False, True])
def test_what_was_missing_when_ordering_ended_has_one_fate(is_on_again: bool) -> None:
    frames = published([1] * 5)
    receiver = Receiver()
    receiver.hear(frames[0], at=DELAY_NS)
    receiver.hear(frames[2], at=DELAY_NS + 2 * MILLISECOND)
    receiver.endpoint.reconfigure(receiver.subscription, OFF, now=receiver.now)
    receiver.drain()
    if is_on_again:
        receiver.endpoint.reconfigure(receiver.subscription, DEFAULT, now=receiver.now)
    receiver.hear(frames[1], frames[3])
    receiver.wait_for_all()
    assert receiver.numbers == [0, 2, 1, 3]
    assert receiver.fates == {1: "delivered_late"}


def test_what_was_given_up_stays_so_when_ordering_ends() -> None:
    frames = published([1] * 5)
    receiver = Receiver()
    receiver.hear(frames[0], frames[2], at=DELAY_NS)
    receiver.wait_for_all()
    receiver.endpoint.reconfigure(receiver.subscription, OFF, now=receiver.now)
    receiver.hear(frames[1], frames[3])
    assert receiver.numbers == [0, 2, 3]
    assert receiver.fates == {1: "given_up"}


@pytest.mark.parametrize("jump", [WINDOW_SIZE + 100, 2**31 - 2])
def test_a_number_far_ahead_does_not_silence_its_publisher_for_ever(jump: int) -> None:
    frames = published([1] * 20, every_ns=60 * SECOND)
    receiver = Receiver()
    receiver.hear(*frames[:5], at=DELAY_NS)
    receiver.hear(msgspec.structs.replace(frames[5], seq=5 + jump))
    receiver.hear(frames[6], at=receiver.now + SECOND)
    assert receiver.endpoint.counters["too_old"] == 1
    receiver.hear(*frames[7:], at=receiver.now + 60 * SECOND)
    assert receiver.numbers[-13:] == list(range(7, 20))


class Busybody:
    """A listener that does something to the endpoint when it hears of a loss."""

    def __init__(self, does: Callable[[Receiver, int, Instant], object], when: bool) -> None:
        self.does = does
        self.when = when
        self.receiver: Receiver | None = None
        self.is_done = False

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        if not self.is_done and loss.is_retracted is self.when:
            assert self.receiver is not None
            self.is_done = True
            self.does(self.receiver, loss.subscription, now)


@pytest.mark.parametrize("is_retracted", [False, True])
@pytest.mark.parametrize(
    "does",
    [
        lambda receiver, number, now: receiver.endpoint.unsubscribe(number, now=now),
        lambda receiver, number, now: receiver.endpoint.reconfigure(number, OFF, now=now),
        lambda receiver, _number, _now: receiver.subscribe("topic = 1 or topic = 3"),
    ],
    ids=["unsubscribe", "adjust", "subscribe"],
)
def test_who_hears_of_a_loss_may_do_anything(
    does: Callable[[Receiver, int, Instant], object], is_retracted: bool
) -> None:
    busybody = Busybody(does, is_retracted)
    receiver = Receiver(listeners=[busybody])
    busybody.receiver = receiver
    frames = published([1] * 6)
    receiver.hear(frames[0], frames[2], at=DELAY_NS)
    receiver.wait_until(SECOND)
    receiver.hear(frames[1], frames[4])
    receiver.wait_for_all()
    assert busybody.is_done
    assert set(receiver.fates) <= {1, 3}


def test_many_missing_numbers_are_bounded_over_all_subscriptions() -> None:
    settings = EndpointSettings(missing_total_max=50)
    receiver = Receiver()
    receiver.endpoint = endpoint(99, missing_max=settings.missing_total_max)
    for i in range(20):
        receiver.subscribe(f"topic = 1 or topic = {i + 2}")
    frames = published([1] * 40, size=25)
    receiver.hear(frames[0], at=DELAY_NS)
    receiver.hear(frames[30])
    assert receiver.endpoint.counters["missing_overflow"] > 0
    receiver.wait_for_all()
    assert len(receiver.absences) <= 50


def test_the_first_arrival_above_a_number_is_as_a_plain_search_finds_it() -> None:
    (frame,) = published([1])
    held = ReorderBuffer()
    for number, arrived in ((7, 3), (2, 9), (5, 1), (11, 4)):
        held.add(BufferedMessage(number, frame, arrived, 0))
        for above in range(13):
            plain = min(
                (w.arrived_ns for w in held.messages if w.extended_seq > above), default=None
            )
            assert held.first_arrival_above(above) == plain
    held.take_below(6)
    assert held.first_arrival_above(0) == 3


def test_subscriptions_in_any_number_come_and_go() -> None:
    receiver = Receiver()
    numbers = [receiver.subscribe(f"topic = 1 and at >= {i}") for i in range(12)]
    for number in numbers[::2]:
        receiver.endpoint.unsubscribe(number, now=0)
    (frame, *_) = published([1])
    receiver.hear(frame, at=DELAY_NS)
    # at = 0 matches the first of those, which is gone, and the receiver's own.
    assert [r.subscription for r in receiver.receipts] == [receiver.subscription]
    receiver.subscribe("topic = 1 and at <= 0")
    receiver.hear(published([1] * 2)[1])
    assert [r.subscription for r in receiver.receipts[1:]] == [receiver.subscription, numbers[1]]


def test_settings_that_no_arithmetic_survives_are_refused() -> None:
    for wrong in (
        lambda: ConditionalLatch(5e-324),
        lambda: OrderingSettings(loss_share=1e-322),
        lambda: OrderingSettings(late="Drop"),  # type: ignore[arg-type]
        lambda: EstimatorSettings(prior_scale_ns=10**400),
        lambda: EndpointSettings(missing_total_max=0),
    ):
        with pytest.raises(UsageError):
            wrong()
