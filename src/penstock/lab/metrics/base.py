"""What a metric is: it sees batches of a trace go by, and has figures at the end.

To add one: write a file with a class that extends `Metric`, and name it in
`METRICS`. A metric sees the records of its `TABLES` and nothing else of a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.lab.experiment import MeasurePart
from penstock.metrics.sketches import Sketch
from penstock.trace.batch import Batch

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

# In a pair's number the publisher stands above the subscriber.
PUBLISHER_SHIFT: Final = 32


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its unit; the unit of a count is what is counted."""

    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a metric has to say of one ordering."""

    figures: dict[str, Figure]
    series: dict[str, list[float]] = field(default_factory=dict)
    # What lies at 0, 1, … 100 % of some distribution.
    quantiles: dict[str, list[float]] = field(default_factory=dict)
    sketches: dict[str, Sketch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What metrics need to know of the run they watch."""

    origin: Instant
    duration: Duration
    measure: MeasurePart
    # The clients of each group.
    members: Mapping[str, list[str]] = field(default_factory=dict)
    # How many clients subscribe to anything.
    subscribers: int = 0
    # All that the same arrivals are fed to.
    orderings: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        """How many whole or begun seconds there are."""
        return -(-self.duration // SECOND)

    @property
    def window_s(self) -> int:
        """What single seconds' luck is averaged over: 5 s of a run of five minutes."""
        return max(1, self.seconds // 60)

    def phases(self) -> dict[str, tuple[float, float]]:
        """Named stretches, in seconds since the origin."""
        return dict(self.measure.phases)


class Metric(ABC):
    """Extend, and name the tables to be seen."""

    TABLES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def take(self, batch: Batch) -> None:
        """The next rows of one of the tables."""

    @abstractmethod
    def figures(self) -> dict[str, Figure]:
        """What came of it, for the network as a whole."""

    def series(self) -> dict[str, list[float]]:
        """By second of the experiment, for plots."""
        return {}

    def sketches(self) -> dict[str, Sketch]:
        """What single values looked like, for plots of one run."""
        return {}

    def of_orderings(self) -> dict[str, Seen]:
        """What came of it for each ordering."""
        return {}

    def seconds_of(self, instants: Ints) -> Ints:
        """The second of the experiment that each lies in; it may be before or after it."""
        return (instants - self.context.origin) // SECOND

    def per_second(self, instants: Ints) -> Ints:
        """How many lie in each second of the experiment."""
        seconds = self.seconds_of(instants)
        inside = seconds[(seconds >= 0) & (seconds < self.context.seconds)]
        return np.bincount(inside, minlength=self.context.seconds)


def spread(batches: list[Ints]) -> Ints:
    """Batches of a column as one."""
    return np.concatenate(batches) if batches else np.empty(0, np.int64)


def has_left(batch: Batch) -> NDArray[np.bool_]:
    """Of publications, which were sent: others never left their publisher."""
    valid = batch.columns["published_ns"].valid
    return np.ones(batch.rows, np.bool_) if valid is None else valid


def pair_codes(batch: Batch) -> Ints:
    """One number for each publisher and subscriber."""
    publishers: Ints = batch.columns["publisher"].values.astype(np.int64)
    subscribers: Ints = batch.columns["subscriber"].values.astype(np.int64)
    return publishers << PUBLISHER_SHIFT | subscribers


def is_one_of(batch: Batch, column: str, names: set[str]) -> NDArray[np.bool_]:
    """Which rows have one of these names."""
    packed = batch.columns[column]
    assert packed.names is not None
    codes = [code for code, name in enumerate(packed.names) if name in names]
    return np.isin(packed.values, codes)


def part(values: Ints, low_s: float, high_s: float) -> Ints:
    """The seconds of a phase."""
    return values[round(low_s) : round(high_s)]


def correlation(one: Floats, other: Floats) -> float:
    """Pearson's; 0 when one of them does not vary."""
    if len(one) < 2 or not one.std() or not other.std():
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
