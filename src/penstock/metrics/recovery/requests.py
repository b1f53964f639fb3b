"""Requests, repairs and signals: how many, how many of them in vain, and what they cost.

A receiver's first request for a message is a duplicate if another receiver asked before it. Of
the repairs of a message, those beyond the number of its requests are duplicates. What is sent
again because it was lost is no duplicate.

The hit ratio is one of messages: of those that anyone asked for, how many anyone sent. Each
belongs to the second of its first request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import AdditiveMetric, Output, Window
from penstock.metrics.distribution import (
    Distribution,
    distribution_outputs,
    report_distribution,
)
from penstock.metrics.recovery.message_ids import MessageIds
from penstock.metrics.recovery.percentiles import PERCENTILES
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Flags, Ints

_MESSAGE: Final = ("publisher", "epoch", "seq", "sent_ns", "size_bytes")
_COUNTED: Final = ("requests", "repairs", "signals")
# What bytes for each published message consist of; headers are a part of publications.
_COSTS: Final = {
    "frame_bytes": ("publications",),
    "header_bytes": ("headers", "signals"),
    "recovery_bytes": ("requests", "repairs"),
}


def _outputs() -> Iterator[Output]:
    for name, meaning in {
        "requests": "requests that receivers sent for lost messages",
        "repairs": "messages sent again, whether requested or recalled",
        "signals": "other frames sent so that losses are found and repaired",
    }.items():
        yield Output(
            name=name, unit=name, kinds=("value", "series"), window=Window.RUN, meaning=meaning
        )
    for name, meaning in {
        "messages_asked_for": "messages that anyone requested, by the second of the first request",
        "messages_answered": "requested messages that anyone repaired, by the same second",
    }.items():
        yield Output(
            name=name,
            unit="messages",
            kinds=("value", "series"),
            window=Window.RUN,
            meaning=meaning,
        )
    yield Output(
        name="messages_repaired",
        unit="messages",
        window=Window.RUN,
        meaning="messages that anyone sent again",
    )
    for name, meaning in {
        "requests_not_duplicated": "share of requests that repeat no other receiver's request",
        "repairs_not_duplicated": "share of repairs that do not exceed their message's requests",
        "hit_ratio": "share of requested messages that anyone repaired",
    }.items():
        yield Output(name=name, unit="1", window=Window.RUN, meaning=meaning)
    for name, meaning in {
        "frame_bytes": "mean size of a published message on the wire",
        "header_bytes": "header and signal bytes for each published message",
        "recovery_bytes": "bytes of requests and repairs for each published message",
    }.items():
        yield Output(name=name, unit="B", window=Window.RUN, meaning=meaning)
    yield from distribution_outputs(
        "request_to_repair", PERCENTILES, "time from a message's first request to its first repair"
    )


class Requests(AdditiveMetric[Batch]):
    """What receivers asked for, what was sent again, and the bytes of both."""

    READS: ClassVar = {
        "publications": ("published_ns", "size_bytes", "header_bytes"),
        "requests": (*_MESSAGE, "round"),
        "repairs": _MESSAGE,
        "signals": ("sent_ns", "size_bytes"),
    }
    OUTPUTS: ClassVar = tuple(_outputs())
    # Message and time of each request and repair; whether a request is a first one.
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 17

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._published = 0
        self._bytes: Counter[str] = Counter()
        self._by_second: Final[dict[str, Ints]] = {
            table: np.zeros(run.seconds + 1, np.int64) for table in _COUNTED
        }
        self._ids: Final = MessageIds(run.codes)
        self._sent: Final = {table: _Sent() for table in ("requests", "repairs")}
        self._is_first: Final[list[Flags]] = []

    def update(self, batch: Batch) -> None:
        """Adds bytes up; keeps when a message was requested or repaired."""
        table, size_bytes = batch.table.name, batch.integers("size_bytes")
        if table == "publications":
            # A message that never left costs nothing.
            left = batch.present("published_ns")
            self._published += int(np.count_nonzero(left))
            self._bytes["publications"] += int(size_bytes[left].sum())
            self._bytes["headers"] += int(batch.integers("header_bytes")[left].sum())
            return
        sent_ns = batch.integers("sent_ns")
        self._bytes[table] += int(size_bytes.sum())
        self._by_second[table] += self.run.per_second(sent_ns)
        if table in self._sent:
            self._sent[table].add(self._ids.of(batch), sent_ns)
        if table == "requests":
            self._is_first.append(batch.integers("round") == 0)

    def tally(self, out: Tally) -> None:
        """Matches requests with repairs: these tables are whole in one part of a run."""
        out.add("published", self._published)
        for name, size_bytes in self._bytes.items():
            out.add("bytes", size_bytes, entity=name)
        for table, by_second in self._by_second.items():
            out.add(table, by_second)
        asked, sent = (_ByMessage(self._sent[table]) for table in ("requests", "repairs"))
        out.add("asked", self.run.per_second(asked.first_ns))
        out.add("repaired", sent.ids.size)
        first = np.bincount(asked.where, _joined_flags(self._is_first), minlength=asked.ids.size)
        out.add("asked_again", int(np.maximum(0, first - 1).sum()))
        _, at, by = np.intersect1d(asked.ids, sent.ids, assume_unique=True, return_indices=True)
        out.add("answered", self.run.per_second(asked.first_ns[at]))
        wanted = np.ones(sent.ids.size, np.int64)
        wanted[by] = asked.counts[at]
        out.add("sent_again", int(np.maximum(0, sent.counts - wanted).sum()))
        waits = Distribution()
        waits.add(sent.first_ns[by] - asked.first_ns[at])
        waits.tally("request_to_repair", out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Totals and bytes, then how requests and repairs fit together."""
        for table in _COUNTED:
            if run.has(table):
                _report_by_second(table, tally.get(table), out)
        if run.has("publications"):
            _report_bytes(tally, run, out)
        if run.has("repairs"):
            out.add_value("messages_repaired", tally.number("repaired"))
        if run.has("requests"):
            _report_by_second("messages_asked_for", tally.get("asked"), out)
            if asked := tally.get("requests").sum():
                out.add_value("requests_not_duplicated", 1 - tally.number("asked_again") / asked)
        if run.has("requests", "repairs"):
            _report_answers(tally, out)


