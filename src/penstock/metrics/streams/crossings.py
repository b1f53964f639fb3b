"""How often messages of guaranteed streams cross a link.

Each has to cross it once, and once more if the relay behind the link is asked for it when it has
it no more. What crosses it besides is a waste of the link.
"""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.metrics.base import AdditiveMetric, Entity, Output, share
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.second_sums import SecondSums
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

# Columns, and what is told of them.
_KINDS: Final = {
    "first_messages": ("crossings_first", "messages that crossed a link for the first time"),
    "repair_messages": (
        "crossings_repair",
        "messages that crossed a link again since the relay behind it lacked them",
    ),
    "repeat_messages": ("crossings_repeat", "messages that crossed a link again needlessly"),
}


class Crossings(AdditiveMetric[Batch]):
    """Adds up samples of crossings by link and second.

    Rows of crossings belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"crossings": ("sampled_ns", "link", *_KINDS)}
    OUTPUTS: ClassVar = (
        *(
            Output(name=name, unit="messages", entity=Entity.LINK, phased=True, meaning=meaning)
            for name, meaning in _KINDS.values()
        ),
        Output(
            name="crossings_wasted",
            unit="1",
            entity=Entity.LINK,
            phased=True,
            meaning="messages that crossed a link needlessly by all that crossed it",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "link", _KINDS)

    def update(self, batch: Batch) -> None:
        """Adds the next samples."""
        self._sums.add_batch(batch, _KINDS)

    def tally(self, out: Tally) -> None:
        """Messages on each link by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Of each link: the experiment and each phase."""
        if not run.has("crossings"):
            return
        for link in tally.names_of_entities("first_messages"):
            counts = {column: tally.get(column, entity=link) for column in _KINDS}
            for phase, low_s, high_s in run.spans():
                span = run.seconds_of(low_s, high_s)
                sums = {column: int(values[span].sum()) for column, values in counts.items()}
                for column, (name, _) in _KINDS.items():
                    out.add_value(name, sums[column], entity=link, phase=phase)
                wasted = share(sums["repeat_messages"], sum(sums.values()))
                out.add_value("crossings_wasted", wasted, entity=link, phase=phase)
