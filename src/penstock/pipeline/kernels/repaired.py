"""What applications got as a repair, and how long that took beside what came by itself.

`delivery_delay` is of originals, `repaired_delay` of repairs: both from publication to
delivery, so that the time until a loss was found is in it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar, Final

import numpy as np

from penstock.pipeline.kernels.base import Kernel, Subject
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.rows import Ints, Rows
from penstock.pipeline.kernels.spread import Spread
from penstock.trace.fates import RECEIVED, ReceiverFate

# Those that results have.
SHARES: Final = {"p50": 0.5, "p80": 0.8, "p99": 0.99}


class Repaired(Kernel):
    """Delays of originals and of repairs, of each ordering."""

    READS: ClassVar = {"deliveries": ("ordering", "published_ns", "delivered_ns", "fate")}

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._seen: dict[int, _Seen] = defaultdict(lambda: _Seen(subject.facts.seconds))

    def take(self, rows: Rows) -> None:
        """Each ordering for itself; one whose application got nothing has figures, too."""
        ordering = rows.codes("ordering")
        got = rows.is_one_of("fate", RECEIVED) & rows.present("delivered_ns")
        is_repair = rows.is_one_of("fate", {ReceiverFate.REPAIRED})
        ended_ns = rows.integers("delivered_ns")
        delay_ns = ended_ns - rows.integers("published_ns")
        for code in np.flatnonzero(np.bincount(ordering)).tolist():
            its, seen = got & (ordering == code), self._seen[code]
            repairs = its & is_repair
            seen.originals.add(delay_ns[its & ~is_repair])
            seen.repairs.add(delay_ns[repairs])
            seen.by_second += self.subject.facts.per_second(ended_ns[repairs])

    def tell(self, findings: Findings) -> None:
        """Of each ordering that is named."""
        for code, seen in self._seen.items():
            name = self.subject.books.ordering_name(code)
            findings.figure("repaired", seen.repairs.count, "deliveries", ordering=name)
            findings.seconds("repaired", seen.by_second, ordering=name)
            seen.originals.tell("delivery_delay", SHARES, findings, ordering=name)
            seen.repairs.tell("repaired_delay", SHARES, findings, ordering=name)


class _Seen:
    """Of one ordering."""

    def __init__(self, seconds: int) -> None:
        self.originals: Final = Spread()
        self.repairs: Final = Spread()
        self.by_second: Ints = np.zeros(seconds, np.int64)
