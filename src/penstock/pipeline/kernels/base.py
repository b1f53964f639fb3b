"""What a kernel is: it sees the tables of one run piece by piece, and tells what it found.

To add a metric: write a file with a class that extends `Kernel`, name it in
`METRICS`, and write its twin, of the same name, in `pipeline/twins/`.

A figure is told when all tables that it needs were recorded, and left out when
one was not. A duplicate row counts again wherever rows are counted.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND, Duration, Instant, seconds
from penstock.pipeline.kernels.findings import Findings
from penstock.pipeline.kernels.ledger import Ledger
from penstock.pipeline.kernels.receipts import NETWORK, Books, Receipts
from penstock.pipeline.kernels.rows import Ints, Rows
from penstock.trace.records import Run


@dataclass(frozen=True, slots=True)
class Facts:
    """What a run says of itself; seconds of the experiment count from the origin."""

    run: str
    origin: Instant
    duration: Duration

    @classmethod
    def of(cls, run: str, row: Run) -> Facts:
        """The warm-up, which comes before the origin, is a parameter; without one there is none."""
        times = json.loads(row.parameters).get("run", {})
        return cls(run, seconds(times.get("warmup_s", 0)), row.duration_ns)

    @property
    def seconds(self) -> int:
        """How many whole or begun seconds there are."""
        return -(-self.duration // SECOND)

    def per_second(self, instants: Ints) -> Ints:
        """How many lie in each second of the experiment; others are left out."""
        which = (instants - self.origin) // SECOND
        if which.size and (which.min() < 0 or which.max() >= self.seconds):
            which = which[(which >= 0) & (which < self.seconds)]
        return np.bincount(which, minlength=self.seconds)


@dataclass(frozen=True, slots=True)
class Subject:
    """The run that is measured, and what its kernels share."""

    facts: Facts
    recorded: frozenset[str]
    books: Books = field(default_factory=Books)
    ledger: Ledger = field(init=False)
    # All orderings of which there was a row, by number.
    named: set[int] = field(default_factory=set)
    # Rows found after a later one, by ordering; they were put in order first.
    unsorted: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger", Ledger(self.books))

    def orderings(self, *, also: Iterable[int] = ()) -> list[tuple[int, str]]:
        """The network, where arrivals were recorded, then orderings by name."""
        found = [(self.books.network, NETWORK)] if "arrivals" in self.recorded else []
        others = sorted((self.books.ordering_name(code), code) for code in self.named.union(also))
        return found + [(code, name) for name, code in others if name != NETWORK]


class Kernel(ABC):
    """Extend, and say what is read."""

    # The columns of each table that `take` looks at.
    READS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # Whether `see` is to be called with arrivals and deliveries.
    SEES_RECEIPTS: ClassVar[bool] = False
    # Whether it asks for `subject.ledger`.
    USES_LEDGER: ClassVar[bool] = False

    def __init__(self, subject: Subject) -> None:
        self.subject: Final = subject

    def take(self, rows: Rows) -> None:  # noqa: B027
        """The next rows of a table; there is one at least."""

    def see(self, receipts: Receipts) -> None:  # noqa: B027
        """The next rows that came to receivers; there is one at least."""

    @abstractmethod
    def tell(self, findings: Findings) -> None:
        """What came of it."""


def share(part: float, whole: float) -> float:
    """A part of the whole; nothing of nothing is 0."""
    return part / whole if whole else 0.0
