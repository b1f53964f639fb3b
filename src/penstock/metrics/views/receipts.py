"""Receipts: arrivals and deliveries as one table, so that a metric is written once for both.

Arrivals are what the network did; their ordering is "". Of deliveries those count that the
application got: whose fate says so, and which have a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.codes import RunCodes, grown
from penstock.trace.batch import Batch, Flags, Ints
from penstock.trace.fates import RECEIVED

NAME: Final = "receipts"
KEY: Final = ("subscriber", "publisher", "epoch", "seq")
# The columns that are always read, by table.
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "arrivals": (*KEY, "arrived_ns"),
    "deliveries": (*KEY, "ordering", "delivered_ns", "fate"),
}
# Those that a metric may ask for besides `subscriber`, `publisher`, `seq` and `ended_ns`.
OPTIONAL: Final = ("published_ns", "arrived_ns")

Kind = TypeVar("Kind", bound=np.generic)
Where: TypeAlias = Ints | slice
_EVERYWHERE: Final = slice(None)
_BELOW_ALL: Final = -1
# numpy sorts 16 bits in linear time.
_NARROW: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows by stream, in order of time within each; `begins` is where each stream begins."""

    order: Ints
    begins: Ints
    # Of each group.
    stream: Ints
    # Of each row, in the order of groups.
    group: Ints
    seq: Ints

    @property
    def ends(self) -> Ints:
        """Where the last row of each stream is."""
        return np.append(self.begins[1:], len(self.seq)) - 1


class HighestNumbers:
    """The highest sequence number of each stream so far."""

    __slots__ = ("by_stream",)

    def __init__(self) -> None:
        self.by_stream: Ints = np.zeros(0, np.int64)


class Receipts:
    """Consecutive rows of arrivals or of deliveries."""

    def __init__(self, batch: Batch, codes: RunCodes, highest: HighestNumbers) -> None:
        self._batch: Final = batch
        self.codes: Final = codes
        self._highest: Final = highest
        self.is_of_network: Final = batch.table.name == "arrivals"
        self._kept: Final = None if self.is_of_network else _received(batch)
        self.rows: Final = batch.rows if self._kept is None else int(self._kept.sum())

    @cached_property
    def ordering(self) -> Ints:
        """The code of each row's ordering."""
        if self.is_of_network:
            return np.full(self.rows, self.codes.network, np.int64)
        return self._only(self._batch.codes("ordering"))

    @cached_property
    def flow(self) -> Ints:
        """The flow of each row."""
        return self._only(self.codes.flow_of(self._batch))

    @cached_property
    def subscriber(self) -> Ints:
        """The code of each row's subscriber."""
        return self._only(self._batch.codes("subscriber"))

    @cached_property
    def seq(self) -> Ints:
        """The sequence number of each row."""
        return self._only(self._batch.integers("seq"))

    @cached_property
    def published_ns(self) -> Ints:
        """When each message left its publisher."""
        return self._only(self._batch.integers("published_ns"))

    @cached_property
    def arrived_ns(self) -> Ints:
        """When each message arrived; 0 where `has_arrived` is False."""
        return self._only(self._batch.integers("arrived_ns"))

    @cached_property
    def has_arrived(self) -> Flags | None:
        """Which rows have a time of arrival; None when all have."""
        if self.is_of_network:
            return None
        return _unless_all(self._only(self._batch.present("arrived_ns")))

    @cached_property
    def ended_ns(self) -> Ints:
        """When each message arrived, or was delivered by its ordering."""
        if self.is_of_network:
            return self._batch.integers("arrived_ns")
        return self._only(self._batch.integers("delivered_ns"))

    @cached_property
    def by_ordering(self) -> list[tuple[str, Where]]:
        """Each ordering named here and where its rows are; none if nothing was received."""
        names = self.codes.names("ordering")
        # Also those whose application got nothing.
        named = self.ordering if self._kept is None else self._batch.codes("ordering")
        codes = np.flatnonzero(np.bincount(named)).tolist()
        if len(codes) == 1:
            return [(names[codes[0]], _EVERYWHERE)]
        return [(names[code], np.flatnonzero(self.ordering == code)) for code in codes]

    @cached_property
    def groups(self) -> Groups:
        """The rows by stream."""
        streams = self.codes.streams
        stream = streams.of(self.flow, self.ordering)
        narrow = stream.astype(np.uint16) if streams.count <= _NARROW else stream
        order = np.argsort(narrow, kind="stable")
        stream = stream[order]
        is_first = np.ones(len(stream), np.bool_)
        is_first[1:] = stream[1:] != stream[:-1]
        begins = np.flatnonzero(is_first)
        return Groups(order, begins, stream[begins], np.cumsum(is_first) - 1, self.seq[order])

    @cached_property
    def late(self) -> Flags:
        """Which rows come after a higher number of their stream.

        Remembers what it has seen: ask for it in every batch of a run, or in none.
        """
        groups = self.groups
        late = np.zeros(self.rows, np.bool_)
        late[groups.order] = self._late_in_groups(groups)
        return late

    def _late_in_groups(self, groups: Groups) -> Flags:
        if not self.rows:
            return np.zeros(0, np.bool_)
        highest_of = self._highest
        highest_of.by_stream = grown(highest_of.by_stream, self.codes.streams.count, _BELOW_ALL)
        seq = groups.seq.copy()
        first = groups.begins
        seq[first] = np.maximum(seq[first], highest_of.by_stream[groups.stream])
        # Later groups lie higher, so that one running maximum serves them all.
        base = groups.group * (int(seq.max()) + 1)
        highest = np.maximum.accumulate(seq + base) - base
        highest_of.by_stream[groups.stream] = highest[groups.ends]
        return np.asarray(highest > groups.seq)

    def _only(self, values: NDArray[Kind]) -> NDArray[Kind]:
        return values if self._kept is None else values[self._kept]


def columns_of(asked: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The columns to read of each table for a metric that asks for these of the view."""
    extra = tuple(column for column in OPTIONAL if column in asked)
    return {table: (*columns, *extra) for table, columns in TABLES.items()}


def _received(batch: Batch) -> Flags | None:
    """Which of these the application got; None when it got all."""
    return _unless_all(batch.is_one_of("fate", RECEIVED) & batch.present("delivered_ns"))


def _unless_all(flags: Flags) -> Flags | None:
    return None if flags.all() else flags
