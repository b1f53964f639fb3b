"""The ledger: who was to get which message, and who got it.

Matches rows of `expected` with receipts by message, so that an arrival that stands twice hides
no loss. It is the only view that grows with a run: eight bytes for each row that was received,
sixteen for each that was expected. A run too large for that is measured in parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.codes import NETWORK, RunCodes
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Batch, Flags, Ints

NAME: Final = "ledger"
EXPECTED_COLUMNS: Final = ("publisher", "epoch", "seq", "subscriber", "published_ns")

Narrow: TypeAlias = NDArray[np.uint32]

# A table of bytes for all numbers that there could be beats sorting, unless most of it is empty.
_TABLE_BYTES_PER_KEY: Final = 64


@dataclass(slots=True)
class MessageKeys:
    """Messages at subscribers: flow and sequence number of each, in the order of rows."""

    _flows: list[Narrow] = field(default_factory=list)
    _seqs: list[Narrow] = field(default_factory=list)

    def add(self, flow: Ints, seq: Ints) -> None:
        """Adds the next rows."""
        self._flows.append(flow.astype(np.uint32))
        self._seqs.append(seq.astype(np.uint32))

    def columns(self) -> tuple[Narrow, Narrow]:
        """Flow and sequence number of each row."""
        if len(self._flows) > 1:
            self._flows = [np.concatenate(self._flows)]
            self._seqs = [np.concatenate(self._seqs)]
        nothing = np.zeros(0, np.uint32)
        return (self._flows[0], self._seqs[0]) if self._flows else (nothing, nothing)


class Ledger:
    """Complete when metrics get it, which is once, after the last batch."""

    def __init__(self, codes: RunCodes) -> None:
        self.codes: Final = codes
        self.expected: Final = MessageKeys()
        self._published: list[Ints] = []
        self._received: Final[dict[str, MessageKeys]] = {}
        self._missed: Final[dict[str, Flags]] = {}

    def expect(self, batch: Batch) -> None:
        """Adds rows of `expected`."""
        self.expected.add(self.codes.flow_of(batch), batch.integers("seq"))
        self._published.append(batch.integers("published_ns"))

    def receive(self, receipts: Receipts) -> None:
        """Adds receipts."""
        for ordering, where in receipts.by_ordering:
            keys = self._received.setdefault(ordering, MessageKeys())
            keys.add(receipts.flow[where], receipts.seq[where])

    @property
    def orderings(self) -> list[str]:
        """Orderings that the trace names, without the network."""
        return sorted(name for name in self._received.keys() | self._missed if name != NETWORK)

    def published_ns(self) -> Ints:
        """When each expected message left its publisher."""
        self._published = [np.concatenate([np.zeros(0, np.int64), *self._published])]
        return self._published[0]

    def missed(self, ordering: str) -> Flags:
        """Which expected rows never came: to the endpoint (network) or to the application."""
        if ordering not in self._missed:
            received = self._received.pop(ordering, MessageKeys())
            self._missed[ordering] = ~is_among(self.expected.columns(), received.columns())
        return self._missed[ordering]


def is_among(wanted: tuple[Narrow, Narrow], there: tuple[Narrow, Narrow]) -> Flags:
    """Which of the wanted (flow, sequence number) are there."""
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
