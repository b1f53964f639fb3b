"""How many messages the caches of subscribers may hold: in all, and second by second.

Publishers keep what they sent, too; that is left out, as the papers have none of it.

A sample is taken at the end of the second that it tells of. There may be seconds
without one: of these nothing is told, for a limit is no count.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.rows import Ints, Rows


class Caches(Kernel):
    """The least, the mean and the largest limit of all caches."""

    READS: ClassVar = {"caches": ("sampled_ns", "node", "publisher", "limit_messages")}

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._limits = _Limits(1)
        self._by_second = _Limits(subject.facts.seconds)

    def take(self, rows: Rows) -> None:
        """What was sampled before the experiment began is left out."""
        facts, limits = self.subject.facts, rows.integers("limit_messages")
        since = rows.integers("sampled_ns") - facts.origin
        begun = (since > 0) & ~rows.is_same("node", "publisher")
        second = (since - 1) // SECOND
        self._limits.add(np.zeros(int(begun.sum()), np.int64), limits[begun])
        inside = begun & (second < facts.seconds)
        self._by_second.add(second[inside], limits[inside])

    def tell(self, findings: Findings) -> None:
        """Nothing where there was no cache."""
        limits = {n: float(own[0]) for n, (_, own) in self._limits.table().items() if own.size}
        for name, limit in limits.items():
            findings.figure(f"cache_limit_{name}", limit, "messages")
        if limits and limits["max"]:
            findings.figure("cache_limit_share", limits["mean"] / limits["max"])
        for name, (seconds, values) in self._by_second.table().items():
            findings.seconds(f"cache_limit_{name}", values, at=seconds)


class _Limits:
    """Of several places, each with its own."""

    def __init__(self, places: int) -> None:
        self._count: Ints = np.zeros(places, np.int64)
        self._total: Ints = np.zeros(places, np.int64)
        self._least: Ints = np.full(places, np.iinfo(np.int64).max)
        self._most: Ints = np.full(places, np.iinfo(np.int64).min)

    def add(self, place: Ints, limits: Ints) -> None:
        np.add.at(self._count, place, 1)
        np.add.at(self._total, place, limits)
        np.minimum.at(self._least, place, limits)
        np.maximum.at(self._most, place, limits)

    def table(self) -> dict[str, tuple[Ints, np.typing.NDArray[np.generic]]]:
        """Where there is something, and what."""
        there = np.flatnonzero(self._count)
        mean = self._total[there] / self._count[there]
        found = {"min": self._least[there], "mean": mean, "max": self._most[there]}
        return {name: (there, values) for name, values in found.items()}
