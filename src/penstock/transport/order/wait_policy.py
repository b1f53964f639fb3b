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
from penstock.transport.order.latch import Conditional, conditional_wait_ns, inflated_ns
from penstock.transport.order.missing import Missing
from penstock.transport.settings import OrderingSettings

# Of the chance of loss, before anything is known: one of a hundred, and as good as a hundred seen.
_PRIOR_LOST: Final = 1
_PRIOR_SEEN: Final = 100
_FORGET_AT: Final = 10_000


class Patience:
    """Of one stream; `estimator` may be shared with others."""

    __slots__ = ("_calibration", "_lost", "estimator", "seen")

    def __init__(self, estimator: DelayEstimator) -> None:
        self.estimator = estimator
        self._calibration: Calibration | None = None
        # Messages for us that came, and that did not; halved now and then.
        self.seen = 0
        self._lost = 0

    def wait_ns(self, missing: Missing, ordering: OrderingSettings) -> Duration:
        """The latch: how long after now messages wait for this one."""
        latch, estimator = ordering.latch, self.estimator
        assert latch is not None
        missing.scale_ns = estimator.scale_ns
        if type(latch) is not Conditional:
            return latch.wait_ns(missing.gap_ns, estimator)
        if missing.is_assumed:
            # [§3.3] That it is not here is no evidence: it may never have been for us.
            return latch.unconditional.wait_ns(missing.gap_ns, estimator)
        late = self._late_among_those_that_come(latch.chance, missing)
        if late >= 1:
            return 0
        return conditional_wait_ns(self._corrected(late, ordering), missing.gap_ns, estimator)

    def loss_wait_ns(self, gap_ns: Duration, ordering: OrderingSettings) -> Duration:
        """[F12] So long that of the losses declared only a small share is false.

        They left so long before what revealed them.
        """
        chance = self._corrected(ordering.loss_share * self._loss, ordering)
        return conditional_wait_ns(chance, gap_ns, self.estimator)

    def on_came(self, missing: Missing, now: Instant) -> None:
        """How probable did the model hold it to come so late or later?"""
        scale_ns = missing.scale_ns
        before = tail(missing.gap_ns / scale_ns) if scale_ns > 0 else 0
        if before > 0:
            # Not before it was missed, even if the clock was set back since.
            waited_ns = missing.gap_ns + max(0, now - missing.detected_ns)
            self._calibration = self._calibration or Calibration()
            self._calibration.came(tail(waited_ns / scale_ns) / before)

    def on_lost(self) -> None:
        """One more did not come."""
        self._lost += 1
        if self.seen > _FORGET_AT:
            self.seen //= 2
            self._lost //= 2

    def on_retracted(self) -> None:
        """One that was called lost came."""
        self._lost = max(0, self._lost - 1)

    @property
    def _loss(self) -> float:
        """The share of messages that never come."""
        return (self._lost + _PRIOR_LOST) / (self.seen + self._lost + _PRIOR_SEEN)

    def _late_among_those_that_come(self, chance: float, missing: Missing) -> float:
        """What of those that come may come late, so that `chance` of all that miss do.

        A message that left long before the one that reveals it is hardly on its way
        any more: it is lost, and waiting for it would be in vain.
        """
        b = inflated_ns(chance, missing.gap_ns, self.estimator)
        slow = tail(missing.gap_ns / b) if b > 0 else 0.0
        return chance * (slow + self._loss) / slow if slow > 0 else 1.0

    def _corrected(self, chance: float, ordering: OrderingSettings) -> float:
        if self._calibration is None or not ordering.empirical:
            return chance
        return self._calibration.corrected(chance)
