"""How long one stream waits: for a missing message, and until it is called lost.

Hears how delays vary, how late missing messages come, and how many never do.
Knows nothing of who waits.
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

# Of the chance of loss, before anything is known: one of a hundred, and as good as a hundred seen.
_PRIOR_LOST: Final = 1
_PRIOR_RECEIVED: Final = 100
_HALVE_AT: Final = 10_000


class WaitPolicy:
    """Of one stream; `estimator` may be shared with others."""

    __slots__ = ("_calibration", "_lost", "estimator", "received")

    def __init__(self, estimator: DelayEstimator) -> None:
        self.estimator = estimator
        self._calibration: Calibration | None = None
        # Messages for us that came, and that did not; halved now and then.
        self.received = 0
        self._lost = 0

    def latch_ns(self, missing: MissingEntry, ordering: OrderingSettings) -> Duration:
        """The latch: how long after now messages wait for this one."""
        latch, estimator = ordering.latch, self.estimator
        assert latch is not None
        missing.scale_ns = estimator.scale_ns
        if type(latch) is not ConditionalLatch:
            return latch.wait_ns(missing.sent_before_ns, estimator)
        if missing.is_possible:
            # [§3.3] That it is not here is no evidence: it may never have been for us.
            return latch.without_evidence.wait_ns(missing.sent_before_ns, estimator)
        late_share = self._late_share(latch.chance, missing)
        if late_share >= 1:
            return 0
        return conditional_latch_ns(
            self._corrected_probability(late_share, ordering), missing.sent_before_ns, estimator
        )

    def loss_timeout_ns(self, sent_before_ns: Duration, ordering: OrderingSettings) -> Duration:
        """[F12] So long that of the losses declared only a small share is false.

        They left so long before what revealed them.
        """
        probability = self._corrected_probability(ordering.loss_share * self._loss_ratio, ordering)
        return conditional_latch_ns(probability, sent_before_ns, self.estimator)

    def on_arrival(self, missing: MissingEntry, now: Instant) -> None:
        """How probable did the model hold it to come so late or later?"""
        scale_ns = missing.scale_ns
        probability_before = tail(missing.sent_before_ns / scale_ns) if scale_ns > 0 else 0
        if probability_before > 0:
            # Not before it was missed, even if the clock was set back since.
            lateness_ns = missing.sent_before_ns + max(0, now - missing.detected_ns)
            self._calibration = self._calibration or Calibration()
            self._calibration.on_arrival(tail(lateness_ns / scale_ns) / probability_before)

    def on_loss(self) -> None:
        """One more did not come."""
        self._lost += 1
        if self.received > _HALVE_AT:
            self.received //= 2
            self._lost //= 2

    def on_retraction(self) -> None:
        """One that was called lost came."""
        self._lost = max(0, self._lost - 1)

    @property
    def _loss_ratio(self) -> float:
        """The share of messages that never come."""
        return (self._lost + _PRIOR_LOST) / (self.received + self._lost + _PRIOR_RECEIVED)

    def _late_share(self, violation_probability: float, missing: MissingEntry) -> float:
        """What of those that come may come late, so that `chance` of all that miss do.

        A message that left long before the one that reveals it is hardly on its way
        any more: it is lost, and waiting for it would be in vain.
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
