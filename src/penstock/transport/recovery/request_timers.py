"""How long to wait before asking for a lost message, or before answering (§3.4).

All who miss a message could ask, and all who have it could answer. Each waits a
time of its own: `first` distances, which all wait, and a part of `width`
distances that is drawn. Who hears another do it first need not do it.

1. `first` and `width` are C1 and C2 where one asks (distance: to the publisher),
   D1 and D2 where one answers (distance [R5]: to who asked).
2. Drawn uniformly, as SRM does, n who share a loss are not silenced unless `width`
   grows with n. The exponential law (RFC 5401) draws most of them late and a few
   early, whatever n is.
3. After each loss both adapt to how often others did the same, and to how long it
   took, by ns-2's rules.

`group` is how many there are, as far as one knows: the peers heard. `draw` is a
number from 0 to 1, of the caller's generator.
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
# What is aimed at: fewer duplicates than one, within a round trip.
_DUPLICATES_HIGH: Final = 1.0
_DUPLICATES_LOW: Final = 0.9
_DUPLICATES_RARE: Final = 0.25
_DELAY_HIGH_RTTS: Final = 1.0
_FARTHER_RATIO: Final = 1.5
_HOLD_DOWN_DISTANCES: Final = 3
# Distances until who is asked to answer at once has answered: there and back, and a little.
_DESIGNATED_REPLY_DISTANCES: Final = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerSettings:
    """Where the timers begin, and how far they may go; G is the size of the group."""

    law: Literal["exponential", "uniform"] = "exponential"
    # C1, then C2.
    ask_first: float = 2.0
    ask_width: float = 2.0
    # D1, then D2; None for log₁₀ G, as SRM has it. The exponential law needs more width than
    # that, and no wait of all.
    answer_first: float | None = None
    answer_width: float | None = None
    # C1 lies within these; D1 goes from the lower one to log₁₀ G; C2 and D2 from `width_min` to G.
    first_min: float = 0.5
    first_max: float = 2.0
    width_min: float = 1.0
    # How often one asks, or hears others ask, before the message is given up.
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
    """C1 and C2 of one publisher; or D1 and D2, when made to answer."""

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
        # None until there is something to adapt to, and D is log₁₀ G: that may grow before.
        self._first: float | None = None
        self._width: float | None = None
        if initial is not None:
            self._first, self._width = initial
        elif for_repairs:
            self._first, self._width = settings.answer_first, settings.answer_width
        else:
            self._first, self._width = settings.ask_first, settings.ask_width
        # On average; None before the first.
        self._duplicates: float | None = None
        self._delay_rtts = 0.0
        # As many as the law is for, where that is known better than by the size of the group.
        self.effective_group_size: float | None = None

    def interval(self, group_size: int) -> tuple[float, float]:
        """`first` and `width`, in distances."""
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
        """From now until one asks or answers; twice as long in each further round."""
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
        """(C1 + C2/2)·d, as requests tell it, whichever the law."""
        first, width = self.interval(group_size)
        return round((first + width / 2) * distance_ns)

    def on_sent_first(self, *, group_size: int) -> None:
        """We did it before anyone else: next time a little earlier, so that it is us again."""
        self._adjust(-0.1, 0, group_size)

    def on_cycle(
        self, duplicates: float, delay_rtts: float, *, is_closest: bool, group_size: int
    ) -> None:
        """One message is done with; others did the same as we so often, the first so late.

        `delay_rtts` is from when we began to wait until somebody did it, in round
        trips (2d); `is_closest` whether we did, and so did one much farther away.
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
    """When to ask for one lost message, how often yet, and when to give it up."""

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
        """Whether, when it is due, it is given up instead of asked for again."""
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
        """Somebody asked, we or another: waits anew, unless it did so just now.

        If one `is_named` to answer at once, nobody asks again before the answer can be
        here; and who named one does so soon after, for all others wait longer.

        [R6] Those that ask at about the same time count once: until half of the
        new wait is over, what others ask in the same `round_` changes nothing. If they
        ask in a later one already, as some who drew little do long before most, it is
        waited anew as well: else all of those most would ask.
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
        """Who is asked from now on may be so far away: as much longer it is waited."""
        self._distance_ns = max(self._distance_ns, distance_ns)

    def _wait_ns(self, group_size: int, draw: float) -> Duration:
        # After the last round one waits for an answer only, and not longer than before it.
        round_ = min(self.round_, self._adaptive_timer.settings.rounds_max - 1)
        return self._adaptive_timer.wait_ns(
            self._distance_ns, group_size=group_size, draw=draw, round_=round_
        )


def random_backoff(longest: float, group_size: float, draw: float) -> float:
    """RFC 5401's: of `group` who draw, few get much less than the longest."""
    # λ = ln G + 1, so e^λ = e·G.
    return longest * log1p(draw * (e * group_size - 1)) / (log(group_size) + 1)


def srm_adjustment(duplicates: float, delay_rtts: float, is_closest: bool) -> tuple[float, float]:
    """What ns-2 adds to `first` and to `width`, given how it was on average."""
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
    """Whether another who did the same is so far away that we are the closest."""
    return other_ns > _FARTHER_RATIO * own_ns


def hold_down_ns(distance_ns: Duration) -> Duration:
    """For so long after a repair, requests for the same message were sent before it came."""
    return _HOLD_DOWN_DISTANCES * distance_ns
