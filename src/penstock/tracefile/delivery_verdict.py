"""What became of a message for each receiver, in one word and one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from penstock.kernel.instant import Duration
from penstock.trace.fates import RECEIVED
from penstock.trace.records import Arrival, Delivery, Drop, Expected
from penstock.tracefile.drop_location import End, Ends, routes
from penstock.tracefile.message_history import Life, read_nearby
from penstock.tracefile.reader import TraceReader

Received = TypeVar("Received", Arrival, Delivery)


class Outcome(StrEnum):
    """As far as the trace tells."""

    DELIVERED = "delivered"
    ARRIVED = "arrived"
    LOST = "lost"
    NOT_FOR_IT = "not_for_it"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`is_expected` is None when the trace does not say who was; `drop` ended a lost one."""

    subscriber: str
    outcome: Outcome
    is_expected: bool | None
    text: str
    last: str | None = None
    drop: Drop | None = None


def judge(reader: TraceReader, life: Life, names: Iterable[str] | None = None) -> list[Verdict]:
    """A verdict for each of these; for everyone who was expected to get it, or did."""
    arrivals, deliveries = _by_receiver(life.arrivals), _by_receiver(life.deliveries)
    expected = {*life.expected} if life.is_recorded(Expected) else None
    ends: Ends | None = None
    verdicts = []
    for name in life.receivers if names is None else names:
        is_expected = None if expected is None else name in expected
        outcome, text = _outcome(life, arrivals[name], deliveries[name], is_expected)
        end = End(text)
        if outcome is Outcome.LOST:
            # Only now: they take a look at other messages, too.
            ends = ends or _ends(reader, life)
            end = ends.of(name)
        verdicts.append(Verdict(name, outcome, is_expected, end.why, end.last, end.drop))
    return verdicts


def _by_receiver(rows: Iterable[Received]) -> dict[str, list[Received]]:
    found: dict[str, list[Received]] = defaultdict(list)
    for row in rows:
        found[row.subscriber].append(row)
    return found


def _ends(reader: TraceReader, life: Life) -> Ends:
    return Ends(life, routes(read_nearby(reader, life.run, life.message), life.message.seq))


def milliseconds(duration: Duration) -> str:
    """A delay, to the microsecond."""
    return f"{duration / 1e6:.3f} ms"


def _outcome(
    life: Life, arrivals: list[Arrival], deliveries: list[Delivery], is_expected: bool | None
) -> tuple[Outcome, str]:
    if any(row.fate in RECEIVED for row in deliveries):
        return Outcome.DELIVERED, _fates(deliveries)
    if arrivals or any(row.arrived_ns is not None for row in deliveries):
        return Outcome.ARRIVED, _arrived(life, arrivals, deliveries)
    if is_expected is False:
        return Outcome.NOT_FOR_IT, "was not expected to get it, and did not"
    if life.is_recorded(Arrival) or life.is_recorded(Delivery):
        return Outcome.LOST, ""
    return (
        Outcome.UNKNOWN,
        "the trace has neither arrivals nor deliveries: whether it came is not known",
    )


def _arrived(life: Life, arrivals: list[Arrival], deliveries: list[Delivery]) -> str:
    came_in: list[Arrival] | list[Delivery] = arrivals or deliveries
    row = next(row for row in came_in if row.arrived_ns is not None)
    assert row.arrived_ns is not None
    came = f"arrived after {milliseconds(row.arrived_ns - row.published_ns)}"
    if deliveries:
        return f"{came}, but was not delivered: {_fates(deliveries)}"
    if life.is_recorded(Delivery):
        return f"{came}, but was not delivered: the trace gives it no fate"
    return f"{came}; the trace has no deliveries table: whether it was delivered is not known"


def _fates(deliveries: list[Delivery]) -> str:
    """One fate, or one for each ordering; those that are alike are said together."""
    alike: dict[str, list[str]] = defaultdict(list)
    for row in deliveries:
        after = "" if row.delivered_ns is None else _after(row.delivered_ns - row.published_ns)
        alike[f"{row.fate}{after}"].append(row.ordering)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{said} ({', '.join(names)})" for said, names in alike.items())


def _after(duration: Duration) -> str:
    return f" after {milliseconds(duration)}"
