"""For how long a host gets nothing of a stream although messages are there that it wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND, Duration, seconds
from penstock.metrics.base import Entity, Metric, Output
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Ints

_COLUMNS: Final = ("sampled_ns", "period_ns", "wanted_messages", "delivered_messages")
_NAMES: Final = ("broker", "pubend")


class StreamSilence(Metric[Batch]):
    """Keeps samples within the experiment, to go through them stream by stream."""

    READS: ClassVar = {"streams": (*_COLUMNS, *_NAMES)}
    KEEPS_BYTES_PER_ROW: ClassVar = 48
    OUTPUTS: ClassVar = (
        Output(
            name="stream_silence",
            unit="s",
            entity=Entity.HOST,
            phased=True,
            meaning="the longest time for which a pubend delivered nothing at a broker, from the"
            " first message on that was wanted there",
        ),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        # One array of each batch: a row for each column.
        self._kept: Final[list[Ints]] = []

    def update(self, batch: Batch) -> None:
        """Keeps the next samples."""
        columns = [batch.integers(name) for name in _COLUMNS]
        columns += [batch.codes(name) for name in _NAMES]
        self._kept.append(np.stack(columns)[:, self.run.sampled_within(columns[0])])

    def finish(self, out: Results) -> None:
        """The worst pubend of each broker that wants anything."""
        kept = np.concatenate([np.zeros((6, 0), np.int64), *self._kept], axis=1)
        sampled_ns, period_ns, wanted, delivered, broker, pubend = kept[
            :, np.argsort(kept[0], kind="stable")
        ]
        names = self.run.codes.names("broker")
        for host in np.unique(broker[wanted > 0]).tolist():
            pubends = np.unique(pubend[broker == host]).tolist()
            for phase, low_s, high_s in self.run.spans():
                low, high = (self.run.origin + seconds(bound) for bound in (low_s, high_s))
                inside = (broker == host) & (sampled_ns > low) & (sampled_ns <= high)
                if not inside.any():
                    continue
                rows = [inside & (pubend == each) for each in pubends]
                longest_ns = max(
                    longest_silence_ns(period_ns[own], wanted[own], delivered[own]) for own in rows
                )
                out.add_value(
                    "stream_silence", longest_ns / SECOND, entity=names[host], phase=phase
                )


def longest_silence_ns(
    period_ns: Iterable[Duration], wanted: Iterable[int], delivered: Iterable[int]
) -> Duration:
    """Of consecutive samples; 0 if something wanted always came in the same sample."""
    longest = silent = 0
    for period, due, got in zip(period_ns, wanted, delivered, strict=True):
        if got:
            silent = 0
        elif due or silent:
            silent += int(period)
            longest = max(longest, silent)
    return longest
