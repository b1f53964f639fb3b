"""What publishers hold back, drop and hear: messages by their fate at the source, feedback, flows.

A message is *sent* when it left, *rate-limited* when it had to wait before, *dropped at
source* when it never left because too many waited. None of these was lost in the network:
`drops` counts that. A frame of feedback is what one receiver told one publisher at one
instant, whatever flows it names; acknowledgements are counted apart. Samples of flows are
taken at the end of what they tell of.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.pipeline.kernels.base import Kernel, Subject, share
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import Numbering, grown
from penstock.pipeline.kernels.rows import Floats, Ints, Rows
from penstock.trace.fates import PublisherFate

# What a signal that acknowledges is called.
ACK: Final = "ack"
FATES: Final = ("offered", "sent", "rate_limited", "dropped_at_source")


class Congestion(Kernel):
    """Fates at the source, frames of feedback and flow tables, in all and second by second."""

    READS: ClassVar = {
        "publications": ("publisher", "offered_ns", "published_ns", "fate"),
        "feedback": ("subscriber", "publisher", "sent_ns"),
        "signals": ("publisher", "kind", "sent_ns"),
        "flows": ("sampled_ns", "publisher", "flow", "quota_mps", "sent_mps"),
    }

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._count: Counter[str] = Counter()
        # How long those that left had waited, together.
        self._held_ns = 0
        self._by_second = {fate: _nothing(subject.facts.seconds) for fate in FATES}
        self._publishers: set[int] = set()
        self._frames: list[Ints] = []
        # Publisher and time of each.
        self._acks: list[Ints] = []
        self._flows: Final = _Flows(subject)

    def take(self, rows: Rows) -> None:
        """Each table for itself."""
        if rows.table == "publications":
            self._take_publications(rows)
        elif rows.table == "feedback":
            codes = rows.codes("subscriber"), rows.codes("publisher")
            self._frames.append(np.unique([*codes, rows.integers("sent_ns")], axis=1))
        elif rows.table == "signals":
            columns = np.stack([rows.codes("publisher"), rows.integers("sent_ns")])
            self._acks.append(columns[:, rows.is_one_of("kind", {ACK})])
        else:
            self._flows.take(rows)

    def tell(self, findings: Findings) -> None:
        """What of it was recorded."""
        recorded = self.subject.recorded
        if "publications" in recorded:
            for fate in FATES:
                findings.figure(fate, self._count[fate], "messages")
                findings.seconds(fate, self._by_second[fate])
            held_ns = self._held_ns / max(1, self._count["sent"])
            findings.figure("held_mean", held_ns / MILLISECOND, "ms")
        if "feedback" in recorded:
            # A frame may be cut in two by the pieces that are read.
            frames = np.unique(np.concatenate([_nothing(3, 0), *self._frames], axis=1), axis=1)
            self._tell_heard("feedback", frames[1:], findings)
            findings.figure("feedback_frames", frames.shape[1], "frames")
        if "signals" in recorded:
            acks = np.concatenate([_nothing(2, 0), *self._acks], axis=1)
            self._tell_heard("ack", acks, findings)
        if "flows" in recorded:
            self._flows.tell(findings)

    def _take_publications(self, rows: Rows) -> None:
        self._publishers |= {*np.unique(rows.codes("publisher")).tolist()}
        offered_ns, published_ns = rows.integers("offered_ns"), rows.integers("published_ns")
        left = rows.present("published_ns")
        self._held_ns += int((published_ns - offered_ns)[left].sum())
        limited = left & rows.is_one_of("fate", {PublisherFate.RATE_LIMITED})
        dropped = rows.is_one_of("fate", {PublisherFate.DROPPED_AT_SOURCE})
        instants = (offered_ns, published_ns[left], published_ns[limited], offered_ns[dropped])
        for fate, own in zip(FATES, instants, strict=True):
            self._count[fate] += own.size
            self._by_second[fate] += self.subject.facts.per_second(own)

    def _tell_heard(self, name: str, frames: Ints, findings: Findings) -> None:
        """What publishers are told: how often, and each of them when."""
        publisher, sent_ns = frames
        duration_s = self.subject.facts.duration / SECOND
        if "publications" in self.subject.recorded and duration_s:
            rate = sent_ns.size / duration_s / max(1, len(self._publishers))
            findings.figure(f"{name}_rate", rate, "/s")
        names = self.subject.books.names_of("publisher")
        for code in np.unique(publisher).tolist():
            own = self.subject.facts.per_second(sent_ns[publisher == code])
            findings.seconds(f"{name}.{names[code]}", own)


class _Flows:
    """Samples of flows within the experiment."""

    def __init__(self, subject: Subject) -> None:
        self._subject: Final = subject
        self._numbering: Final = Numbering()
        # Of each flow: samples, and the sums of what was allowed and sent.
        self._sums: Floats = np.zeros((0, 3))
        # Flow and second.
        self._seen: list[Ints] = []

    def take(self, rows: Rows) -> None:
        facts = self._subject.facts
        since = rows.integers("sampled_ns") - facts.origin
        second = (since - 1) // SECOND
        inside = (since > 0) & (second < facts.seconds)
        flow = self._numbering.of(rows.codes("publisher"), rows.codes("flow"))[inside]
        quota, sent = rows.reals("quota_mps")[inside], rows.reals("sent_mps")[inside]
        self._sums = grown(self._sums, self._numbering.count, 0)
        np.add.at(self._sums, flow, np.stack([np.ones(flow.size), quota, sent], axis=1))
        self._seen.append(np.unique([flow, second[inside]], axis=1))

    def tell(self, findings: Findings) -> None:
        """Sizes of tables, then each flow against its quota."""
        facts, names = self._subject.facts, self._subject.books.names_of
        flow, second = np.unique(np.concatenate([_nothing(2, 0), *self._seen], axis=1), axis=1)
        publisher, filter_ = self._numbering.parts()
        owner = publisher[flow]
        there = np.unique(owner).tolist()
        sizes = {
            code: np.bincount(second[owner == code], minlength=facts.seconds) for code in there
        }
        for code, size in sizes.items():
            findings.seconds(f"flow_table.{names('publisher')[code]}", size)
        samples = sum(own.size for own in sizes.values())
        mean = share(float(sum(own.sum() for own in sizes.values())), samples)
        findings.figure("flow_table_mean", mean, "flows")
        most = max((int(own.max()) for own in sizes.values()), default=0)
        findings.figure("flow_table_max", most, "flows")
        sampled = np.flatnonzero(self._sums[: self._numbering.count, 0])
        count, quota, sent = self._sums[sampled].T
        pairs = (
            [names("flow")[code] for code in filter_[sampled].tolist()],
            [names("publisher")[code] for code in publisher[sampled].tolist()],
        )
        findings.pairs("flow_quota_mps", *pairs, quota / count)
        findings.pairs("flow_sent_mps", *pairs, sent / count)
        if quota.sum() > 0:
            findings.figure("quota_use", float(sent.sum() / quota.sum()))


def _nothing(*shape: int) -> Ints:
    return np.zeros(shape, np.int64)
