"""What is asked for and sent again, what else is said to that end, and what it all costs.

A request is a duplicate if another had asked for the same message before, and this one
for the first time; a repair, if there are more of a message than requests for it. What
is sent again because it was lost is neither. The hit ratio is of messages: of those that
anyone asked for, how many anyone sent; each belongs to the second of its first request.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import Numbering, Values
from penstock.pipeline.kernels.repaired import SHARES
from penstock.pipeline.kernels.rows import SEQ_BITS, Ints, Rows
from penstock.pipeline.kernels.spread import Spread

_MESSAGE: Final = ("publisher", "epoch", "seq", "sent_ns", "size_bytes")


class Recovery(Kernel):
    """Requests, repairs and signals: how many, when, how much of it in vain, how many bytes."""

    READS: ClassVar = {
        "publications": ("published_ns", "size_bytes", "header_bytes"),
        "requests": (*_MESSAGE, "round"),
        "repairs": _MESSAGE,
        "signals": ("sent_ns", "size_bytes"),
    }

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._rows: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._epochs, self._sources = Values(), Numbering()
        # Of each table: when its rows were sent.
        self._sent_ns = {name: _nothing() for name in ("requests", "repairs", "signals")}
        # Which messages these are about, and which requests are first ones.
        self._messages = {name: _nothing() for name in ("requests", "repairs")}
        self._is_first = _nothing()

    def take(self, rows: Rows) -> None:
        """Keeps when and about what; adds bytes up."""
        table = rows.table
        if table == "publications":
            # What never left costs nothing.
            left = rows.present("published_ns")
            self._rows[table] += int(left.sum())
            self._bytes[table] += int(rows.integers("size_bytes")[left].sum())
            self._bytes["headers"] += int(rows.integers("header_bytes")[left].sum())
            return
        self._rows[table] += rows.count
        self._bytes[table] += int(rows.integers("size_bytes").sum())
        self._sent_ns[table].append(rows.integers("sent_ns"))
        if table in self._messages:
            epoch = self._epochs.of(rows.integers("epoch"))
            source = self._sources.of(rows.codes("publisher"), epoch)
            self._messages[table].append(source << SEQ_BITS | rows.seq)
        if table == "requests":
            self._is_first.append((rows.integers("round") == 0).astype(np.int64))

    def tell(self, findings: Findings) -> None:
        """What was sent, then how requests and repairs fit together."""
        recorded = self.subject.recorded
        for table in self._sent_ns:
            if table in recorded:
                findings.figure(table, self._rows[table], table)
                by_second = self.subject.facts.per_second(_joined(self._sent_ns[table]))
                findings.seconds(table, by_second)
        if "publications" in recorded:
            self._tell_bytes(findings)
        if "repairs" in recorded:
            repaired = np.unique(_joined(self._messages["repairs"]))
            findings.figure("messages_repaired", repaired.size, "messages")
        if "requests" in recorded:
            self._tell_requests(findings)

    def _tell_bytes(self, findings: Findings) -> None:
        """For each message that was published."""
        costs = {
            "frame_bytes": ("publications",),
            # Of a header, and of what else is said so that losses are found.
            "header_bytes": ("headers", "signals"),
            "recovery_bytes": ("requests", "repairs"),
        }
        for name, parts in costs.items():
            if {*parts} - {"headers"} <= self.subject.recorded:
                total = sum(self._bytes[part] for part in parts)
                findings.figure(name, total / max(1, self._rows["publications"]), "B")

    def _tell_requests(self, findings: Findings) -> None:
        asked = _ByMessage(_joined(self._messages["requests"]), _joined(self._sent_ns["requests"]))
        count = asked.messages.size
        findings.figure("messages_asked_for", count, "messages")
        per_second = self.subject.facts.per_second
        findings.seconds("messages_asked_for", per_second(asked.first_ns))
        if count:
            first = np.bincount(asked.where, _joined(self._is_first), minlength=count)
            twice = float(np.maximum(0, first - 1).sum())
            findings.figure("requests_not_duplicated", 1 - twice / self._rows["requests"])
        if "repairs" not in self.subject.recorded:
            return
        sent = _ByMessage(_joined(self._messages["repairs"]), _joined(self._sent_ns["repairs"]))
        answered, at, by = np.intersect1d(asked.messages, sent.messages, return_indices=True)
        findings.seconds("messages_answered", per_second(asked.first_ns[at]))
        if count:
            wanted = np.ones(sent.messages.size, np.int64)
            wanted[by] = asked.counts[at]
            twice = float(np.maximum(0, sent.counts - wanted).sum())
            findings.figure("repairs_not_duplicated", 1 - twice / max(1, self._rows["repairs"]))
            findings.figure("hit_ratio", answered.size / count)
        waits = Spread()
        waits.add(sent.first_ns[by] - asked.first_ns[at])
        waits.tell("request_to_repair", SHARES, findings)


class _ByMessage:
    """Rows by message: which there are, when the first of each was sent, how many there are."""

    def __init__(self, messages: Ints, sent_ns: Ints) -> None:
        self.messages, self.where, self.counts = np.unique(
            messages, return_inverse=True, return_counts=True
        )
        self.first_ns = np.full(self.messages.size, np.iinfo(np.int64).max)
        np.minimum.at(self.first_ns, self.where, sent_ns)


def _nothing() -> list[Ints]:
    return []


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])
