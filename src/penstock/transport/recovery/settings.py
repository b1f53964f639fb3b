"""What a caller may choose of recovery, with its bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from typing import Literal as OneOf

from penstock.kernel.checked import check_types
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.transport.recovery import cache_size
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.request_timers import TimerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySettings:
    """How an endpoint gets back what it lost, and what it does for others."""

    # Wider than SRM's to begin with, for who shares a loss is not known; they adapt.
    timers: TimerSettings = field(
        default_factory=lambda: TimerSettings(
            ask_first=0.5, ask_width=6.0, answer_first=0.5, answer_width=8.0
        )
    )
    cache: CacheSettings = field(default_factory=CacheSettings)
    # Of what is published here: others may ask for any of it, and often nobody else has it. A
    # burst must not push out what came just before it, before anybody could ask for that.
    own_cache: CacheSettings = field(
        default_factory=lambda: CacheSettings(k_min=2_048, k_max=16_384)
    )
    # Whether it keeps what it receives, and answers who lost it.
    volunteers: bool = True
    # Whether it keeps what it publishes: of a message with one receiver nobody else has any.
    publisher_answers: bool = True
    # Whether a request names who is to answer at once, so that all others need not.
    names_first: bool = True
    # Whether digests are asked for: where a publisher's records would tell of too few losses.
    digests: bool = True
    # Whether publishers are asked to number what our filters match, so that every loss is seen:
    # if None, of predicates of which records and digests cannot tell, such as ranges. And how
    # many such filters of others a publisher numbers for.
    tracks: bool | None = None
    tracked_max: int = 4_096
    # To all who want the message, to who asked alone, or by how many ask as a rule.
    reply: OneOf["auto", "publish", "unicast"] = "auto"
    # Who says a word answers those only who say it too; who says none answers everybody.
    scope: str | None = None
    # As a class of their own, or where the network has none as messages; for all alike [R7].
    requests_as: OneOf["class", "message"] = "class"
    # So many are thought to share a loss, until more are heard.
    group_min: int = 1_000
    # How far away one is of whom nothing is known.
    distance_ns: Duration = 100 * MILLISECOND
    # Nothing is hoped for any more after so long.
    give_up_ns: Duration = 30 * SECOND
    # Sent a second at most, and so many at once: the second's worth of them.
    requests_mps: float = 200.0
    repairs_mps: float = 500.0
    # Lost messages asked for, and requests to be answered, at the same time.
    wanted_max: int = 4_096
    answers_max: int = 4_096

    def __post_init__(self) -> None:
        check_types(self, CacheSettings, TimerSettings)
        if self.scope == "":
            raise UsageError("scope is a word, or None for none: it cannot be empty")
        if self.reply not in ("auto", "publish", "unicast"):
            raise UsageError(f"reply is 'auto', 'publish' or 'unicast', not {self.reply!r}")
        if self.requests_as not in ("class", "message"):
            raise UsageError(f"requests_as is 'class' or 'message', not {self.requests_as!r}")
        if min(self.group_min, self.wanted_max, self.answers_max) < 1:
            raise UsageError("group_min, wanted_max and answers_max are at least 1")
        if self.tracked_max < 0:
            raise UsageError("tracked_max is at least 0")
        if min(self.requests_mps, self.repairs_mps) <= 0:
            raise UsageError("requests_mps and repairs_mps are above 0")
        if min(self.distance_ns, self.give_up_ns) <= 0:
            raise UsageError("distance_ns and give_up_ns are above 0")


DEFAULT: Final = RecoverySettings()
# Chapter 4 of 003: SRM's timers, only subscribers answer, always to all.
LITERAL: Final = RecoverySettings(
    timers=TimerSettings(law="uniform"),
    cache=cache_size.LITERAL,
    publisher_answers=False,
    names_first=False,
    digests=False,
    tracks=False,
    reply="publish",
    group_min=2,
)
