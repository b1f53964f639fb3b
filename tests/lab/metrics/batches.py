"""Rows to metrics, without a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.experiment import MeasurePart
from penstock.lab.metrics.base import Context, Figure, Metric, Seen
from penstock.trace.collector import Collector
from penstock.trace.fates import MissingState, ReceiverFate
from penstock.trace.records import Arrival, Delivery, Expected, Loss, Row

DELIVERED = ReceiverFate.DELIVERED


def context(
    *orderings: str, seconds: int = 10, pair: tuple[str, str] | None = None
) -> Context:  # fmt: skip
    return Context(
        origin=0,
        duration=seconds * SECOND,
        measure=MeasurePart(metrics=[], pair=pair),
        members={"p": ["p-1", "p-2"], "s": ["s-1", "s-2"]},
        orderings=orderings,
    )


def feed(metric: Metric, rows: Sequence[Row], *, batch_rows: int = 3) -> None:
    """In small batches, so that there are several."""

    def take(batch: Any) -> None:
        if batch.table.name in metric.TABLES:
            metric.take(batch)

    collector = Collector([take], batch_rows=batch_rows)
    for row in rows:
        collector.add(row)
    collector.close()


def arrival(
    seq: int, at_ms: float, who: tuple[str, str] = ("p-1", "s-1"), *, epoch: int = 0
) -> Arrival:
    at = round(at_ms * MILLISECOND)
    return Arrival(who[1], who[0], epoch, seq, 0, at, 1, False)


def delayed(
    delays_ms: Iterable[float], who: tuple[str, str] = ("p-1", "s-1"), *, brokers: int = 1
) -> list[Arrival]:
    """Messages published every 10 ms."""
    rows = []
    for seq, delay_ms in enumerate(delays_ms):
        published = 10 * seq * MILLISECOND
        came = published + round(delay_ms * MILLISECOND)
        rows.append(Arrival(who[1], who[0], 0, seq, published, came, brokers, False))
    return rows


def as_they_come(rows: Iterable[Arrival]) -> list[Arrival]:
    """In the order of their arrival, whichever pair they are of."""
    return sorted(rows, key=lambda row: row.arrived_ns)


def expected(
    seq: int, who: tuple[str, str] = ("p-1", "s-1"), at_ms: float = 0, *, epoch: int = 0
) -> Expected:
    return Expected(who[0], epoch, seq, who[1], round(at_ms * MILLISECOND))


def delivery(
    ordering: str,
    seq: int,
    arrived_ms: float | None,
    delivered_ms: float | None,
    *,
    who: tuple[str, str] = ("p-1", "s-1"),
    latch_ms: float | None = None,
    published_ms: float = 0,
    fate: ReceiverFate = DELIVERED,
    epoch: int = 0,
) -> Delivery:
    return Delivery(
        ordering,
        who[1],
        who[0],
        epoch,
        seq,
        round(published_ms * MILLISECOND),
        None if arrived_ms is None else round(arrived_ms * MILLISECOND),
        None if delivered_ms is None else round(delivered_ms * MILLISECOND),
        None if latch_ms is None else round(latch_ms * MILLISECOND),
        fate,
    )


def loss(
    ordering: str,
    seq: int,
    lost_ms: float | None,
    end: ReceiverFate = ReceiverFate.GIVEN_UP,
    *,
    detected_ms: float = 0,
) -> Loss:
    state = MissingState.RELEASED if lost_ms is None else MissingState.LOST
    return Loss(
        ordering, "s-1", "p-1", 0, seq, round(detected_ms * MILLISECOND), "record",
        None if lost_ms is None else round(lost_ms * MILLISECOND), state, 100 * SECOND, end,
    )  # fmt: skip


def values(figures: dict[str, Figure] | Seen) -> dict[str, float]:
    found = figures.figures if isinstance(figures, Seen) else figures
    return {name: figure.value for name, figure in found.items()}
