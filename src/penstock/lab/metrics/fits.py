"""The papers' laws held against samples: delays, and differences of consecutive delays.

For each distance in brokers: a hypoexponential law of as many phases is fitted
to the delays, less the links' own; the sum of two Laplacians to the differences.
Histograms of both are kept, with what draws the law beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
import scipy

from penstock.kernel.instant import MILLISECOND
from penstock.lab.metrics.base import Context, Figure, Floats, Ints, Metric, pair_codes, spread
from penstock.metrics.laws import hypoexponential, two_laplace
from penstock.metrics.laws.hypoexponential import HypoexponentialFit
from penstock.metrics.laws.ks import ks_law
from penstock.metrics.sketches import Sketch, grid_for
from penstock.trace.batch import Batch

_SAMPLES: Final = 6500
# With fewer, or with no variation, there is no law to speak of.
_ENOUGH: Final = 100
_TAILS: Final = (0.05, 0.01)
# A difference shares a message with the next: judged by every other one.
_THIN: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """Delays of one pair in the order of publication, and the laws that fit best."""

    brokers: int
    delays_ms: Floats
    # The links' own; `law` is that of the rest.
    links_ms: float
    law: HypoexponentialFit
    # Of the differences' two Laplacians.
    scale_ms: float

    @property
    def variable_ms(self) -> Floats:
        return self.delays_ms - self.links_ms

    @property
    def differences_ms(self) -> Floats:
        return np.diff(self.delays_ms)


class Fits(Metric):
    """How far each law lies from what was seen."""

    TABLES: ClassVar[tuple[str, ...]] = ("arrivals",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._rows: dict[str, list[Ints]] = {"pair": [], "seq": [], "delay": [], "brokers": []}

    def take(self, batch: Batch) -> None:
        """Keeps what is needed."""
        columns = batch.columns
        self._rows["pair"].append(pair_codes(batch))
        self._rows["seq"].append(columns["seq"].values)
        self._rows["brokers"].append(columns["brokers"].values)
        self._rows["delay"].append(columns["arrived_ns"].values - columns["published_ns"].values)

    def figures(self) -> dict[str, Figure]:
        """Of each distance."""
        found: dict[str, Figure] = {}
        for fitted in self._fitted:
            found |= _of_delays(fitted) | _of_differences(fitted)
        return found

    def sketches(self) -> dict[str, Sketch]:
        """Of each distance both histograms; delays are whole, with the links' own."""
        found: dict[str, Sketch] = {}
        for one in self._fitted:
            law = [one.links_ms + one.law.constant, *one.law.rates]
            differences = one.differences_ms
            found[f"delays.{one.brokers}"] = grid_for(one.delays_ms).count(one.delays_ms, law)
            found[f"differences.{one.brokers}"] = grid_for(differences).count(
                differences, [one.scale_ms]
            )
        return found

    @cached_property
    def _fitted(self) -> list[_Fitted]:
        """For each distance, the first pair that was that far apart; asked when all was seen."""
        rows = {name: spread(batches) for name, batches in self._rows.items()}
        found = []
        for brokers in np.unique(rows["brokers"]).tolist():
            pair = rows["pair"][rows["brokers"] == brokers][0]
            chosen = rows["pair"] == pair
            in_order = np.argsort(rows["seq"][chosen], kind="stable")
            delays_ms = (rows["delay"][chosen] / MILLISECOND)[in_order][:_SAMPLES]
            if delays_ms.size < _ENOUGH or not delays_ms.std():
                continue
            links_ms = (brokers - 1) * self.context.measure.hop_ms
            found.append(
                _Fitted(
                    brokers=brokers,
                    delays_ms=delays_ms,
                    links_ms=links_ms,
                    law=hypoexponential.fit(delays_ms - links_ms, brokers),
                    scale_ms=two_laplace.scale(np.diff(delays_ms)),
                )
            )
        return found


def _of_delays(fitted: _Fitted) -> dict[str, Figure]:
    variable_ms, brokers = fitted.variable_ms, fitted.brokers
    ks = ks_law(variable_ms, fitted.law.cdf)
    floor_ms = min(0.0, float(variable_ms.min()) - 1e-6)
    gamma_law = scipy.stats.gamma(*scipy.stats.gamma.fit(variable_ms, floc=floor_ms))
    gamma = ks_law(variable_ms, gamma_law.cdf)
    return {
        f"samples.{brokers}": Figure(variable_ms.size, "messages"),
        f"delay_mean.{brokers}": Figure(float(variable_ms.mean()), "ms"),
        f"delay_ks.{brokers}": Figure(ks.statistic),
        f"delay_ks_p.{brokers}": Figure(ks.p_value),
        f"delay_gamma_ks.{brokers}": Figure(gamma.statistic),
    }


def _of_differences(fitted: _Fitted) -> dict[str, Figure]:
    differences_ms, brokers, b = fitted.differences_ms, fitted.brokers, fitted.scale_ms
    ks = ks_law(differences_ms, lambda x: two_laplace.cdf(x, b), thin=_THIN)
    found = {
        f"difference_scale.{brokers}": Figure(b, "ms"),
        f"difference_ks.{brokers}": Figure(ks.statistic),
        f"difference_ks_p.{brokers}": Figure(ks.p_value),
    }
    for chance in _TAILS:
        latch_ms = float(two_laplace.quantile(1 - chance, b))
        measured = float((differences_ms > latch_ms).mean())
        found[f"tail_{chance:g}.{brokers}"] = Figure(measured)
    return found
