"""Who was to get what, and who got it: false negatives of the network and of each ordering."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.lab.metrics.base import Ints, spread
from penstock.lab.metrics.codes import FlowNumbers
from penstock.trace.batch import Batch

_SEQ_BITS: Final = 32


class Ledger:
    """Keeps the keys of all messages expected and received."""

    def __init__(self) -> None:
        self._flows: Final = FlowNumbers()
        self._expected: list[Ints] = []
        self._published: list[Ints] = []
        # By ordering; arrivals have the ordering "".
        self._received: dict[str, list[Ints]] = defaultdict(list)

    @property
    def expected(self) -> int:
        """How many deliveries were expected."""
        return sum(map(len, self._expected))

    def expect(self, batch: Batch) -> None:
        """Rows of the ground truth."""
        self._expected.append(self._keys(batch))
        self._published.append(batch.columns["published_ns"].values)

    def receive(self, batch: Batch) -> None:
        """Arrivals."""
        self._received[""].append(self._keys(batch))

    def deliver(self, batch: Batch, got: NDArray[np.bool_]) -> None:
        """Deliveries, of which applications got some."""
        keys, orderings = self._keys(batch), batch.columns["ordering"]
        for code, name in enumerate(orderings.names or ()):
            self._received[name].append(keys[got & (orderings.values == code)])

    def missed_ns(self, ordering: str = "") -> Ints:
        """When each expected message was published that never came."""
        expected, received = spread(self._expected), spread(self._received[ordering])
        missed: Ints = spread(self._published)[~np.isin(expected, received)]
        return missed

    def _keys(self, batch: Batch) -> Ints:
        keys: Ints = self._flows.of(batch) << _SEQ_BITS | batch.columns["seq"].values
        return keys
