"""Computes the latch and the loss timeout of one stream from delays, lateness and loss ratio.

Does not know which messages are buffered.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.transport.order.calibration import Calibration
from penstock.transport.order.delay_estimator import DelayEstimator
from penstock.transport.order.delay_law import tail
from penstock.transport.order.latch import ConditionalLatch, conditional_latch_ns, inflated_scale_ns
from penstock.transport.order.missing import MissingEntry
from penstock.transport.settings import OrderingSettings

# Prior of the loss ratio: 1 %, with the weight of 100 messages.
_PRIOR_LOST: Final = 1
_PRIOR_RECEIVED: Final = 100
_HALVE_AT: Final = 10_000


class WaitPolicy:
    """Wait times of one stream; `estimator` may be shared with other streams."""

    __slots__ = ("_calibration", "_lost", "estimator", "received")

    def __init__(self, estimator: DelayEstimator) -> None:
        self.estimator = estimator
        self._calibration: Calibration | None = None
        # Matching messages received and lost; both are halved when `received` exceeds 10 000.
        self.received = 0
        self._lost = 0

    def latch_ns(self, missing: MissingEntry, ordering: OrderingSettings) -> Duration:
        """Return the latch: how long from now later messages wait for this one."""
        latch, estimator = ordering.latch, self.estimator
        assert latch is not None
        missing.scale_ns = estimator.scale_ns
        if type(latch) is not ConditionalLatch:
            return latch.wait_ns(missing.sent_before_ns, estimator)
        if missing.is_possible:
            # [§3.3] Its absence is no evidence of lateness: it may not match at all.
            return latch.without_evidence.wait_ns(missing.sent_before_ns, estimator)
        late_share = self._late_share(latch.chance, missing)
        if late_share >= 1:
            return 0
        return conditional_latch_ns(
            self._corrected_probability(late_share, ordering), missing.sent_before_ns, estimator
        )

    def loss_timeout_ns(self, sent_before_ns: Duration, ordering: OrderingSettings) -> Duration:
        """[F12] Return the time after which only a share `loss_share` of losses is false.

        The missing message was sent `sent_before_ns` before the one that revealed it.
        """
        probability = self._corrected_probability(ordering.loss_share * self._loss_ratio, ordering)
        return conditional_latch_ns(probability, sent_before_ns, self.estimator)

    def on_arrival(self, missing: MissingEntry, now: Instant) -> None:
        """Calibrate with the probability that the law gave to an arrival this late or later."""
        scale_ns = missing.scale_ns
        probability_before = tail(missing.sent_before_ns / scale_ns) if scale_ns > 0 else 0
        if probability_before > 0:
            # Not before its detection, even if the clock was set back since.
            lateness_ns = missing.sent_before_ns + max(0, now - missing.detected_ns)
            self._calibration = self._calibration or Calibration()
            self._calibration.on_arrival(tail(lateness_ns / scale_ns) / probability_before)

    def on_loss(self) -> None:
        """Count a declared loss."""
        self._lost += 1
        if self.received > _HALVE_AT:
            self.received //= 2
            self._lost //= 2

    def on_retraction(self) -> None:
        """Undo the count of a loss that was false."""
        self._lost = max(0, self._lost - 1)

    @property
    def _loss_ratio(self) -> float:
        """The share of messages that never arrive."""
        return (self._lost + _PRIOR_LOST) / (self.received + self._lost + _PRIOR_RECEIVED)

    def _late_share(self, violation_probability: float, missing: MissingEntry) -> float:
        """Return the share of arriving messages that may be late.

        It is chosen so that of all missing messages, lost ones included, a share
        `violation_probability` is late. A message sent long before the one that reveals it
        is probably lost, and waiting for it would be useless.
        """
        b = inflated_scale_ns(violation_probability, missing.sent_before_ns, self.estimator)
        slow_share = tail(missing.sent_before_ns / b) if b > 0 else 0.0
        return (
            violation_probability * (slow_share + self._loss_ratio) / slow_share
            if slow_share > 0
            else 1.0
        )

    def _corrected_probability(self, probability: float, ordering: OrderingSettings) -> float:
        if self._calibration is None or not ordering.empirical:
            return probability
        return self._calibration.corrected_probability(probability)
