"""All defaults of casts, in one table."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.retry import Backoff
from penstock.wire.frames.cast.base import TRAIN_SYMBOLS_MAX


@dataclass(frozen=True, kw_only=True)
class DiscoverySettings:
    """Neighbours, beacons, link states, control frames."""

    hello_ns: Duration = SECOND
    # A neighbour or controller that was not heard for so long is gone.
    silence_ns: Duration = 3 * SECOND
    beacon_ns: Duration = SECOND
    link_state_ns: Duration = 10 * SECOND
    # Changes are told together.
    link_state_delay_ns: Duration = 100 * MILLISECOND
    control_retry: Backoff = field(
        default_factory=lambda: Backoff(first_ns=200 * MILLISECOND, doublings_max=5)
    )
    control_attempts_max: int = 6
    control_pending_max: int = 4_096
    neighbours_max: int = 1_024
    controllers_max: int = 16
    # Per sender, how far back a number may lie behind the latest one.
    replay_window: int = 1_024
    senders_max: int = 8_192


@dataclass(frozen=True, kw_only=True)
class ControllerSettings:
    """Rendezvous point and topology manager."""

    items_max: int = 1_024
    # Of one item.
    subscribers_max: int = 65_535
    # Joins and leaves of a running transfer are planned together.
    replan_delay_ns: Duration = 200 * MILLISECOND
    # How long a transfer waits for receivers after the first, if nobody says.
    wait_ns: Duration = 5 * SECOND


@dataclass(frozen=True, kw_only=True)
class HeadSettings:
    """How the head of a segment waits for its ends."""

    round_trip_ns: Duration = 100 * MILLISECOND
    hold_min_ns: Duration = 50 * MILLISECOND
    hold_max_ns: Duration = 5 * SECOND
    hold_margin_ns: Duration = 20 * MILLISECOND
    # What each level below adds, before it has said anything.
    hold_level_ns: Duration = 200 * MILLISECOND
    # An end is given up when it has answered none of so many ENDs, and nothing for so long.
    silent_ends_max: int = 3
    silence_ns: Duration = 3 * SECOND
    # While an end is silent, each END waits twice as long for it, so often.
    hold_doublings_max: int = 5
    groups_max: int = 1_024
    # A relay keeps a transfer so long without a frame of it.
    forget_ns: Duration = 60 * SECOND


@dataclass(frozen=True, kw_only=True)
class PublisherSettings:
    """How a publisher sends."""

    # Bytes a second, without headers.
    rate_bps: int = 125_000_000
    train_symbols: int = TRAIN_SYMBOLS_MAX
    # FIRST, END and STOP are sent so often, half a round trip apart.
    copies: int = 3
    # Of needs that are sent again as repair symbols: losses of repairs, and a margin.
    repair_margin: float = 1.2
    repair_threshold: float = 0.2


@dataclass(frozen=True, kw_only=True)
class SubscriberSettings:
    """How a subscriber reports."""

    # A report is held back for a random time below.
    report_delay_ns: Duration = 10 * MILLISECOND
    report_repeats_max: int = 5
    # Without FIRST, SUBSCRIBE is repeated.
    subscribe_ns: Duration = SECOND
    # FIRST is asked for no more often than this.
    first_request_ns: Duration = 200 * MILLISECOND
    # A transfer of which nothing was heard for so long has failed.
    silence_ns: Duration = 60 * SECOND


@dataclass(frozen=True, kw_only=True)
class CastSettings:
    """All of them."""

    discovery: DiscoverySettings = DiscoverySettings()
    controller: ControllerSettings = ControllerSettings()
    head: HeadSettings = HeadSettings()
    publisher: PublisherSettings = PublisherSettings()
    subscriber: SubscriberSettings = SubscriberSettings()
