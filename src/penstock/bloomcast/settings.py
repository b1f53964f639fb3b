"""All defaults of casts, in one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from penstock.bloomcast.controller.planner import RelayChoice
from penstock.bloomcast.filters.packet_filter import ONES_MAX
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.retry import Backoff
from penstock.wire.frames.cast.base import TRAIN_SYMBOLS_MAX
from penstock.wire.frames.cast.transfer import RepairChoice


class Variant(Enum):
    """Which protocol a network speaks: all of its nodes the same."""

    DEFAULT = auto()
    # As paper 004 prints it.
    LITERAL = auto()


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

    relay_choice: RelayChoice = RelayChoice.HUB
    items_max: int = 1_024
    # Of one item.
    subscribers_max: int = 65_535
    # Joins and leaves of a running transfer are planned together.
    replan_delay_ns: Duration = 200 * MILLISECOND
    # How long a transfer waits for receivers after the first, if nobody says.
    wait_ns: Duration = 5 * SECOND
    # A subscriber that has restarted has so long to say that it wants the object still.
    rejoin_ns: Duration = 3 * SECOND
    # A rendezvous point without a map repeats its requests; whoever does not is forgotten.
    request_ns: Duration = 10 * SECOND
    request_forget_ns: Duration = 30 * SECOND
    # A segment's filters have at most so many ones.
    filter_ones_max: int = ONES_MAX


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
    # Nor are others kept waiting for one that needs as much as before, after so many generations
    # and so long: whoever loses half of all symbols gets none of twenty once in a million times.
    stuck_generations: int = 20
    stuck_ns: Duration = 30 * SECOND
    # Nor is one that is not reached waited for so long when all others are done, or for so long
    # when there are no others.
    unreached_ns: Duration = 10 * SECOND
    # While an end is silent, each END waits twice as long for it, so often.
    hold_doublings_max: int = 5
    groups_max: int = 1_024
    # A relay keeps a transfer so long without a frame of it; every head so long after its end.
    forget_ns: Duration = 60 * SECOND
    linger_ns: Duration = 5 * SECOND
    # Who has not answered FIRST or END is asked again, each time after twice as long.
    remind_ns: Duration = 250 * MILLISECOND
    remind_max_ns: Duration = 2 * SECOND


@dataclass(frozen=True, kw_only=True)
class PublisherSettings:
    """How a publisher sends."""

    # At most so many bytes of symbols a second; None: as many as the network bears.
    rate_bps: int | None = None
    # A train is what is sent in `train_ns`, and no more than so many symbols.
    train_symbols: int = TRAIN_SYMBOLS_MAX
    train_ns: Duration = 2 * MILLISECOND
    # An offer is repeated until there is a plan for it.
    advertise_ns: Duration = 5 * SECOND
    # While nobody can be reached, or nothing is needed and not all are done, END is repeated, each
    # time after twice as long.
    idle_ns: Duration = 50 * MILLISECOND
    idle_max_ns: Duration = 2 * SECOND
    # FIRST, END and STOP are sent so often, half a round trip apart.
    copies: int = 3
    # Whether what was lost is sent again itself, or repair symbols in its place.
    repair: RepairChoice = RepairChoice.AUTO
    # Of needs that are sent again as repair symbols: losses of repairs, and a margin.
    repair_margin: float = 1.2
    repair_threshold: float = 0.2


class StreamOverflow(Enum):
    """What becomes of a stream of which no more blocks may be open."""

    # Its writer is told to wait.
    BLOCK = auto()
    # The oldest open block is given up.
    DROP = auto()


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How a stream is cut into blocks."""

    block_symbols: int = 4_000
    # A block takes no more so long after its first symbol.
    flush_ns: Duration = 250 * MILLISECOND
    overflow: StreamOverflow = StreamOverflow.BLOCK


@dataclass(frozen=True, kw_only=True)
class RateSettings:
    """Congestion control: what subscribers allow, and what the publisher makes of it."""

    # Without, a publisher sends at `PublisherSettings.rate_bps`, or at `uncontrolled_bps`.
    is_controlled: bool = True
    uncontrolled_bps: int = 125_000_000
    # In bytes a second: 10 Mbit/s.
    first_bps: int = 1_250_000
    # The rate is never lower; a receiver that bears less for `slow_ns` is left behind.
    rate_min_bps: int | None = None
    slow_ns: Duration = 5 * SECOND
    round_trip_ns: Duration = 100 * MILLISECOND
    # Round trips of local networks are too short to measure a rate in.
    interval_min_ns: Duration = 20 * MILLISECOND
    silence_min_ns: Duration = SECOND
    # Of those who may have the same to say, for the time that reports are held back.
    receivers_assumed: int = 1_000


@dataclass(frozen=True, kw_only=True)
class SubscriberSettings:
    """How a subscriber reports."""

    # A report is held back for a random time below.
    report_delay_ns: Duration = 10 * MILLISECOND
    report_repeats_max: int = 5
    # Without FIRST, SUBSCRIBE is repeated.
    subscribe_ns: Duration = SECOND
    # So it is after so long a silence, and then after twice as long: the publisher may have begun
    # again, with a controller that does not know who is there.
    resubscribe_ns: Duration = 3 * SECOND
    # FIRST is asked for no more often than this.
    first_request_ns: Duration = 200 * MILLISECOND
    # A transfer of which nothing was heard for so long has failed.
    silence_ns: Duration = 60 * SECOND


@dataclass(frozen=True, kw_only=True)
class LiteralSettings:
    """Of the variant of that name: what its publisher must know of the network to wait."""

    # A relay point holds NAKs for so long, to merge them with others.
    hold_ns: Duration = 100 * MILLISECOND
    # To the farthest subscriber.
    hops: int = 10
    link_delay_ns: Duration = 5 * MILLISECOND


@dataclass(frozen=True, kw_only=True)
class CastSettings:
    """All of them."""

    variant: Variant = Variant.DEFAULT
    # Routers drop packets whose filters have more.
    forwarded_ones_max: int = ONES_MAX

    discovery: DiscoverySettings = DiscoverySettings()
    controller: ControllerSettings = ControllerSettings()
    head: HeadSettings = HeadSettings()
    publisher: PublisherSettings = PublisherSettings()
    stream: StreamSettings = StreamSettings()
    rate: RateSettings = RateSettings()
    subscriber: SubscriberSettings = SubscriberSettings()
    literal: LiteralSettings = LiteralSettings()
