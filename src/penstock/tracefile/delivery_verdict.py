"""The outcome of one message for each receiver: one word and one line of text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from penstock.kernel.instant import Duration
from penstock.trace.fates import RECEIVED
from penstock.trace.records import Arrival, Delivery, Drop, Expected
from penstock.tracefile.drop_location import DropLocation, DropLocator, routes_by_subscriber
from penstock.tracefile.message_history import MessageHistory, read_nearby_hops
from penstock.tracefile.reader import TraceReader

ReceiverRow = TypeVar("ReceiverRow", Arrival, Delivery)


class Outcome(StrEnum):
    """Outcome for one receiver, as far as the trace shows."""

    DELIVERED = "delivered"
    ARRIVED = "arrived"
    LOST = "lost"
    NOT_FOR_IT = "not_for_it"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    """`is_expected` is None without the expected table; `drop` is where a lost message ended."""

    subscriber: str
    outcome: Outcome
    is_expected: bool | None
    text: str
    last: str | None = None
    drop: Drop | None = None


def judge_deliveries(
    reader: TraceReader, history: MessageHistory, names: Iterable[str] | None = None
) -> list[DeliveryVerdict]:
    """Verdicts for these subscribers; by default for all who were expected to get it, or did."""
    arrivals, deliveries = _by_receiver(history.arrivals), _by_receiver(history.deliveries)
    expected = {*history.expected} if history.is_recorded(Expected) else None
    locator: DropLocator | None = None
    verdicts = []
    for name in history.receivers if names is None else names:
        is_expected = None if expected is None else name in expected
        outcome, text = _outcome(history, arrivals[name], deliveries[name], is_expected)
        location = DropLocation(text)
        if outcome is Outcome.LOST:
            # Created on demand, because it reads the hops of other messages too.
            locator = locator or _drop_locator(reader, history)
            location = locator.locate(name)
        verdicts.append(
            DeliveryVerdict(
                name,
                outcome,
                is_expected,
                location.explanation,
                location.last_holder,
                location.drop,
            )
        )
    return verdicts


def _by_receiver(rows: Iterable[ReceiverRow]) -> dict[str, list[ReceiverRow]]:
    found: dict[str, list[ReceiverRow]] = defaultdict(list)
    for row in rows:
        found[row.subscriber].append(row)
    return found


def _drop_locator(reader: TraceReader, history: MessageHistory) -> DropLocator:
    return DropLocator(
        history,
        routes_by_subscriber(
            read_nearby_hops(reader, history.run, history.message), history.message.seq
        ),
    )


def format_milliseconds(duration: Duration) -> str:
    """A duration in milliseconds, to the microsecond."""
    return f"{duration / 1e6:.3f} ms"


def _outcome(
    history: MessageHistory,
    arrivals: list[Arrival],
    deliveries: list[Delivery],
    is_expected: bool | None,
) -> tuple[Outcome, str]:
    if any(row.fate in RECEIVED for row in deliveries):
        return Outcome.DELIVERED, _fates_text(deliveries)
    if arrivals or any(row.arrived_ns is not None for row in deliveries):
        return Outcome.ARRIVED, _arrived_text(history, arrivals, deliveries)
    if is_expected is False:
        return Outcome.NOT_FOR_IT, "was not expected to get it, and did not"
    if history.is_recorded(Arrival) or history.is_recorded(Delivery):
        return Outcome.LOST, ""
    return (
        Outcome.UNKNOWN,
        "the trace has neither arrivals nor deliveries: whether it came is not known",
    )


def _arrived_text(
    history: MessageHistory, arrivals: list[Arrival], deliveries: list[Delivery]
) -> str:
    rows: list[Arrival] | list[Delivery] = arrivals or deliveries
    row = next(row for row in rows if row.arrived_ns is not None)
    assert row.arrived_ns is not None
    text = f"arrived after {format_milliseconds(row.arrived_ns - row.published_ns)}"
    if deliveries:
        return f"{text}, but was not delivered: {_fates_text(deliveries)}"
    if history.is_recorded(Delivery):
        return f"{text}, but was not delivered: the trace gives it no fate"
    return f"{text}; the trace has no deliveries table: whether it was delivered is not known"


def _fates_text(deliveries: list[Delivery]) -> str:
    """One fate, or one for each ordering; orderings with equal fates are grouped."""
    orderings_by_text: dict[str, list[str]] = defaultdict(list)
    for row in deliveries:
        after = "" if row.delivered_ns is None else _after_text(row.delivered_ns - row.published_ns)
        orderings_by_text[f"{row.fate}{after}"].append(row.ordering)
    if len(orderings_by_text) == 1:
        return next(iter(orderings_by_text))
    return "; ".join(f"{text} ({', '.join(names)})" for text, names in orderings_by_text.items())


def _after_text(duration: Duration) -> str:
    return f" after {format_milliseconds(duration)}"
