"""A trace as plain Python sees it: its clock, its receipts, and what was found in it.

Knows nothing of numpy, batches, codes or views. Times are integers, so that what is counted
here is exact.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.trace.records import Arrival, Delivery
from tests.metrics.brute.traces import Trace

# Fates of messages that the application got.
GOT = {"delivered", "delivered_late", "repaired"}
BIN_NS = 100_000


class Key(NamedTuple):
    """Whose number it is, and of which kind: value, pair, series, histogram or curve."""

    kind: str
    metric: str
    ordering: str = ""
    entity: str = ""
    phase: str = ""
    # The second, the bin or the percentile; of a pair, its peer.
    at: int | str = ""


class Receipt(NamedTuple):
    """An arrival, or a delivery that the application got."""

    subscriber: str
    publisher: str
    epoch: int
    seq: int
    published: Instant
    arrived: Instant | None
    ended: Instant

    @property
    def message(self) -> tuple[str, str, int, int]:
        return self.subscriber, self.publisher, self.epoch, self.seq

    @property
    def pair(self) -> tuple[str, str]:
        return self.subscriber, self.publisher


class BruteRun:
    """One trace, and all that was found in it."""

    def __init__(self, trace: Trace) -> None:
        self.found: dict[Key, float] = {}
        self.trace = trace
        self.rows = trace.rows
        parameters = json.loads(trace.run.parameters)
        self.origin: Instant = round(parameters.get("run", {}).get("warmup_s", 0) * SECOND)
        self.duration: Duration = trace.run.duration_ns
        # Whole or begun.
        self.seconds = ceil(self.duration / SECOND)
        self.orderings: list[str] = list(parameters.get("orderings", ()))
        measure = parameters.get("measure", {})
        # In whole seconds, though they may be written as floats.
        self.phases: dict[str, tuple[int, int]] = {
            name: (int(low), int(high)) for name, (low, high) in measure.get("phases", {}).items()
        }
        self.ample: str | None = measure.get("ample")
        self.receipts = {"": self._arrived()} if self.has("arrivals") else {}
        self.receipts |= self._delivered()

    @property
    def spans(self) -> dict[str, tuple[float, float]]:
        """Start and end of the whole experiment, and of each phase, in seconds."""
        return {"": (0, self.duration / SECOND), **self.phases}

    @property
    def smooth_s(self) -> int:
        """A sixtieth of the experiment, in whole seconds."""
        return max(1, self.seconds // 60)

    def has(self, *tables: str) -> bool:
        return {*tables} <= {*self.trace.tables}

    def named_orderings(self) -> list[str]:
        """Orderings that deliveries name, whether or not an application got anything."""
        return [ordering for ordering in self.receipts if ordering]

    def is_sampled_within(self, at: Instant) -> bool:
        """A sample describes the time before it."""
        return 0 < at - self.origin <= self.duration

    def by_second(self, instants: Iterable[Instant]) -> list[int]:
        within = [at - self.origin for at in instants if at - self.origin < self.duration]
        counts = Counter(at // SECOND for at in within)
        return [counts[second] for second in range(self.seconds)]

    def is_within(self, at: Instant, span: tuple[float, float]) -> bool:
        """Phases end with a second, the experiment may end in the middle of one."""
        return span[0] * SECOND <= at - self.origin < min(span[1] * SECOND, self.duration)

    def count(self, instants: Iterable[Instant], span: tuple[float, float]) -> int:
        return sum(self.is_within(at, span) for at in instants)

    def value(
        self, name: str, value: float, ordering: str = "", *, entity: str = "", phase: str = ""
    ) -> None:
        self.found[Key("value", name, ordering, entity, phase)] = value

    def pairs(self, name: str, values: Mapping[tuple[str, str], float], ordering: str = "") -> None:
        for (one, other), value in values.items():
            self.found[Key("pair", name, ordering, one, at=other)] = value

    def series(
        self, name: str, values: Mapping[int, float], ordering: str = "", *, entity: str = ""
    ) -> None:
        for second, value in values.items():
            self.found[Key("series", name, ordering, entity, at=second)] = value

    def counts(
        self, name: str, instants: Iterable[Instant], ordering: str = "", *, entity: str = ""
    ) -> None:
        """A series of how many lie in each second."""
        self.series(name, dict(enumerate(self.by_second(instants))), ordering, entity=entity)

    def rates(self, name: str, instants: Sequence[Instant], ordering: str = "") -> None:
        for phase, (low, high) in self.spans.items():
            rate = share(self.count(instants, (low, high)), high - low)
            self.value(name, rate, ordering, phase=phase)

    def distribution(
        self, name: str, values_ns: list[int], shares: Mapping[str, float], ordering: str = ""
    ) -> None:
        """Mean and maximum are exact; quantiles take each value for the middle of its bin."""
        if not values_ns:
            return
        for place, count in Counter(value // BIN_NS for value in values_ns).items():
            self.found[Key("histogram", name, ordering, at=place)] = count
        self.value(f"{name}_mean", sum(values_ns) / len(values_ns) / 1e6, ordering)
        self.value(f"{name}_max", max(values_ns) / 1e6, ordering)
        for label, share in shares.items():
            self.value(f"{name}_{label}", binned_quantile(values_ns, share), ordering)

    def _arrived(self) -> list[Receipt]:
        rows = sorted(self.rows(Arrival), key=lambda r: r.arrived_ns)
        return [
            Receipt(
                *(r.subscriber, r.publisher, r.epoch, r.seq),
                *(r.published_ns, r.arrived_ns, r.arrived_ns),
            )
            for r in rows
        ]

    def _delivered(self) -> dict[str, list[Receipt]]:
        found: dict[str, list[Receipt]] = defaultdict(list)
        for r in self.rows(Delivery):
            own = found[r.ordering]
            if r.fate in GOT and r.delivered_ns is not None:
                own.append(
                    Receipt(
                        *(r.subscriber, r.publisher, r.epoch, r.seq),
                        *(r.published_ns, r.arrived_ns, r.delivered_ns),
                    )
                )
        return {name: sorted(own, key=lambda r: r.ended) for name, own in found.items()}


def grouped(rows: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0


def quantile(values: Iterable[float], share: float) -> float:
    """Between two values, as far as the rank is between theirs."""
    ordered = sorted(values)
    rank = (len(ordered) - 1) * share
    low, high = ordered[floor(rank)], ordered[ceil(rank)]
    return low + (high - low) * (rank - floor(rank))


def binned_quantile(values_ns: list[int], share: float) -> float:
    """In milliseconds; no more than the largest value."""
    middles = [(value // BIN_NS + 0.5) / 10 for value in values_ns]
    return min(max(values_ns) / 1e6, quantile(middles, share))
