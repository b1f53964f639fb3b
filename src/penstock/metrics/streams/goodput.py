"""How much of a link's rate carries what has to cross it: first crossings and needed repairs."""

from __future__ import annotations

from typing import ClassVar, Final

from penstock.metrics.base import AdditiveMetric, Entity, Output
from penstock.metrics.network.link_samples import CAPACITY_COLUMNS, LinkSamples
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.streams.second_sums import SecondSums
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch

_NECESSARY: Final = "necessary_bytes"
_POSSIBLE: Final = "possible_bits"
_BITS_PER_BYTE: Final = 8


class LinkGoodput(AdditiveMetric[Batch]):
    """Adds up samples of crossings and of links by link and second.

    Rows of either belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {
        "crossings": ("sampled_ns", "link", "necessary_bytes"),
        "links": CAPACITY_COLUMNS,
    }
    OUTPUTS: ClassVar = (
        Output(
            name="link_goodput",
            unit="1",
            entity=Entity.LINK,
            phased=True,
            meaning="bits of messages that had to cross a link by bits that it could have sent",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._sums: Final = SecondSums(run, "link", [_NECESSARY], reals=[_POSSIBLE])

    def update(self, batch: Batch) -> None:
        """Adds the next samples."""
        if batch.table.name == "crossings":
            self._sums.add_batch(batch, [_NECESSARY])
        else:
            samples = LinkSamples(batch, self.run)
            possible_bits = samples.possible_bits
            self._sums.add(samples.link, samples.sampled_ns, possible_bits=possible_bits)

    def tally(self, out: Tally) -> None:
        """Both amounts of each link by second."""
        self._sums.tally(out)

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Links with a limit that messages cross: the experiment and each phase."""
        for link in tally.names_of_entities(_NECESSARY):
            necessary, possible = (tally.get(name, entity=link) for name in (_NECESSARY, _POSSIBLE))
            if not necessary.any():
                continue
            for phase, low_s, high_s in run.spans():
                span = run.seconds_of(low_s, high_s)
                possible_bits = possible[span].sum()
                if possible_bits:
                    value = necessary[span].sum() * _BITS_PER_BYTE / possible_bits
                    out.add_value("link_goodput", value, entity=link, phase=phase)
