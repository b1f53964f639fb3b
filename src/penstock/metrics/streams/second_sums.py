"""Amounts of named things by second of the experiment, summed up batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.metrics.codes import grown
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.tally import Array, Tally
from penstock.trace.batch import Batch, Floats, Ints


class SecondSums:
    """Numbers of a table of samples; a sample belongs to the second that it ends.

    `entity` is the column of names; `amounts` are whole numbers, `reals` others.
    """

    def __init__(
        self, run: RunInfo, entity: str, amounts: Iterable[str], *, reals: Iterable[str] = ()
    ) -> None:
        self._run: Final = run
        self._entity: Final = entity
        # By code of the thing and second.
        self._sums: Final[dict[str, NDArray[Any]]] = {
            **{name: np.zeros((0, run.seconds), np.int64) for name in amounts},
            **{name: np.zeros((0, run.seconds)) for name in reals},
        }

    def add_batch(self, batch: Batch, columns: Iterable[str], **amounts: Ints | Floats) -> None:
        """Adds samples: whole numbers of these columns, and amounts of other names."""
        numbers = {name: batch.integers(name) for name in columns}
        self.add(batch.codes(self._entity), batch.integers("sampled_ns"), **numbers, **amounts)

    def add(self, code: Ints, sampled_ns: Ints, **amounts: Ints | Floats) -> None:
        """Adds samples; those outside of the experiment do not count."""
        inside = self._run.sampled_within(sampled_ns)
        second = self._run.sampled_second(sampled_ns)
        place = (code * self._run.seconds + second)[inside]
        for name, values in amounts.items():
            sums = self._sums[name] = grown(self._sums[name], int(code.max(initial=-1)) + 1, 0)
            np.add.at(sums.reshape(-1), place, values[inside])

    def tally(self, out: Tally) -> None:
        """Puts down the seconds of each thing of which any amount is not 0."""
        for code, thing in enumerate(self._run.codes.names(self._entity)):
            own = {name: sums[code] for name, sums in self._sums.items() if code < len(sums)}
            if any(each.any() for each in own.values()):
                for name, values in own.items():
                    out.add(name, values, entity=thing)


def report_seconds(
    out: Results, name: str, values: Floats, at: Ints, run: RunInfo, *, entity: str
) -> None:
    """A series with a value at these seconds; as nearly always, those are all of them."""
    out.add_series(name, values, at=at if at.size < run.seconds else None, entity=entity)


def report_rates(
    out: Results, name: str, by_second: Array, run: RunInfo, *, entity: str = ""
) -> None:
    """A series, and the mean rate of the experiment and of each phase."""
    out.add_series(name, by_second, entity=entity)
    for phase, low_s, high_s in run.spans():
        count = by_second[run.seconds_of(low_s, high_s)].sum()
        if high_s > low_s:
            out.add_value(name, count / (high_s - low_s), entity=entity, phase=phase)
