"""Who was to get what, and who got it: the message keys of one run.

The only thing that grows with a run: eight bytes for each row that was received,
sixteen for each that was expected. A run too large for that is for the DataFrame form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.pipeline.kernels.receipts import Books, Receipts
from penstock.pipeline.kernels.rows import Flags, Ints, Rows

EXPECTED_COLUMNS: Final = ("publisher", "epoch", "seq", "subscriber", "published_ns")

Narrow: TypeAlias = NDArray[np.uint32]

# A table of bytes for all numbers that there could be beats sorting, unless most of it is empty.
_TABLE_BYTES_PER_KEY: Final = 64


@dataclass(slots=True)
class Keys:
    """Messages at subscribers, as they came."""

    _flows: list[Narrow] = field(default_factory=list)
    _seqs: list[Narrow] = field(default_factory=list)

    def add(self, flow: Ints, seq: Ints) -> None:
        """The next ones."""
        self._flows.append(flow.astype(np.uint32))
        self._seqs.append(seq.astype(np.uint32))

    def columns(self) -> tuple[Narrow, Narrow]:
        """Flow and number of each."""
        nothing = np.zeros(0, np.uint32)
        return np.concatenate([nothing, *self._flows]), np.concatenate([nothing, *self._seqs])


class Ledger:
    """Kept by whoever measures a run, for the kernels that ask for it."""

    def __init__(self, books: Books) -> None:
        self._books: Final = books
        self.expected: Final = Keys()
        self._published: Final[list[Ints]] = []
        self._received: Final[dict[int, Keys]] = {}
        self._missed: Final[dict[int, Flags]] = {}

    def expect(self, rows: Rows) -> None:
        """The next rows of the ground truth."""
        self.expected.add(self._books.flow_of(rows), rows.seq)
        self._published.append(rows.integers("published_ns"))

    def receive(self, receipts: Receipts) -> None:
        """The next rows of arrivals or deliveries."""
        for ordering, where in receipts.by_ordering:
            keys = self._received.setdefault(ordering, Keys())
            keys.add(receipts.flow[where], receipts.seq[where])

    def published_ns(self) -> Ints:
        """When each expected message left."""
        return np.concatenate([np.zeros(0, np.int64), *self._published])

    def missed(self, ordering: int) -> Flags:
        """Which expected rows an ordering, or the network, never made good."""
        if ordering not in self._missed:
            received = self._received.pop(ordering, Keys())
            self._missed[ordering] = ~is_among(self.expected.columns(), received.columns())
        return self._missed[ordering]


def is_among(wanted: tuple[Narrow, Narrow], there: tuple[Narrow, Narrow]) -> Flags:
    """Which of the wanted (flow, seq) are there."""
    if not wanted[0].size or not there[0].size:
        return np.zeros(wanted[0].size, np.bool_)
    span = max(int(wanted[1].max()), int(there[1].max())) + 1
    flows = max(int(wanted[0].max()), int(there[0].max())) + 1
    one, other = (flow.astype(np.int64) * span + seq for flow, seq in (wanted, there))
    if flows * span > _TABLE_BYTES_PER_KEY * (one.size + other.size):
        return np.isin(one, other, kind="sort")
    table = np.zeros(flows * span, np.bool_)
    table[other] = True
    return np.asarray(table[one])
