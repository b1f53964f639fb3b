"""The order in which one publisher published its messages, across its restarts."""

from __future__ import annotations

from penstock.metrics.codes import SEQ_BITS
from penstock.trace.batch import Batch, Ints


def publication_order(batch: Batch) -> Ints:
    """One number for each row's epoch and sequence number; it rises as a publisher publishes."""
    return batch.integers("epoch") << SEQ_BITS | batch.integers("seq")
