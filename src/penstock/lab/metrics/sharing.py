"""Losses that several receivers share: how often one at least of them notices.

Looks at messages that were lost before anything parted (on the link by which
their publisher is connected), and that the first receiver wanted. For k = 0, 1, …
others: whether the first, or one of the k next that wanted it too, knows that it
is missing.
"""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.lab.metrics.base import Context, Figure, Metric, Seen
from penstock.trace.batch import Batch

_GROUP: Final = "receivers"


class Sharing(Metric):
    """Detection by the first receiver and so many others."""

    TABLES: ClassVar[tuple[str, ...]] = ("expected", "drops", "losses")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._names = list(context.members.get(_GROUP, ()))
        self._publishers = [n for g, m in context.members.items() if g != _GROUP for n in m]
        # Numbers that the first receiver wanted, and that were lost to all.
        self._wanted: set[int] = set()
        self._lost: set[int] = set()
        # Of each ordering and receiver, what it knows to be missing.
        self._known: dict[tuple[str, str], set[int]] = {}

    def take(self, batch: Batch) -> None:
        """Sorts numbers by whom they concern."""
        seqs = batch.columns["seq"].values.tolist()
        if batch.table.name == "drops":
            for where, seq in zip(_texts(batch, "where"), seqs, strict=True):
                if where.startswith(tuple(f"{name}-" for name in self._publishers)):
                    self._lost.add(seq)
            return
        subscribers = _texts(batch, "subscriber")
        if batch.table.name == "expected":
            first = self._names[0] if self._names else None
            self._wanted.update(s for s, who in zip(seqs, subscribers, strict=True) if who == first)
            return
        for seq, who, ordering in zip(seqs, subscribers, _texts(batch, "ordering"), strict=True):
            self._known.setdefault((ordering, who), set()).add(seq)

    def figures(self) -> dict[str, Figure]:
        """How many there were to be noticed."""
        return {"shared_losses": Figure(len(self._lost & self._wanted), "messages")}

    def of_orderings(self) -> dict[str, Seen]:
        """Each ordering's share."""
        return {ordering: self._seen(ordering) for ordering in self.context.orderings}

    def _seen(self, ordering: str) -> Seen:
        lost = self._lost & self._wanted
        found: dict[str, Figure] = {}
        noticed: set[int] = set()
        for others, name in enumerate(self._names):
            noticed |= lost & self._known.get((ordering, name), set())
            if lost:
                found[f"detected.{others}"] = Figure(len(noticed) / len(lost))
        return Seen(found)


def _texts(batch: Batch, column: str) -> list[str]:
    packed = batch.columns[column]
    names = packed.names or []
    return [names[code] for code in packed.values.tolist()]
