"""Records of messages that get lost, are missed, requested and repaired."""

from __future__ import annotations

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.fates import MissingOutcome, MissingState, ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected, Loss, Repair, Request


def expected(seq: int, subscriber: str = "s-1", *, at_ms: int = 0, epoch: int = 0) -> Expected:
    return Expected("p-1", epoch, seq, subscriber, at_ms * MILLISECOND)


def arrival(seq: int, at_ms: int, subscriber: str = "s-1", *, epoch: int = 0) -> Arrival:
    return Arrival(subscriber, "p-1", epoch, seq, 0, at_ms * MILLISECOND, 1, False)


def loss(
    ordering: str,
    seq: int,
    lost_ms: int | None = None,
    end: MissingOutcome = ReceiverFate.GIVEN_UP,
    *,
    subscriber: str = "s-1",
    epoch: int = 0,
    detected_ms: int = 0,
    state: MissingState | None = None,
) -> Loss:
    if state is None:
        state = MissingState.RELEASED if lost_ms is None else MissingState.LOST
    return Loss(
        *(ordering, subscriber, "p-1", epoch, seq, detected_ms * MILLISECOND, "record"),
        *(None if lost_ms is None else lost_ms * MILLISECOND, state, 100 * SECOND, end),
    )


def delivery(
    seq: int,
    delivered_ms: int | None,
    fate: ReceiverFate = ReceiverFate.DELIVERED,
    *,
    ordering: str = "on",
    subscriber: str = "s-1",
    published_ms: int = 0,
) -> Delivery:
    delivered_ns = None if delivered_ms is None else delivered_ms * MILLISECOND
    published_ns = published_ms * MILLISECOND
    return Delivery(
        ordering, subscriber, "p-1", 0, seq, published_ns, delivered_ns, delivered_ns, None, fate
    )


def request(who: str, seq: int, at_ms: int, *, times_before: int = 0, epoch: int = 0) -> Request:
    return Request(who, "p-1", epoch, seq, at_ms * MILLISECOND, times_before, 60)


def repair(who: str, seq: int, at_ms: int, *, epoch: int = 0) -> Repair:
    at_ns = at_ms * MILLISECOND
    return Repair(who, "s-1", "p-1", epoch, seq, at_ns, at_ns, False, 140)
