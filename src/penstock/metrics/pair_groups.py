"""The publishers and subscribers that `measure.pair` names by their groups."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Flags


@dataclass(frozen=True, slots=True)
class PairGroups:
    """Names of publishers and of subscribers; both are empty where an experiment names none."""

    publishers: Set[str]
    subscribers: Set[str]

    @classmethod
    def all(cls, run: RunInfo) -> PairGroups:
        """All members of the two groups."""
        publishers, subscribers = _members(run)
        return cls(frozenset(publishers), frozenset(subscribers))

    @classmethod
    def first(cls, run: RunInfo) -> PairGroups:
        """One pair: the first publisher and the first subscriber."""
        publishers, subscribers = _members(run)
        return cls(frozenset(publishers[:1]), frozenset(subscribers[:1]))

    def __bool__(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self.publishers and self.subscribers)

    def is_published(self, batch: Batch) -> Flags:
        """Which rows are of one of the publishers."""
        return batch.is_one_of("publisher", self.publishers)

    def is_between(self, batch: Batch) -> Flags:
        """Which rows are of one of the publishers and one of the subscribers."""
        return self.is_published(batch) & batch.is_one_of("subscriber", self.subscribers)


def _members(run: RunInfo) -> tuple[list[str], list[str]]:
    publishers, subscribers = run.measure.get("pair") or ("", "")
    return list(run.groups.get(publishers, ())), list(run.groups.get(subscribers, ()))
