"""The settings of the transport, with their bounds.

`DEFAULT` suits most applications, `OFF` delivers messages in order of arrival, and
`literal` is the paper's algorithm 3.1. Does not know the experiment file or options.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from penstock.content.bloom import BloomParams
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.order import delay_estimator, latch
from penstock.transport.order.delay_estimator import EstimatorSettings
from penstock.transport.order.latch import LATCH_MAX_NS, PROBABILITY_MIN, ConditionalLatch, Latch
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.limits import RECORD_ENTRIES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingSettings:
    """How one subscription orders each publisher's messages."""

    # None delivers messages as they arrive.
    latch: Latch | None = field(default_factory=ConditionalLatch)
    # Correct the latch by the observed lateness where that contradicts the delay law.
    empirical: bool = True
    estimator: EstimatorSettings = field(default_factory=EstimatorSettings)
    # Number of a record's newest entries that are used; 0 is the basic mode, in which every
    # message in a gap may match and blocks the messages after it.
    record_used: int = RECORD_ENTRIES_MAX
    # Also wait for messages that no record entry describes, as the paper does.
    is_cautious: bool = False
    # Use one latch, that of the latest missing message, for all that one record reveals.
    is_single: bool = False
    # Test entries as Bloom sets of this size, as the paper does, instead of by fingerprints.
    bloom: BloomParams | None = None
    # Upper bound of every wait, whatever the latch.
    max_delay_ns: Duration = LATCH_MAX_NS
    late: Literal["deliver", "drop"] = "deliver"
    # [F12] A loss is declared once at most this share of the declared losses is false; 0 declares
    # it when the latch expires.
    loss_share: float = 0.1
    # How long after its loss a message may still arrive.
    remember_ns: Duration = 10 * SECOND
    # With recovery, how long later messages wait for the repair of a missing one.
    hold_for_repair_ns: Duration = 0
    held_max: int = 1_000
    missing_max: int = 1_000

    def __post_init__(self) -> None:
        if not 0 <= self.max_delay_ns <= LATCH_MAX_NS:
            raise UsageError(f"max_delay lies within 0 and {LATCH_MAX_NS / SECOND:g} s")
        if self.late not in ("deliver", "drop"):
            raise UsageError(f"late is 'deliver' or 'drop', not {self.late!r}")
        if not 0 <= self.record_used <= RECORD_ENTRIES_MAX:
            raise UsageError(f"record_used lies within 0 and {RECORD_ENTRIES_MAX}")
        if self.loss_share and not PROBABILITY_MIN <= self.loss_share <= 1:
            raise UsageError(f"loss_share is 0, or lies within {PROBABILITY_MIN:g} and 1")
        if not 0 <= self.hold_for_repair_ns <= LATCH_MAX_NS:
            raise UsageError(f"hold_for_repair lies within 0 and {LATCH_MAX_NS / SECOND:g} s")
        if self.held_max < 1 or self.missing_max < 1 or self.remember_ns < 0:
            raise UsageError("held_max and missing_max are at least 1, remember_ns at least 0")


DEFAULT: Final = OrderingSettings()
OFF: Final = OrderingSettings(latch=None)


def literal(
    chance: float = 0.05, *, record_used: int = RECORD_ENTRIES_MAX, as_printed: bool = False
) -> OrderingSettings:
    """Algorithm 3.1, which declares a loss when the latch expires; P-x-y of the paper."""
    return OrderingSettings(
        latch=latch.LiteralLatch(chance, as_printed),
        empirical=False,
        estimator=delay_estimator.LITERAL,
        record_used=record_used,
        is_cautious=True,
        is_single=True,
        bloom=BloomParams(128, 3),
        loss_share=0,
    )


def constant(latch_ns: Duration, *, record_used: int = 0) -> OrderingSettings:
    """The same latch for all messages; CST-t of the paper, which uses no record."""
    return OrderingSettings(
        latch=latch.ConstantLatch(latch_ns), empirical=False, record_used=record_used
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """The record of earlier messages that a publisher adds to every message."""

    # Maximum number of entries; with `cover_ns`, only messages sent within that time.
    size: int = 10
    cover_ns: Duration | None = None
    # Attributes whose numeric values are sent beside the fingerprints, to test ranges.
    numbers: tuple[str, ...] = ()
    # Write entries as Bloom sets, as the paper does.
    bloom: BloomParams | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.size <= RECORD_ENTRIES_MAX:
            raise UsageError(f"a record has 0 to {RECORD_ENTRIES_MAX} entries, not {self.size}")
        if self.cover_ns is not None and self.cover_ns <= 0:
            raise UsageError("an adaptive record covers a time above 0")
        numbers: object = self.numbers
        if isinstance(numbers, str):
            # A string would be read as a tuple of one-letter names.
            raise UsageError(f'numbers is a tuple of names: write ("{numbers}",)')


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Settings of the whole endpoint."""

    record: RecordSettings = field(default_factory=RecordSettings)
    # Maximum number of known publishers; the least recently heard is evicted first.
    publishers_max: int = 16_384
    # Maximum number of missing messages over all publishers and subscriptions.
    missing_total_max: int = 65_536
    # Interval over which the send rate in headers is measured.
    send_rate_interval_ns: Duration = SECOND
    # None turns recovery of lost messages off.
    recovery: RecoverySettings | None = None
    # None turns congestion control off.
    congestion: CongestionSettings | None = None

    def __post_init__(self) -> None:
        if (
            min(self.publishers_max, self.missing_total_max) < 1
            or self.send_rate_interval_ns < MILLISECOND
        ):
            raise UsageError(
                "publishers_max and missing_total_max are at least 1,"
                " send_rate_interval_ns at least a millisecond"
            )