def _report_by_second(name: str, by_second: Ints, out: Results) -> None:
    out.add_value(name, by_second.sum())
    out.add_series(name, by_second[:-1])


def _report_bytes(tally: Tally, run: RunInfo, out: Results) -> None:
    for name, parts in _COSTS.items():
        if run.has(*({*parts} - {"headers"})):
            total = sum(tally.number("bytes", entity=part) for part in parts)
            out.add_value(name, total / max(1, tally.number("published")))


def _report_answers(tally: Tally, out: Results) -> None:
    _report_by_second("messages_answered", tally.get("answered"), out)
    if asked := tally.get("asked").sum():
        repairs = max(1, tally.get("repairs").sum())
        out.add_value("repairs_not_duplicated", 1 - tally.number("sent_again") / repairs)
        out.add_value("hit_ratio", tally.get("answered").sum() / asked)
    report_distribution("request_to_repair", PERCENTILES, tally, out)


class _Sent:
    """Requests or repairs: which message each is about, and when it was sent."""

    __slots__ = ("ids", "sent_ns")

    def __init__(self) -> None:
        self.ids: list[Ints] = [np.zeros(0, np.int64)]
        self.sent_ns: list[Ints] = [np.zeros(0, np.int64)]

    def add(self, ids: Ints, sent_ns: Ints) -> None:
        self.ids.append(ids)
        self.sent_ns.append(sent_ns)


class _ByMessage:
    """Rows by message: which there are, how many rows each has, when its first was sent."""

    def __init__(self, sent: _Sent) -> None:
        self.ids, self.where, self.counts = np.unique(
            np.concatenate(sent.ids), return_inverse=True, return_counts=True
        )
        self.first_ns = np.full(self.ids.size, np.iinfo(np.int64).max)
        np.minimum.at(self.first_ns, self.where, np.concatenate(sent.sent_ns))


def _joined_flags(parts: list[Flags]) -> Flags:
    return np.concatenate([np.zeros(0, np.bool_), *parts])
