"""Records for tests of deliveries."""

from __future__ import annotations

from typing import Final, TypeAlias

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.metrics.run_info import RunInfo
from penstock.trace.fates import PublisherFate, ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected, Publication

# Publisher and subscriber.
Pair: TypeAlias = tuple[str, str]
PAIR: Final = ("p-1", "s-1")

# Ten seconds after a warm-up of five, with a phase of four.
WITH_PHASE: Final = RunInfo(
    id="test",
    origin=5 * SECOND,
    duration=10 * SECOND,
    measure={"phases": {"late": (6, 10)}},
)


def publication(seq: int | None, at_s: float = 0, publisher: str = "p-1") -> Publication:
    """A message; without a number, it never left."""
    at, has_left = round(at_s * SECOND), seq is not None
    fate = PublisherFate.SENT if has_left else PublisherFate.DROPPED_AT_SOURCE
    return Publication(publisher, 0, seq, at, at if has_left else None, 100, fate, "data")


def expected(seq: int, at_s: float = 0, who: Pair = PAIR, *, epoch: int = 0) -> Expected:
    return Expected(who[0], epoch, seq, who[1], round(at_s * SECOND))


def arrival(
    seq: int, at_ms: float, who: Pair = PAIR, *, published_ms: float = 0, epoch: int = 0
) -> Arrival:
    times = round(published_ms * MILLISECOND), round(at_ms * MILLISECOND)
    return Arrival(who[1], who[0], epoch, seq, *times, 1, False)


def delivery(
    ordering: str,
    seq: int,
    arrived_ms: float | None,
    delivered_ms: float | None,
    *,
    who: Pair = PAIR,
    published_ms: float = 0,
    fate: ReceiverFate = ReceiverFate.DELIVERED,
) -> Delivery:
    return Delivery(
        ordering,
        who[1],
        who[0],
        0,
        seq,
        round(published_ms * MILLISECOND),
        None if arrived_ms is None else round(arrived_ms * MILLISECOND),
        None if delivered_ms is None else round(delivered_ms * MILLISECOND),
        None,
        fate,
    )
