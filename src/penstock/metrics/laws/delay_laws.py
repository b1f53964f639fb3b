"""The papers' laws against samples: delays, and differences of consecutive delays.

For each distance in brokers, takes the first messages of the first pair that was seen so far
apart. A hypoexponential law with a phase for each broker is fitted to their delays without the
links' own, and the sum of two Laplacians to the differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import scipy

from penstock.kernel.instant import MILLISECOND
from penstock.metrics.base import Entity, Metric, Output, Window
from penstock.metrics.laws import hypoexponential, two_laplace
from penstock.metrics.laws.hypoexponential import PHASES_MAX, HypoexponentialFit
from penstock.metrics.laws.ks import ks_law
from penstock.metrics.message_order import publication_order
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.metrics.sketches import grid_for
from penstock.trace.batch import Batch, Floats, Ints

_SAMPLES: Final = 6500
# With fewer, or with no variation, no law is fitted.
_ENOUGH: Final = 100
_TAILS: Final = (0.05, 0.01)
# Consecutive differences share a message and are not independent: tests take every other one.
_THIN: Final = 2
_HOP_MS: Final = 50


def _output(name: str, meaning: str, *, unit: str = "1", kind: str = "value") -> Output:
    return Output(
        name=name,
        unit=unit,
        meaning=f"{meaning}, by number of brokers between them",
        entity=Entity.SETTING,
        kinds=(kind,),
        window=Window.RUN,
    )


class DelayLaws(Metric[Batch]):
    """How far each law lies from what was measured."""

    READS: ClassVar = {
        "arrivals": (
            "subscriber",
            "publisher",
            "epoch",
            "seq",
            "published_ns",
            "arrived_ns",
            "brokers",
        )
    }
    OUTPUTS: ClassVar = (
        _output("samples", "messages of one pair that laws were fitted to", unit="messages"),
        _output("delay_mean", "mean delay of one pair without its links' own", unit="ms"),
        _output("delay_ks", "Kolmogorov-Smirnov distance of delays to a hypoexponential law"),
        _output("delay_ks_p", "p-value of the hypoexponential law of delays"),
        _output("delay_gamma_ks", "Kolmogorov-Smirnov distance of delays to a gamma law"),
        _output("difference_scale", "scale of the two Laplacians of differences", unit="ms"),
        _output("difference_ks", "Kolmogorov-Smirnov distance of differences to two Laplacians"),
        _output("difference_ks_p", "p-value of the two Laplacians of differences"),
        *(
            _output(f"tail_{chance:g}", f"share of differences above the law's {1 - chance:.0%}")
            for chance in _TAILS
        ),
        _output("delays", "delays of one pair and their law", unit="ms", kind="sketch"),
        _output("differences", "differences of delays and their law", unit="ms", kind="sketch"),
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._hop_ms: Final = run.measure.get("hop_ms", _HOP_MS)
        # By number of brokers.
        self._samples: Final[dict[int, _FirstDelays]] = {}

    def update(self, batch: Batch) -> None:
        """Takes the rows of the pair that was chosen for each distance."""
        pairs, brokers = self.run.codes.pair_of(batch), batch.integers("brokers")
        order = publication_order(batch)
        delays_ns = batch.integers("arrived_ns") - batch.integers("published_ns")
        for distance in np.unique(brokers).tolist():
            rows = np.flatnonzero(brokers == distance)
            sample = self._samples.get(distance)
            if sample is None:
                sample = self._samples[distance] = _FirstDelays(int(pairs[rows[0]]))
            rows = rows[pairs[rows] == sample.pair]
            sample.add(order[rows], delays_ns[rows])

    def finish(self, out: Results) -> None:
        """Reports figures and histograms of each distance; delays include the links' own."""
        for fitted in self._fitted():
            _report_delays(fitted, out)
            _report_differences(fitted, out)

    def _fitted(self) -> Iterator[_Fitted]:
        for brokers, sample in sorted(self._samples.items()):
            delays_ms = sample.delays_ns() / MILLISECOND
            if not 1 <= brokers <= PHASES_MAX or delays_ms.size < _ENOUGH or not delays_ms.std():
                continue
            links_ms = (brokers - 1) * self._hop_ms
            yield _Fitted(
                brokers=brokers,
                delays_ms=delays_ms,
                links_ms=links_ms,
                law=hypoexponential.fit(delays_ms - links_ms, brokers),
                scale_ms=two_laplace.scale(np.diff(delays_ms)),
            )


