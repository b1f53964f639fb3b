"""What a caller may choose of the transport, with its bounds.

`DEFAULT` is what most want, `OFF` hands over what arrives as it arrives, and
`literal` is the paper's algorithm 3.1.
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

    # None hands messages over as they arrive.
    latch: Latch | None = field(default_factory=ConditionalLatch)
    # Where the parametric latch does not fit what is seen, the seen lateness takes its place.
    empirical: bool = True
    estimator: EstimatorSettings = field(default_factory=EstimatorSettings)
    # How many of a record's newest entries are looked at; 0 is the basic mode, which holds
    # whatever comes after a gap for the number just before it.
    record_used: int = RECORD_ENTRIES_MAX
    # Whether to wait also for what no entry tells of (the paper does), or that may not match.
    is_cautious: bool = False
    # Whether one latch, that of the latest missing number, holds for all that a message reveals.
    is_single: bool = False
    # Test entries as Bloom sets of this size, as the paper does, instead of by fingerprints.
    bloom: BloomParams | None = None
    # No message waits longer, whatever the latch says.
    max_delay_ns: Duration = LATCH_MAX_NS
    late: Literal["deliver", "drop"] = "deliver"
    # [F12] A loss is declared when so small a share of the losses would be false; 0 declares it
    # as soon as the latch is over.
    loss_share: float = 0.1
    # How long a lost number may still come.
    remember_ns: Duration = 10 * SECOND
    # What comes after a lost message waits so long for its repair, where there is recovery.
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
    """Algorithm 3.1, a loss being declared when the latch is over; P-x-y of the paper."""
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
    """The same latch for all; CST-t of the paper, which knows no record."""
    return OrderingSettings(
        latch=latch.ConstantLatch(latch_ns), empirical=False, record_used=record_used
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """What a publisher says of its past in every message."""

    # At most so many entries; if `cover_ns` is given, only as many as left within that time.
    size: int = 10
    cover_ns: Duration | None = None
    # Attributes whose numbers travel beside the fingerprints, so that ranges can be tested.
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
            # It would be taken for the attributes that its letters name.
            raise UsageError(f'numbers is a tuple of names: write ("{numbers}",)')


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Of the whole endpoint."""

    record: RecordSettings = field(default_factory=RecordSettings)
    # Publishers remembered; those heard longest ago are forgotten first.
    publishers_max: int = 16_384
    # Numbers missing, of all publishers and subscriptions together.
    missing_total_max: int = 65_536
    # The rate in headers is that of the last so long.
    send_rate_interval_ns: Duration = SECOND
    # How lost messages are got back; None for not at all.
    recovery: RecoverySettings | None = None
    # How what is published is slowed down to what the network bears; None for not at all.
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
