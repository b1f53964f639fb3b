"""Loss event rates and allowed rates as receivers of different means would reckon them.

Looks at one pair: the first publisher of one group and the first subscriber of another. All
means see the same arrivals, and nobody obeys; see `lab.replay`. A *share* compares with a
receiver that knows of every loss and goes by the same rule, by their means over time, of
which the first tenth is left out.
"""

from __future__ import annotations

from functools import cached_property
from statistics import fmean
from typing import ClassVar, Final

from penstock.kernel.instant import SECOND
from penstock.lab.loss_knowledge import LOSS_KNOWLEDGE, ExpectedMessage, ReplayEstimate, replay
from penstock.lab.metrics.base import Context, Figure, Ints, Metric, has_left, is_one_of, spread
from penstock.trace.batch import Batch

_IDEAL: Final = "ideal"
_IDEAL_LITERAL: Final = "literal-all"
_SKIPPED: Final = 0.1


class Events(Metric):
    """What figure 5.7 of the dissertation shows."""

    TABLES: ClassVar[tuple[str, ...]] = ("publications", "expected", "arrivals")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        publishers, subscribers = context.measure.pair or ("", "")
        self._publisher = set(context.members.get(publishers, ())[:1])
        self._subscriber = set(context.members.get(subscribers, ())[:1])
        self._published = 0
        self._seqs: list[Ints] = []
        self._published_ns: list[Ints] = []
        self._came: list[Ints] = []
        self._came_ns: list[Ints] = []

    def take(self, batch: Batch) -> None:
        """Keeps to the pair."""
        rows = is_one_of(batch, "publisher", self._publisher)
        columns = batch.columns
        if batch.table.name == "publications":
            self._published += int((rows & has_left(batch)).sum())
            return
        rows &= is_one_of(batch, "subscriber", self._subscriber)
        if batch.table.name == "expected":
            self._seqs.append(columns["seq"].values[rows])
            self._published_ns.append(columns["published_ns"].values[rows])
        else:
            self._came.append(columns["seq"].values[rows])
            self._came_ns.append(columns["arrived_ns"].values[rows])

    def figures(self) -> dict[str, Figure]:
        """Means over time, and how they compare with the ideal receiver's."""
        found: dict[str, Figure] = {}
        for name, estimates in self._estimates.items():
            p, allowed_mps = self._means(name)
            found[f"loss_event_rate.{name}"] = Figure(p)
            found[f"allowed_rate.{name}"] = Figure(allowed_mps, "/s")
            ideal = _IDEAL_LITERAL if LOSS_KNOWLEDGE[name].is_literal else _IDEAL
            ideal_p, ideal_mps = self._means(ideal)
            if name != ideal and ideal_p and ideal_mps:
                found[f"loss_event_share.{name}"] = Figure(p / ideal_p)
                found[f"allowed_share.{name}"] = Figure(allowed_mps / ideal_mps)
            last = estimates[-1]
            found[f"loss_events.{name}"] = Figure(last.events, "events")
            found[f"losses_known.{name}"] = Figure(last.losses, "messages")
        return found

    def series(self) -> dict[str, list[float]]:
        """The figure's frames."""
        found = {}
        for name, estimates in self._estimates.items():
            found[f"loss_event_rate.{name}"] = [each.loss_event_rate for each in estimates]
            found[f"allowed_rate.{name}"] = [each.allowed_mps for each in estimates]
        return found

    @cached_property
    def _estimates(self) -> dict[str, list[ReplayEstimate]]:
        came = dict(zip(spread(self._came).tolist(), spread(self._came_ns).tolist(), strict=True))
        wanted = [
            ExpectedMessage(seq, published_ns, came.get(seq))
            for seq, published_ns in zip(
                spread(self._seqs).tolist(), spread(self._published_ns).tolist(), strict=True
            )
        ]
        sent_mps = self._published * SECOND / max(1, self.context.duration)
        return {
            name: replay(means, wanted, sent_mps, self.context.origin, self.context.seconds)
            for name, means in LOSS_KNOWLEDGE.items()
        }

    def _means(self, name: str) -> tuple[float, float]:
        """Of both, over time."""
        kept = self._estimates[name][round(_SKIPPED * self.context.seconds) :]
        return fmean(e.loss_event_rate for e in kept), fmean(e.allowed_mps for e in kept)