class _FirstDelays:
    """The delays of the first messages that one pair's publisher published."""

    def __init__(self, pair: int) -> None:
        self.pair: Final = pair
        self._orders: list[Ints] = []
        self._delays: list[Ints] = []
        self._rows = 0
        # Messages from here on are not among the first; None while there is room.
        self._end: int | None = None

    def add(self, order: Ints, delays_ns: Ints) -> None:
        """Adds delays with their messages' places in the order of publication."""
        if self._end is not None:
            is_early = order < self._end
            order, delays_ns = order[is_early], delays_ns[is_early]
        self._orders.append(order)
        self._delays.append(delays_ns)
        self._rows += order.size
        if self._rows > 2 * _SAMPLES:
            self._prune()

    def delays_ns(self) -> Ints:
        """In the order of publication."""
        self._prune()
        return self._delays[0]

    def _prune(self) -> None:
        """Sorts what there is, equal ones in the order of arrival, and keeps the first."""
        orders, delays = np.concatenate(self._orders), np.concatenate(self._delays)
        kept = np.argsort(orders, kind="stable")[:_SAMPLES]
        self._orders, self._delays, self._rows = [orders[kept]], [delays[kept]], kept.size
        if kept.size == _SAMPLES:
            self._end = int(self._orders[0][-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """Delays of one pair in the order of publication, and the laws that fit them best."""

    brokers: int
    delays_ms: Floats
    # The links' own delay; `law` is that of the rest.
    links_ms: float
    law: HypoexponentialFit
    # Of the two Laplacians of the differences.
    scale_ms: float


def _report_delays(fitted: _Fitted, out: Results) -> None:
    distance, law = str(fitted.brokers), fitted.law
    variable_ms = fitted.delays_ms - fitted.links_ms
    ks = ks_law(variable_ms, law.cdf)
    floor_ms = min(0.0, float(variable_ms.min()) - 1e-6)
    gamma_law = scipy.stats.gamma(*scipy.stats.gamma.fit(variable_ms, floc=floor_ms))
    out.add_value("samples", variable_ms.size, entity=distance)
    out.add_value("delay_mean", variable_ms.mean(), entity=distance)
    out.add_value("delay_ks", ks.statistic, entity=distance)
    out.add_value("delay_ks_p", ks.p_value, entity=distance)
    gamma_ks = ks_law(variable_ms, gamma_law.cdf).statistic
    out.add_value("delay_gamma_ks", gamma_ks, entity=distance)
    drawn = [fitted.links_ms + law.constant, *law.rates]
    bins = grid_for(fitted.delays_ms).count(fitted.delays_ms, drawn)
    out.add_sketch("delays", bins, entity=distance)


def _report_differences(fitted: _Fitted, out: Results) -> None:
    distance, scale_ms = str(fitted.brokers), fitted.scale_ms
    differences_ms = np.diff(fitted.delays_ms)
    ks = ks_law(differences_ms, lambda x: two_laplace.cdf(x, scale_ms), thin=_THIN)
    out.add_value("difference_scale", scale_ms, entity=distance)
    out.add_value("difference_ks", ks.statistic, entity=distance)
    out.add_value("difference_ks_p", ks.p_value, entity=distance)
    for chance in _TAILS:
        latch_ms = float(two_laplace.quantile(1 - chance, scale_ms))
        measured = float((differences_ms > latch_ms).mean())
        out.add_value(f"tail_{chance:g}", measured, entity=distance)
    bins = grid_for(differences_ms).count(differences_ms, [scale_ms])
    out.add_sketch("differences", bins, entity=distance)
