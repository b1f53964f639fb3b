"""The bottleneck: the link that used the largest part of its capacity during the experiment.

A metric apart from `links`: which link it is turns out at the end, and how soon it filled up in
a phase takes its samples one by one. `links` needs only sums.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.metrics.base import Metric, Output, share
from penstock.metrics.network.link_samples import CAPACITY_COLUMNS, LinkSamples
from penstock.metrics.network.sums import added
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Flags, Floats, Ints

# A link is full when it uses this share of its capacity, over so many seconds.
_FULL: Final = 0.95
_SMOOTH_S: Final = 0.5


class Bottleneck(Metric[Batch]):
    """Keeps sums of all links, and their samples within phases."""

    READS: ClassVar = {"links": (*CAPACITY_COLUMNS, "sent_bytes")}
    KEEPS_BYTES_PER_ROW: ClassVar = 32
    OUTPUTS: ClassVar = (
        Output(
            name="bottleneck_use",
            unit="1",
            phased=True,
            meaning="bits that the busiest link sent by bits that it could have sent",
        ),
        Output(
            name="filled_after",
            unit="s",
            phased=True,
            meaning="how long into a phase the busiest link was first used to 95 % over half a"
            " second; the length of the phase if it never was",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # By link.
        self._sent_bits: Floats = np.zeros(0)
        self._possible_bits: Floats = np.zeros(0)
        # Samples within phases: link, second, bits sent, bits possible.
        self._samples: list[tuple[Ints, Floats, Floats, Floats]] = []

    def update(self, batch: Batch) -> None:
        """Adds the next samples."""
        samples = LinkSamples(batch, self.run)
        self._sent_bits = added(self._sent_bits, samples.link, samples.sent_bits)
        self._possible_bits = added(self._possible_bits, samples.link, samples.possible_bits)
        if not self.run.phase_bounds:
            return
        at_s = samples.since_origin_s
        kept = np.zeros(at_s.size, np.bool_)
        for low_s, high_s in self.run.phase_bounds.values():
            kept |= _sampled_between(at_s, low_s, high_s)
        self._samples.append(
            (
                samples.link[kept],
                at_s[kept],
                samples.sent_bits[kept],
                samples.possible_bits[kept],
            )
        )

    def finish(self, out: Results) -> None:
        """Reports the use of the busiest link, in all and by phase; nothing if none has a limit."""
        limited = np.flatnonzero(self._possible_bits)
        if not limited.size:
            return
        use = self._sent_bits[limited] / self._possible_bits[limited]
        out.add_value("bottleneck_use", use.max())
        if not self._samples:
            return
        link, at_s, sent_bits, possible_bits = map(np.concatenate, zip(*self._samples, strict=True))
        is_busiest = link == limited[use.argmax()]
        for phase, (low_s, high_s) in self.run.phase_bounds.items():
            inside = is_busiest & _sampled_between(at_s, low_s, high_s)
            if inside.any():
                sent, possible = sent_bits[inside], possible_bits[inside]
                out.add_value("bottleneck_use", share(sent.sum(), possible.sum()), phase=phase)
                use = np.divide(sent, possible, out=np.zeros(sent.size), where=possible > 0)
                out.add_value("filled_after", filled_after(use, high_s - low_s), phase=phase)


def filled_after(use: Floats, span_s: float) -> float:
    """Seconds until evenly spaced samples first say that a link is full; `span_s` if none does."""
    sample_s = span_s / len(use)
    window = min(len(use), max(1, round(_SMOOTH_S / sample_s)))
    smooth = np.convolve(use, np.ones(window) / window, mode="valid")
    full = np.flatnonzero(smooth >= _FULL)
    return (int(full[0]) + window) * sample_s if full.size else span_s


def _sampled_between(at_s: Floats, low_s: float, high_s: float) -> Flags:
    """Which samples describe a time within these bounds: a sample ends what it describes."""
    return np.asarray((at_s > low_s) & (at_s <= high_s))
