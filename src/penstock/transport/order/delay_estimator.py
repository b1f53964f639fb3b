"""Estimates the scale of one publisher's delay variation from differences of delays.

A sample is the time between two arrivals minus the time between their departures;
it needs no common clock.

1. [F5] A message is compared with the previous arrival; in the literal form with the
   highest sequence number received, which is biased towards fast messages.
2. [F3, F4] b = (n₀·b₀ + ⅔·Σ|x|)/(n₀ + n): the method of moments, with a prior so that
   the first latch is not 0. The literal form divides by `samples_max` and has no prior.
3. [F16] Departures more than one second apart give no sample, because clocks drift.
4. [F15] A sample far beyond the scale is a clock step, not a delay, and is rejected.
   The third such sample of the same sign in a row is accepted and discards all earlier
   samples.

Times are nanoseconds. Does not know latches, gaps or subscriptions.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.transport.statistics import DelayStatistics

# The delay law has E|X| = 3b/2.
_MOMENT: Final = 2 / 3
_GAP_MAX: Final = SECOND
_OUTLIER_SCALES: Final = 20
_OUTLIER_MIN: Final = 200 * MILLISECOND
_OUTLIERS_ACCEPTED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorSettings:
    """Sample count and prior: `prior_samples` samples of scale `prior_scale_ns`."""

    samples_max: int = 100
    prior_samples: int = 5
    prior_scale_ns: Duration = 5 * MILLISECOND
    literal: bool = False

    def __post_init__(self) -> None:
        if (
            self.samples_max < 1
            or self.prior_samples < 0
            or not 0 <= self.prior_scale_ns <= _GAP_MAX
        ):
            raise UsageError(
                f"a ring needs at least 1 sample, and a prior 0 or more of 0 to {_GAP_MAX} ns"
            )


LITERAL: Final = EstimatorSettings(samples_max=25, prior_samples=0, prior_scale_ns=0, literal=True)


class DelayEstimator:
    """The scale of one publisher's delay differences at one receiver."""

    __slots__ = (
        "_last_arrival_ns",
        "_last_sent_ns",
        "_outlier_run",
        "_samples",
        "_settings",
        "_sum",
        "rejected",
    )

    def __init__(self, settings: EstimatorSettings | None = None) -> None:
        self._settings = settings or EstimatorSettings()
        self._samples: deque[Duration] = deque()
        self._sum = 0
        self._last_sent_ns: Instant | None = None
        self._last_arrival_ns: Instant = 0
        # Number of consecutive outliers of one sign; negative for negative outliers.
        self._outlier_run = 0
        self.rejected = 0

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def samples(self) -> tuple[Duration, ...]:
        """The samples in use, oldest first."""
        return tuple(self._samples)

    @property
    def scale_ns(self) -> float:
        """The current estimate of b."""
        settings = self._settings
        if settings.literal:
            return _MOMENT * self._sum / settings.samples_max
        weight = settings.prior_samples + len(self._samples)
        if not weight:
            return float(settings.prior_scale_ns)
        return (settings.prior_samples * settings.prior_scale_ns + _MOMENT * self._sum) / weight

    @property
    def weight(self) -> int:
        """Number of samples behind the scale, including the prior's."""
        return self._settings.prior_samples + len(self._samples)

    def on_arrival(self, sent_ns: Instant, *, now: Instant, is_highest: bool = True) -> None:
        """Add the arrival of an original message; repairs and duplicates do not count."""
        previous_ns = self._last_sent_ns
        if previous_ns is not None:
            sent_after_ns = sent_ns - previous_ns
            if -_GAP_MAX <= sent_after_ns <= _GAP_MAX:
                self._add_sample(now - self._last_arrival_ns - sent_after_ns)
        if is_highest or not self._settings.literal:
            self._last_sent_ns, self._last_arrival_ns = sent_ns, now

    def statistics(self) -> DelayStatistics:
        """All that it knows."""
        return DelayStatistics(
            settings=self._settings,
            samples=self.samples,
            last_sent_ns=self._last_sent_ns,
            last_arrival_ns=self._last_arrival_ns,
            outlier_run=self._outlier_run,
            rejected=self.rejected,
        )

    def _add_sample(self, difference_ns: Duration) -> None:
        magnitude_ns = difference_ns if difference_ns >= 0 else -difference_ns
        if (
            magnitude_ns > _OUTLIER_MIN
            and not self._settings.literal
            and magnitude_ns > self._outlier_ns()
        ):
            self.rejected += 1
            sign = 1 if difference_ns > 0 else -1
            self._outlier_run = self._outlier_run + sign if self._outlier_run * sign > 0 else sign
            if abs(self._outlier_run) < _OUTLIERS_ACCEPTED:
                return
            self._samples.clear()
            self._sum = 0
        self._outlier_run = 0
        samples = self._samples
        if len(samples) == self._settings.samples_max:
            self._sum -= abs(samples.popleft())
        samples.append(difference_ns)
        self._sum += magnitude_ns

    def _outlier_ns(self) -> float:
        return _OUTLIER_SCALES * self.scale_ns
