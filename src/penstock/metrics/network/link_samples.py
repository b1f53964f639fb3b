"""Samples of links within the experiment: the bits a link sent, and those it could have sent.

Links without a limit are left out, since no part of their capacity can be used.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from penstock.kernel.instant import SECOND
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Flags, Floats, Ints

# The columns that are always read.
CAPACITY_COLUMNS: Final = ("sampled_ns", "link", "period_ns", "capacity_bps")


class LinkSamples:
    """Consecutive samples of links that have a limit."""

    def __init__(self, batch: Batch, run: RunInfo) -> None:
        self._batch: Final = batch
        self._run: Final = run
        self._kept: Final = run.sampled_within(batch.integers("sampled_ns")) & batch.present(
            "capacity_bps"
        )

    @cached_property
    def link(self) -> Ints:
        """The code of each sample's link."""
        return self._batch.codes("link")[self._kept]

    @cached_property
    def sampled_ns(self) -> Ints:
        """When each sample was taken, which is the end of the period it describes."""
        return self._batch.integers("sampled_ns")[self._kept]

    @cached_property
    def second(self) -> Ints:
        """The second of the experiment that each sample describes."""
        return self._run.sampled_second(self.sampled_ns)

    @cached_property
    def since_origin_s(self) -> Floats:
        """When each sample was taken, by the experiment's clock."""
        return (self.sampled_ns - self._run.origin) / SECOND

    @cached_property
    def period_s(self) -> Floats:
        """How long a period each sample describes."""
        return self._batch.integers("period_ns")[self._kept] / SECOND

    @cached_property
    def possible_bits(self) -> Floats:
        """How much the link could have sent."""
        return self._batch.integers("capacity_bps")[self._kept] * self.period_s

    @cached_property
    def sent_bits(self) -> Floats:
        """How much the link sent; needs the column `sent_bytes`."""
        return self._batch.integers("sent_bytes")[self._kept].astype(np.float64) * 8


def rate_at(sampled_ns: Ints, rates: Ints, wanted_ns: Ints) -> tuple[Ints, Flags]:
    """The rate of a link at each instant, and whether it was sampled then."""
    if not sampled_ns.size:
        return np.zeros(wanted_ns.size, np.int64), np.zeros(wanted_ns.size, np.bool_)
    order = np.lexsort([rates, sampled_ns])
    # Of several samples at one instant this finds the last, which has the highest rate.
    place = np.searchsorted(sampled_ns[order], wanted_ns, side="right") - 1
    is_known = (place >= 0) & (sampled_ns[order][place] == wanted_ns)
    return rates[order][place], is_known
