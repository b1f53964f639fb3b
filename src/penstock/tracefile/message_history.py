"""All rows of a trace about one message, collected from its tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from penstock.trace.fates import HopDecision
from penstock.trace.records import (
    Arrival,
    Delivery,
    Drop,
    Expected,
    Hop,
    Loss,
    Publication,
    Repair,
    Request,
    Row,
)
from penstock.tracefile.message_selector import MESSAGE_TABLES, MessageSelector
from penstock.tracefile.reader import TraceReader

R = TypeVar("R", bound=Row)

# Messages before and after it whose routes are examined.
NEARBY_MESSAGES: Final = 16
_DIGITS: Final = re.compile("([0-9]+)")


def natural_order(name: str) -> list[tuple[int, str]]:
    """Sort key that puts s2 before s10."""
    return [(int(part[:18]) if part.isdecimal() else 0, part) for part in _DIGITS.split(name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageHistory:
    """One message; a table that is not in `recorded` is empty because it was not collected."""

    run: str
    message: MessageSelector
    recorded: frozenset[str]
    publication: Publication | None
    expected: tuple[str, ...]
    hops: tuple[Hop, ...]
    drops: tuple[Drop, ...]
    arrivals: tuple[Arrival, ...]
    deliveries: tuple[Delivery, ...]
    losses: tuple[Loss, ...]
    requests: tuple[Request, ...]
    repairs: tuple[Repair, ...]

    def is_recorded(self, record: type[Row]) -> bool:
        """Whether the trace has such records."""
        return record.TABLE in self.recorded

    @property
    def not_recorded(self) -> list[str]:
        """Tables about messages that the trace lacks."""
        return [record.TABLE for record in MESSAGE_TABLES if record.TABLE not in self.recorded]

    @property
    def receivers(self) -> list[str]:
        """All subscribers that the trace mentions, expected or not, sorted."""
        names = {*self.expected}
        for rows in (self.arrivals, self.deliveries, self.losses):
            names.update(row.subscriber for row in rows)
        return sorted(names, key=natural_order)

    def only_for(self, subscriber: str) -> MessageHistory:
        """The part that concerns one subscriber, without what brokers did for others only."""
        handed = [hop for hop in self.hops if hop.decision is HopDecision.HANDED_OVER]
        others = {hop.towards for hop in handed if hop.towards != subscriber}
        others |= {*self.receivers} - {subscriber}
        elsewhere = others | {
            f"{hop.broker}-{hop.towards}" for hop in handed if hop.towards in others
        }
        return replace(
            self,
            expected=tuple(name for name in self.expected if name == subscriber),
            hops=tuple(
                hop
                for hop in self.hops
                if hop.decision is not HopDecision.HANDED_OVER or hop.towards == subscriber
            ),
            drops=tuple(drop for drop in self.drops if drop.where not in elsewhere),
            arrivals=tuple(row for row in self.arrivals if row.subscriber == subscriber),
            deliveries=tuple(row for row in self.deliveries if row.subscriber == subscriber),
            losses=tuple(row for row in self.losses if row.subscriber == subscriber),
            requests=tuple(row for row in self.requests if row.requester == subscriber),
            repairs=tuple(row for row in self.repairs if row.requester == subscriber),
        )


def read_history(reader: TraceReader, run: str, message: MessageSelector) -> MessageHistory:
    """Reads the rows of one message from every recorded table."""

    def rows(record: type[R]) -> tuple[R, ...]:
        if not reader.has(record, run):
            return ()
        return tuple(reader.select(record, run, where=message.where))

    publications = rows(Publication)
    return MessageHistory(
        run=run,
        message=message,
        recorded=frozenset(record.TABLE for record in MESSAGE_TABLES if reader.has(record, run)),
        publication=publications[0] if publications else None,
        expected=tuple(sorted({row.subscriber for row in rows(Expected)}, key=natural_order)),
        hops=rows(Hop),
        drops=rows(Drop),
        arrivals=rows(Arrival),
        deliveries=rows(Delivery),
        losses=rows(Loss),
        requests=rows(Request),
        repairs=rows(Repair),
    )


def read_nearby_hops(reader: TraceReader, run: str, message: MessageSelector) -> list[Hop]:
    """Hops of the messages that the same publisher sent before and after it."""
    if not reader.has(Hop, run):
        return []
    seqs = range(max(0, message.seq - NEARBY_MESSAGES), message.seq + NEARBY_MESSAGES + 1)
    return reader.select(Hop, run, where={**message.where, "seq": seqs})
