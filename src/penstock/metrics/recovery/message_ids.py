"""Messages as integers: publisher, epoch and sequence number in one, for matching across tables.

Knows nothing of subscribers: `views.ledger` matches messages at subscribers.
"""

from __future__ import annotations

from typing import Final

from penstock.metrics.codes import SEQ_BITS, PairCodes, RunCodes
from penstock.trace.batch import Batch, Flags, Ints


class MessageIds:
    """The ids of messages in all tables of one run."""

    __slots__ = ("_codes", "_sources")

    def __init__(self, codes: RunCodes) -> None:
        self._codes: Final = codes
        # Publisher and epoch.
        self._sources: Final = PairCodes()

    def of(self, batch: Batch, *, where: Flags | slice = slice(None)) -> Ints:
        """The message of each row, or of some rows; each of them must name one."""
        epoch = self._codes.epochs.of(batch.integers("epoch")[where])
        source = self._sources.of(batch.codes("publisher")[where], epoch)
        return source << SEQ_BITS | batch.integers("seq")[where]
