"""What came to receivers: arrivals and deliveries as one, so that a metric is written once.

Arrivals are what the network did, and have the ordering "". Of deliveries those
count that the application got: whose fate says so, and which have a time.

    pair      subscriber and publisher
    flow      a pair and an epoch: within it numbers are of one sequence
    stream    a flow in one ordering: within it numbers should rise
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.pipeline.kernels.numbering import Numbering, Values, grown
from penstock.pipeline.kernels.rows import Flags, Ints, Names, Rows
from penstock.trace.fates import RECEIVED

NETWORK: Final = ""
_COLUMNS: Final = ("subscriber", "publisher", "epoch", "seq", "published_ns", "arrived_ns")
# What is read of each table.
RECEIPTS: Final = {
    "arrivals": _COLUMNS,
    "deliveries": (*_COLUMNS, "ordering", "delivered_ns", "fate"),
}

Kind = TypeVar("Kind", bound=np.generic)
Where: TypeAlias = Ints | slice
_EVERYWHERE: Final = slice(None)
_BELOW_ALL: Final = -1
_NARROW: Final = 1 << 16


class Books:
    """Numbers that the kernels of one run share, and the highest number of each stream so far."""

    def __init__(self) -> None:
        self.names: Final[dict[str, Names]] = {"ordering": Names()}
        self.network: Final = self.names["ordering"].code(NETWORK)
        self.pairs: Final = Numbering()
        self.epochs: Final = Values()
        self.flows: Final = Numbering()
        self.streams: Final = Numbering()
        self.highest: Ints = np.zeros(0, np.int64)

    def flow_of(self, rows: Rows) -> Ints:
        """The flow of each row."""
        pair = self.pairs.of(rows.codes("subscriber"), rows.codes("publisher"))
        return self.flows.of(pair, self.epochs.of(rows.integers("epoch")))

    def ordering_name(self, code: int) -> str:
        """The name behind a number."""
        return self.names["ordering"].order[code]

    def names_of(self, column: str) -> list[str]:
        """All names that a column had, by number."""
        return self.names[column].order if column in self.names else []


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows by stream, as they came within each; `begins` is where each stream does."""

    order: Ints
    begins: Ints
    # Of each group.
    stream: Ints
    # Of each row, in the order of groups.
    group: Ints
    seq: Ints


class Receipts:
    """Consecutive rows of arrivals or of deliveries."""

    def __init__(self, rows: Rows, books: Books) -> None:
        self._books: Final = books
        is_of_network = rows.table == "arrivals"
        self.is_of_network: Final = is_of_network
        everything = (
            np.full(rows.count, books.network, np.int64)
            if is_of_network
            else rows.codes("ordering")
        )
        # Also those whose application got nothing.
        self.named: Final = np.flatnonzero(np.bincount(everything)) if rows.count else everything
        kept = None if is_of_network else _got(rows)
        self.ordering: Final = _only(everything, kept)
        self.count: Final = len(self.ordering)
        self.flow: Final = _only(books.flow_of(rows), kept)
        self.seq: Final = _only(rows.seq, kept)
        self.published_ns: Final = _only(rows.integers("published_ns"), kept)
        self.arrived_ns: Final = _only(rows.integers("arrived_ns"), kept)
        # None when all did.
        self.has_arrived: Final = (
            None if is_of_network else _unless_all(_only(rows.present("arrived_ns"), kept))
        )
        self.ended_ns: Final = (
            self.arrived_ns if is_of_network else _only(rows.integers("delivered_ns"), kept)
        )

    @cached_property
    def by_ordering(self) -> list[tuple[int, Where]]:
        """Each ordering that has rows here, and where they are."""
        codes = np.flatnonzero(np.bincount(self.ordering)).tolist()
        if len(codes) == 1:
            return [(codes[0], _EVERYWHERE)]
        return [(code, np.flatnonzero(self.ordering == code)) for code in codes]

    @cached_property
    def groups(self) -> Groups:
        """The rows by stream."""
        stream = self._books.streams.of(self.flow, self.ordering)
        # numpy sorts 16 bits in linear time.
        narrow = stream.astype(np.uint16) if self._books.streams.count <= _NARROW else stream
        order = np.argsort(narrow, kind="stable")
        stream = stream[order]
        is_first = np.append(True, stream[1:] != stream[:-1])
        begins = np.flatnonzero(is_first)
        return Groups(order, begins, stream[begins], np.cumsum(is_first) - 1, self.seq[order])

    @cached_property
    def late(self) -> Flags:
        """Which rows, in the order of groups, come after a higher number of their stream.

        Remembers what it has seen: every piece must be asked, or none.
        """
        books, groups = self._books, self.groups
        books.highest = grown(books.highest, books.streams.count, _BELOW_ALL)
        seq = groups.seq.copy()
        seq[groups.begins] = np.maximum(seq[groups.begins], books.highest[groups.stream])
        # Later groups lie higher, so that one running maximum serves them all.
        base = groups.group * (int(seq.max()) + 1)
        highest = np.maximum.accumulate(seq + base) - base
        ends = np.append(groups.begins[1:], len(seq)) - 1
        books.highest[groups.stream] = highest[ends]
        return np.asarray(highest > groups.seq)


def _got(rows: Rows) -> Flags | None:
    """Which of these the application got; None when it got all."""
    return _unless_all(rows.is_one_of("fate", RECEIVED) & rows.present("delivered_ns"))


def _unless_all(flags: Flags) -> Flags | None:
    return None if flags.all() else flags


def _only(values: NDArray[Kind], kept: Flags | None) -> NDArray[Kind]:
    return values if kept is None else values[kept]
