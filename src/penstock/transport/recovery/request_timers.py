"""Computes the random waits before a request or a repair is sent (§3.4).

Every endpoint that lost a message could request it, and every endpoint that has it could send a
repair. Each waits `first` distances, plus a random part of `width` distances; an endpoint that
sees another one send first need not send.

1. `first` and `width` are C1 and C2 for requests (distance: to the publisher), D1 and D2 for
   repairs (distance [R5]: to the requester).
2. With uniform waits, as in SRM, n endpoints that share a loss suppress one another only if
   `width` grows with n. With the exponential law (RFC 5401) most waits are long and a few are
   short, whatever n is.
3. After each loss, `first` and `width` adapt to the number of duplicates and to the delay, by the
   rules of ns-2.

`group_size` is the number of endpoints as far as known: the peers heard. `draw` is a random value
from 0 to 1 of the caller's generator. This module sends nothing and knows no frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, log1p, log10
from typing import Final, Literal

from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration, Instant

_SMOOTHING: Final = 1 / 4
_GROUP_SIZE_MIN: Final = 2
# The target: less than one duplicate, and a delay of at most one round trip.
_DUPLICATES_HIGH: Final = 1.0
_DUPLICATES_LOW: Final = 0.9
_DUPLICATES_RARE: Final = 0.25
_DELAY_HIGH_RTTS: Final = 1.0
_FARTHER_RATIO: Final = 1.5
_HOLD_DOWN_DISTANCES: Final = 3
# Time for a designated repairer's repair to arrive, in distances: a round trip and a margin.
_DESIGNATED_REPLY_DISTANCES: Final = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerSettings:
    """Initial values and bounds of the timers; G is the group size."""

    law: Literal["exponential", "uniform"] = "exponential"
    # C1, then C2.
    ask_first: float = 2.0
    ask_width: float = 2.0
    # D1, then D2; None for log₁₀ G, as in SRM. The exponential law needs a larger D2 than that,
    # and no D1.
    answer_first: float | None = None
    answer_width: float | None = None
    # Bounds of C1; D1 ranges from `first_min` to log₁₀ G, C2 and D2 from `width_min` to G.
    first_min: float = 0.5
    first_max: float = 2.0
    width_min: float = 1.0
    # Rounds of requests, own or overheard, before the message is given up.
    rounds_max: int = 6

    def __post_init__(self) -> None:
        check_types(self)
        if self.law not in ("exponential", "uniform"):
            raise UsageError(f"law is 'exponential' or 'uniform', not {self.law!r}")
        if not 0 < self.first_min <= self.ask_first <= self.first_max:
            raise UsageError("ask_first lies within first_min, which is above 0, and first_max")
        if not 0 <= self.width_min <= self.ask_width:
            raise UsageError("ask_width is at least width_min, which is at least 0")
        if not 1 <= self.rounds_max <= 16:
            raise UsageError(f"rounds_max lies within 1 and 16, not {self.rounds_max}")


class AdaptiveTimer:
    """Adaptive C1 and C2 for one publisher or, with `for_repairs`, D1 and D2."""

    __slots__ = (
        "_delay_rtts",
        "_duplicates",
        "_first",
        "_for_repairs",
        "_width",
        "effective_group_size",
        "settings",
    )

    def __init__(
        self,
        settings: TimerSettings,
        *,
        for_repairs: bool = False,
        initial: tuple[float, float] | None = None,
    ) -> None:
        self.settings: Final = settings
        self._for_repairs: Final = for_repairs
        # None stands for log₁₀ G, which may grow until the first adaptation fixes a value.
        self._first: float | None = None
        self._width: float | None = None
        if initial is not None:
            self._first, self._width = initial
        elif for_repairs:
            self._first, self._width = settings.answer_first, settings.answer_width
        else:
            self._first, self._width = settings.ask_first, settings.ask_width
        # Moving averages; None before the first sample.
        self._duplicates: float | None = None
        self._delay_rtts = 0.0
        # Group size for the exponential law, if known better than by the number of peers.
        self.effective_group_size: float | None = None

    def interval(self, group_size: int) -> tuple[float, float]:
        """Return `first` and `width` within their bounds, in distances."""
        settings, group_size = self.settings, max(_GROUP_SIZE_MIN, group_size)
        log_size = log10(group_size)
        first_max = max(settings.first_min, log_size) if self._for_repairs else settings.first_max
        first = log_size if self._first is None else self._first
        width = log_size if self._width is None else self._width
        return (
            min(max(first, settings.first_min), first_max),
            max(min(width, group_size), settings.width_min),
        )

    def wait_ns(
        self, distance_ns: Duration, *, group_size: int, draw: float, round_: int = 0
    ) -> Duration:
        """Return a random wait, which doubles with each round."""
        first, width = self.interval(group_size)
        is_uniform = self.settings.law == "uniform"
        effective_size = (
            max(_GROUP_SIZE_MIN, group_size)
            if self.effective_group_size is None
            else self.effective_group_size
        )
        random_part = (
            width * draw
            if is_uniform or effective_size <= 1
            else random_backoff(width, effective_size, draw)
        )
        return round((first + random_part) * distance_ns) << round_

    def mean_wait_ns(self, distance_ns: Duration, *, group_size: int) -> Duration:
        """Return (C1 + C2/2)·d, the mean wait that requests report under either law."""
        first, width = self.interval(group_size)
        return round((first + width / 2) * distance_ns)

    def on_sent_first(self, *, group_size: int) -> None:
        """Shorten C1 after sending first, so that the same endpoint sends first next time."""
        self._adjust(-0.1, 0, group_size)

    def on_cycle(
        self, duplicates: float, delay_rtts: float, *, is_closest: bool, group_size: int
    ) -> None:
        """Adapt after one message is done.

        `duplicates` counts the requests or repairs beyond the first. `delay_rtts` is the time
        from the start of our wait to the first of them, in round trips (2d). `is_closest` says
        that both this endpoint and one much farther away sent.
        """
        if self._duplicates is None:
            self._duplicates, self._delay_rtts = duplicates, delay_rtts
        else:
            self._duplicates += _SMOOTHING * (duplicates - self._duplicates)
            self._delay_rtts += _SMOOTHING * (delay_rtts - self._delay_rtts)
        self._adjust(*srm_adjustment(self._duplicates, self._delay_rtts, is_closest), group_size)

    def _adjust(self, first_change: float, width_change: float, group_size: int) -> None:
        first, width = self.interval(group_size)
        self._first, self._width = first + first_change, width + width_change
        self._first, self._width = self.interval(group_size)


class RequestTimer:
    """When to request one lost message next, and when to give it up."""

    __slots__ = ("_adaptive_timer", "_distance_ns", "_ignore_until", "due_at", "round_")

    def __init__(
        self,
        adaptive_timer: AdaptiveTimer,
        distance_ns: Duration,
        *,
        group_size: int,
        draw: float,
        now: Instant,
    ) -> None:
        self._adaptive_timer: Final = adaptive_timer
        self._distance_ns = distance_ns
        self.round_ = 0
        self._ignore_until: Instant | None = None
        self.due_at: Instant = now + self._wait_ns(group_size, draw)

    @property
    def is_expired(self) -> bool:
        """Whether the message is to be given up at `due_at` instead of requested again."""
        return self.round_ >= self._adaptive_timer.settings.rounds_max

    def on_request(
        self,
        *,
        by_other: bool,
        group_size: int,
        draw: float,
        now: Instant,
        round_: int = -1,
        is_designated: bool = False,
    ) -> bool:
        """Restart the wait after a request, ours or another's; return whether `due_at` changed.

        With `is_designated` the request designates a repairer, and no endpoint repeats it before
        the repair can arrive. The endpoint that sent it repeats it soon after that time, since
        all others wait longer.

        [R6] Requests sent at about the same time count once: until half of the new wait has
        passed, another's request of an earlier `round_` changes nothing. One of this round or a
        later one, by an endpoint that drew a short wait, restarts the wait; otherwise most
        endpoints would send a request too.
        """
        if by_other and self._ignore_until is not None and now <= self._ignore_until:
            if round_ < self.round_:
                return False
            self.due_at = now + self._wait_ns(group_size, draw)
            return True
        self.round_ = min(self.round_ + 1, self._adaptive_timer.settings.rounds_max)
        wait_ns = self._wait_ns(group_size, draw)
        if is_designated:
            reply_ns = round(_DESIGNATED_REPLY_DISTANCES * self._distance_ns)
            wait_ns = max(wait_ns, reply_ns) if by_other else reply_ns << self.round_ - 1
        self.due_at = now + wait_ns
        self._ignore_until = now + wait_ns // 2
        return True

    def extend_to(self, distance_ns: Duration) -> None:
        """Scale later waits to at least this distance: the repairer may be that far away."""
        self._distance_ns = max(self._distance_ns, distance_ns)

    def _wait_ns(self, group_size: int, draw: float) -> Duration:
        # The wait after the last round is for a repair only, and does not double again.
        round_ = min(self.round_, self._adaptive_timer.settings.rounds_max - 1)
        return self._adaptive_timer.wait_ns(
            self._distance_ns, group_size=group_size, draw=draw, round_=round_
        )


def random_backoff(longest: float, group_size: float, draw: float) -> float:
    """RFC 5401's random backoff: of `group_size` draws, few are much below `longest`."""
    # λ = ln G + 1, so e^λ = e·G.
    return longest * log1p(draw * (e * group_size - 1)) / (log(group_size) + 1)


def srm_adjustment(duplicates: float, delay_rtts: float, is_closest: bool) -> tuple[float, float]:
    """Return the changes that ns-2 makes to `first` and `width`, given the averages."""
    if is_closest:
        return 0, -0.1
    if duplicates >= _DUPLICATES_HIGH:
        return 0.1, 0.5
    if duplicates < _DUPLICATES_LOW:
        return (
            -0.05 if duplicates < _DUPLICATES_RARE else 0,
            -0.1 if delay_rtts > _DELAY_HIGH_RTTS else 0,
        )
    return 0.05, 0


def is_much_farther(other_ns: Duration, own_ns: Duration) -> bool:
    """Whether another sender is so far away that this endpoint counts as the closest."""
    return other_ns > _FARTHER_RATIO * own_ns


def hold_down_ns(distance_ns: Duration) -> Duration:
    """Return the time after a repair in which arriving requests were sent before it arrived."""
    return _HOLD_DOWN_DISTANCES * distance_ns
