"""The workload itself: receivers of each message, and how often each pair matches."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from penstock.lab.metrics.base import (
    PUBLISHER_SHIFT,
    Context,
    Figure,
    Floats,
    Ints,
    Metric,
    has_left,
    pair_codes,
    spread,
)
from penstock.trace.batch import Batch


class Receivers(Metric):
    """What Figure 4.3 of the dissertation shows."""

    TABLES: ClassVar[tuple[str, ...]] = ("publications", "expected")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._published: dict[str, int] = {}
        self._messages: list[Ints] = []
        self._pairs: list[Ints] = []
        self._names: tuple[list[str], list[str]] = ([], [])

    def take(self, batch: Batch) -> None:
        """Counts publications, keeps who was expected."""
        publisher = batch.columns["publisher"]
        assert publisher.names is not None
        if batch.table.name == "publications":
            left = publisher.values[has_left(batch)]
            counts = np.bincount(left, minlength=len(publisher.names))
            for name, count in zip(publisher.names, counts.tolist(), strict=True):
                self._published[name] = self._published.get(name, 0) + count
            return
        self._messages.append(publisher.values.astype(np.int64) << 32 | batch.columns["seq"].values)
        self._pairs.append(pair_codes(batch))
        self._names = (publisher.names, batch.columns["subscriber"].names or [])

    def figures(self) -> dict[str, Figure]:
        """Shares of messages by receivers, quantiles of match probability over all pairs."""
        _, receivers = np.unique(spread(self._messages), return_counts=True)
        published = sum(self._published.values())
        if not published:
            return {}
        unwanted = published - receivers.size
        few = unwanted + int((receivers <= 2).sum())
        matched = self._match_probabilities()
        return {
            "messages_with_2_or_fewer": Figure(few / published),
            "receivers_mean": Figure(float(receivers.sum() / published)),
            "receivers_max": Figure(float(receivers.max(initial=0))),
            "pair_match_p80": Figure(float(np.quantile(matched, 0.8))),
            "pair_match_max": Figure(float(matched.max())),
        }

    def _match_probabilities(self) -> Floats:
        """For every publisher and subscriber, also those that never match."""
        codes, counts = np.unique(spread(self._pairs), return_counts=True)
        publishers, subscribers = self._names
        found = [
            count / self._published[publishers[code >> PUBLISHER_SHIFT]]
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
        ]
        everyone = len(self._published) * max(1, self._subscribers(len(subscribers)))
        return np.array(found + [0.0] * (everyone - len(found)))

    def _subscribers(self, seen: int) -> int:
        """All that there are, also those whom no message was for."""
        return max(seen, self.context.subscribers)
