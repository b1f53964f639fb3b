"""What a metric is, and what it declares of itself.

To add one: write a file with a class that extends `Metric` or `AdditiveMetric`, and name it in
`catalogue`. `READS` are tables or views with the columns it looks at; `OUTPUTS` are the names it
reports. A value is reported when all tables that it needs were recorded. A row that stands
twice in a trace counts twice wherever rows are counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from penstock.metrics.tally import Tally
from penstock.trace.batch import Floats

if TYPE_CHECKING:
    from penstock.metrics.results import Results
    from penstock.metrics.run_info import RunInfo

# What `update` takes: a batch of a table, receipts, the ledger, or a union of them.
Seen = TypeVar("Seen")


class Entity(StrEnum):
    """What a value is a value of."""

    RUN = "run"
    HOST = "host"
    PUBLISHER = "publisher"
    SUBSCRIBER = "subscriber"
    # Subscriber and publisher.
    PAIR = "pair"
    GROUP = "group"
    LINK = "link"
    QUEUE = "queue"
    CONNECTION = "connection"
    # A flow's filter and its publisher.
    FLOW = "flow"
    REASON = "reason"
    # A number or a name that the experiment chooses, such as a distance.
    SETTING = "setting"

    @property
    def has_peer(self) -> bool:
        """Whether it takes two names."""
        return self in {Entity.PAIR, Entity.FLOW}


class Window(Enum):
    """Which part of a run an output covers."""

    RUN = "run"
    EXPERIMENT = "experiment"
    AFTER_WARMUP = "after_warmup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One name that a metric may report."""

    name: str
    # "1" for shares and indices; the unit of a count is what is counted.
    unit: str
    meaning: str
    entity: Entity = Entity.RUN
    # value, series, histogram, curve (quantiles), sketch
    kinds: tuple[str, ...] = ("value",)
    window: Window = Window.EXPERIMENT
    # Whether there is a value of each phase of the experiment, too.
    phased: bool = False


class Metric(ABC, Generic[Seen]):
    """One metric of one run. Rows of a table come in order of its time, in batches of any size.

    Tables alternate as they do in the run, or come one after another: a metric must not care.
    """

    # Tables or views, and the columns that are looked at.
    READS: ClassVar[Mapping[str, tuple[str, ...]]]
    OUTPUTS: ClassVar[tuple[Output, ...]]
    # Tables without which it still reports something.
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    # Bytes that are kept for each row that is read; 0 for sums and bounded samples.
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 0

    def __init__(self, run: RunInfo) -> None:
        self.run = run

    @abstractmethod
    def update(self, batch: Seen) -> None:
        """Takes the next rows."""

    @abstractmethod
    def finish(self, out: Results) -> None:
        """Reports what came of it."""


class AdditiveMetric(Metric[Seen]):
    """Tallies over disjoint sets of subscribers add up: parts of a run can be measured apart."""

    @abstractmethod
    def tally(self, out: Tally) -> None:
        """Puts down counts, sums, minima and maxima, by names rather than by codes."""

    @classmethod
    @abstractmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Reports what follows from the sum of all parts."""

    def finish(self, out: Results) -> None:
        """Reports the only part."""
        tally = Tally()
        self.tally(tally)
        self.report(tally, self.run, out)


def share(part: float, whole: float) -> float:
    """A part of the whole; nothing of nothing is 0."""
    return float(part / whole) if whole else 0.0


def correlation(one: Floats, other: Floats) -> float:
    """Pearson's; 0 when one of them does not vary."""
    if len(one) < 2 or not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


MetricType = type[Metric[Any]]
