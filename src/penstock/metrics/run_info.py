"""What a run says of itself: its clock, phases, groups and orderings, and the names it uses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor, isfinite
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND, Duration, Instant, seconds
from penstock.metrics.codes import RunCodes
from penstock.trace.batch import Flags, Ints
from penstock.trace.records import Host, Run

# Runs of minutes are smoothed over a sixtieth: 5 s of a run of five minutes.
_WINDOWS: Final = 60


@dataclass(frozen=True)
class RunInfo:
    """One run; seconds of the experiment count from the origin, which ends the warm-up."""

    id: str
    origin: Instant
    duration: Duration
    # Tables that were recorded, with rows or without.
    recorded: frozenset[str] = frozenset()
    # Orderings that the experiment declares; a trace may hold others.
    orderings: tuple[str, ...] = ()
    # The key `measure` of the experiment file: phases, pair, hop length, …
    measure: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    # Host names by group.
    groups: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    # How many hosts subscribe to anything.
    subscribers: int = 0
    # Rows that were found after a later one, by ordering; they were sorted first.
    unsorted_rows: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    codes: RunCodes = field(default_factory=RunCodes, compare=False)

    @classmethod
    def of(
        cls,
        run_id: str,
        row: Run,
        *,
        recorded: frozenset[str],
        hosts: Sequence[Host] = (),
        unsorted_rows: Mapping[str, int] = MappingProxyType({}),
    ) -> RunInfo:
        """Reads the row of the table `runs`; a run without a warm-up starts at its origin."""
        parameters = json.loads(row.parameters)
        groups: dict[str, list[str]] = {}
        for host in hosts:
            if host.group:
                groups.setdefault(host.group, []).append(host.host)
        found = cls(
            id=run_id,
            origin=seconds(parameters.get("run", {}).get("warmup_s", 0)),
            duration=row.duration_ns,
            recorded=recorded,
            orderings=tuple(parameters.get("orderings") or ()),
            measure=parameters.get("measure") or {},
            groups=groups,
            subscribers=sum(host.role.subscribes for host in hosts),
            unsorted_rows=unsorted_rows,
        )
        found.check_phases()
        return found

    @property
    def seconds(self) -> int:
        """How many whole or begun seconds the experiment has."""
        return -(-self.duration // SECOND)

    @property
    def duration_s(self) -> float:
        """The length of the experiment in seconds."""
        return self.duration / SECOND

    @property
    def window_s(self) -> int:
        """Seconds to smooth over."""
        return max(1, self.seconds // _WINDOWS)

    @cached_property
    def phase_bounds(self) -> dict[str, tuple[float, float]]:
        """Start and end of each named phase, in seconds of the experiment."""
        return {name: (low, high) for name, (low, high) in self.measure.get("phases", {}).items()}

    def check_phases(self) -> None:
        """Refuses phases that are no parts of the experiment, as a trace of others may have."""
        phases: Any = self.measure.get("phases", {})
        for name, bounds in phases.items() if isinstance(phases, Mapping) else [("", phases)]:
            is_pair = isinstance(bounds, Sequence) and len(bounds) == 2
            is_part = is_pair and all(isinstance(b, int | float) and isfinite(b) for b in bounds)
            if not (name and is_part and 0 <= bounds[0] < bounds[1] <= self.seconds):
                raise UsageError(
                    f"run {self.id}: the phase {name!r} is {bounds!r}: write two seconds of the"
                    f" experiment, which has {self.duration_s:g}"
                )

    def phases(self, *, whole: slice) -> Iterator[tuple[str, slice]]:
        """The whole run under the name "", then each phase, as slices of a series."""
        yield "", whole
        for name, (low_s, high_s) in self.phase_bounds.items():
            yield name, slice(round(low_s), round(high_s))

    def spans(self) -> Iterator[tuple[str, float, float]]:
        """Name, start and end in seconds: the whole experiment as "", then each phase."""
        yield "", 0.0, self.duration_s
        for name, (low_s, high_s) in self.phase_bounds.items():
            yield name, low_s, high_s

    def has(self, *tables: str) -> bool:
        """Whether all these tables were recorded."""
        return self.recorded.issuperset(tables)

    def seconds_of(self, low_s: float, high_s: float) -> slice:
        """The seconds that a span touches, of a series."""
        return slice(floor(low_s), ceil(high_s))

    def second_of(self, instants: Ints) -> Ints:
        """The second of the experiment of each instant; it may lie before or after all.

        What comes after the experiment lies after all its seconds, also if the last is not full.
        """
        since = instants - self.origin
        second = since // SECOND
        if self.duration % SECOND:
            is_after = since >= self.duration
            second = np.where(is_after, np.maximum(second, self.seconds), second)
        return second

    def per_second(self, instants: Ints) -> Ints:
        """How many instants each second has; those outside are counted in one more place."""
        which = self.second_of(instants)
        outside = self.seconds
        if which.size and (which.min() < 0 or which.max() >= outside):
            which = np.where((which < 0) | (which >= outside), outside, which)
        return np.bincount(which, minlength=outside + 1)

    def sampled_within(self, sampled_ns: Ints) -> Flags:
        """Which samples lie within the experiment; a sample ends the period it describes."""
        since = sampled_ns - self.origin
        return np.asarray((since > 0) & (since <= self.duration))

    def sampled_second(self, sampled_ns: Ints) -> Ints:
        """The second that each sample describes."""
        return (sampled_ns - self.origin - 1) // SECOND
