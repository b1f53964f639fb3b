"""Links: packets they sent and lost, by reason, and how much of its capacity each one used."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import Instant, to_seconds
from penstock.metrics.base import AdditiveMetric, Entity, Output, Window
from penstock.metrics.codes import grown
from penstock.metrics.network.link_samples import CAPACITY_COLUMNS, LinkSamples
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Tally
from penstock.trace.batch import Batch, Flags, Floats

# Columns with packets that a link dropped, and why it did.
_DROPPED: Final = {
    "queue_full_packets": "the queue had no room",
    "loss_packets": "they were lost on the way",
    "down_packets": "the link was down",
    "corrupt_packets": "they arrived and could not be read",
}
_COUNTED: Final = ("sent_packets", *_DROPPED)
# What is summed up of each link and second.
_AMOUNTS: Final = ("sent_bits", "possible_bits", "period_s")


class Links(AdditiveMetric[Batch]):
    """Adds up samples by link and second.

    Rows of links belong to no subscriber: one part of a run has all of them.
    """

    READS: ClassVar = {"links": (*CAPACITY_COLUMNS, "sent_bytes", *_COUNTED)}
    OUTPUTS: ClassVar = (
        Output(
            name="link_packets",
            unit="packets",
            window=Window.RUN,
            meaning="packets that all links together sent",
        ),
        *(
            Output(
                name=name,
                unit="packets",
                window=Window.RUN,
                meaning=f"packets that links dropped because {why}",
            )
            for name, why in _DROPPED.items()
        ),
        Output(
            name="overload_from",
            unit="s",
            window=Window.RUN,
            meaning="when a full queue first dropped a packet; the experiment's end if none did",
        ),
        Output(
            name="link_use",
            unit="1",
            entity=Entity.LINK,
            meaning="bits that a link sent by bits that it could have sent",
        ),
        Output(
            name="link_kbps",
            unit="kbps",
            entity=Entity.LINK,
            kinds=("series",),
            meaning="what a link sent, if a sample ever found it half used",
        ),
        Output(
            name="link_capacity_kbps",
            unit="kbps",
            entity=Entity.LINK,
            kinds=("series",),
            meaning="what a link could send, if a sample ever found it half used",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._packets: Counter[str] = Counter()
        self._overload_ns: Instant | None = None
        # By link and second.
        self._amounts: dict[str, Floats] = {name: np.zeros((0, run.seconds)) for name in _AMOUNTS}
        # Which links were ever half used.
        self._is_busy: Flags = np.zeros(0, np.bool_)

    def update(self, batch: Batch) -> None:
        """Adds the next samples."""
        for name in _COUNTED:
            self._packets[name] += int(batch.integers(name).sum())
        full_ns = batch.integers("sampled_ns")[batch.integers("queue_full_packets") > 0]
        if full_ns.size:
            first = int(full_ns.min())
            self._overload_ns = (
                first if self._overload_ns is None else min(first, self._overload_ns)
            )
        self._add(LinkSamples(batch, self.run))

    def tally(self, out: Tally) -> None:
        """Packets of all links together, amounts of each by second."""
        for name in _COUNTED:
            out.add(name, self._packets[name])
        if self._overload_ns is not None:
            out.add("overload_ns", self._overload_ns, op="min")
        names = self.run.codes.names("link")
        for code in np.flatnonzero(self._amounts["period_s"].any(axis=1)).tolist():
            for name in _AMOUNTS:
                out.add(name, self._amounts[name][code], entity=names[code])
            out.add("is_busy", int(self._is_busy[code]), entity=names[code], op="max")

    @classmethod
    def report(cls, tally: Tally, run: RunInfo, out: Results) -> None:
        """Counts, the use of links that have a limit, and series of the busy ones."""
        if not run.has("links"):
            return
        out.add_value("link_packets", tally.number("sent_packets"))
        for name in _DROPPED:
            out.add_value(name, tally.number(name))
        out.add_value("overload_from", _overload_from(tally, run))
        for link in tally.names_of_entities("period_s"):
            sent_bits, possible_bits, period_s = (tally.get(name, entity=link) for name in _AMOUNTS)
            if possible_bits.any():
                out.add_value("link_use", sent_bits.sum() / possible_bits.sum(), entity=link)
            if tally.number("is_busy", entity=link):
                at = np.flatnonzero(period_s)
                for name, bits in (("link_kbps", sent_bits), ("link_capacity_kbps", possible_bits)):
                    out.add_series(name, bits[at] / period_s[at] / 1000, at=at, entity=link)

    def _add(self, samples: LinkSamples) -> None:
        link = samples.link
        links = int(link.max(initial=-1)) + 1
        place = link * self.run.seconds + samples.second
        for name in _AMOUNTS:
            sums = self._amounts[name] = grown(self._amounts[name], links, 0)
            # numpy adds to one dimension several times as fast as to two.
            np.add.at(sums.reshape(-1), place, getattr(samples, name))
        self._is_busy = grown(self._is_busy, links, 0)
        self._is_busy[link[2 * samples.sent_bits >= samples.possible_bits]] = True


def _overload_from(tally: Tally, run: RunInfo) -> float:
    """Seconds of the experiment; 0 if queues were full during the warm-up already."""
    if not tally.has("overload_ns"):
        return to_seconds(run.duration)
    return to_seconds(max(0, tally.number("overload_ns") - run.origin))
