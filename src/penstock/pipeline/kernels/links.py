"""What links carried of what they could, and what they lost, by reason.

Second by second of those that ever were half full: of others nobody would want to know.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND, to_seconds
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.numbering import grown
from penstock.pipeline.kernels.rows import Flags, Floats, Ints, Rows

REASONS: Final = ("queue_full_packets", "loss_packets", "down_packets", "corrupt_packets")


class Links(Kernel):
    """The use of each link is the bits it sent of those it could have, within the experiment."""

    READS: ClassVar = {
        "links": (
            *("sampled_ns", "link", "period_ns", "capacity_bps", "sent_bytes", "sent_packets"),
            *REASONS,
        )
    }

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._packets: Counter[str] = Counter()
        self._sent_bits: Floats = np.zeros(0)
        self._could_bits: Floats = np.zeros(0)
        # Of each link and second: bits sent, bits possible, and how long that was told of.
        self._seconds: Floats = np.zeros((0, subject.facts.seconds, 3))
        self._is_busy: Flags = np.zeros(0, np.bool_)
        # When a full queue first dropped something.
        self._overload_ns: int | None = None

    def take(self, rows: Rows) -> None:
        """Adds samples up."""
        for name in ("sent_packets", *REASONS):
            self._packets[name] += int(rows.integers(name).sum())
        sampled_ns = rows.integers("sampled_ns")
        full = sampled_ns[rows.integers("queue_full_packets") > 0]
        if full.size:
            first = int(full.min())
            self._overload_ns = min(
                first, first if self._overload_ns is None else self._overload_ns
            )
        # Samples are taken at the end of what they tell of.
        since = sampled_ns - self.subject.facts.origin
        inside = (since > 0) & (since <= self.subject.facts.duration)
        inside &= rows.present("capacity_bps")
        link = rows.codes("link")[inside]
        sent_bits: Floats = rows.integers("sent_bytes")[inside].astype(np.float64) * 8
        period_s: Floats = rows.integers("period_ns")[inside] / SECOND
        could_bits: Floats = rows.integers("capacity_bps")[inside] * period_s
        self._sent_bits = _added(self._sent_bits, link, sent_bits)
        self._could_bits = _added(self._could_bits, link, could_bits)
        second = (since[inside] - 1) // SECOND
        self._keep(link, second, np.stack([sent_bits, could_bits, period_s], axis=1))

    def _keep(self, link: Ints, second: Ints, amounts: Floats) -> None:
        links = int(link.max(initial=-1)) + 1
        self._seconds = grown(self._seconds, links, 0)
        self._is_busy = grown(self._is_busy, links, 0)
        np.add.at(self._seconds, (link, second), amounts)
        self._is_busy[link[2 * amounts[:, 0] >= amounts[:, 1]]] = True

    def tell(self, findings: Findings) -> None:
        """A link without a limit has no use."""
        if "links" not in self.subject.recorded:
            return
        findings.figure("link_packets", self._packets["sent_packets"], "packets")
        for name in REASONS:
            findings.figure(name, self._packets[name], "packets")
        findings.figure("overload_from", self._overload_from(), "s")
        names = self.subject.books.names_of("link")
        limited = np.flatnonzero(self._could_bits > 0)
        uses = self._sent_bits[limited] / self._could_bits[limited]
        for code, use in zip(limited.tolist(), uses.tolist(), strict=True):
            findings.figure(f"link_use.{names[code]}", use)
        if uses.size:
            findings.figure("bottleneck_use", float(uses.max()))
        for code in np.flatnonzero(self._is_busy).tolist():
            there = np.flatnonzero(self._seconds[code, :, 2])
            sent_bits, could_bits, period_s = self._seconds[code, there].T
            kbps = sent_bits / period_s / 1000
            findings.seconds(f"link_kbps.{names[code]}", kbps, at=there)
            kbps = could_bits / period_s / 1000
            findings.seconds(f"link_capacity_kbps.{names[code]}", kbps, at=there)

    def _overload_from(self) -> float:
        """By the experiment's clock; its end if no queue ever was full."""
        facts = self.subject.facts
        if self._overload_ns is None:
            return to_seconds(facts.duration)
        return to_seconds(max(0, self._overload_ns - facts.origin))


def _added(sums: Floats, link: Ints, amounts: Floats) -> Floats:
    sums = grown(sums, int(link.max(initial=-1)) + 1, 0)
    np.add.at(sums, link, amounts)
    return sums
