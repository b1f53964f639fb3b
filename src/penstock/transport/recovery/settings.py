"""Settings of recovery, with their bounds."""

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
    """How an endpoint recovers its losses, and what it repairs for other endpoints."""

    # Initial widths exceed SRM's, since the endpoints that share a loss are unknown; they adapt.
    timers: TimerSettings = field(
        default_factory=lambda: TimerSettings(
            ask_first=0.5, ask_width=6.0, answer_first=0.5, answer_width=8.0
        )
    )
    cache: CacheSettings = field(default_factory=CacheSettings)
    # For messages published here: any of them may be requested, and often no other endpoint has
    # them. A burst must not evict the messages before it until they could be requested.
    own_cache: CacheSettings = field(
        default_factory=lambda: CacheSettings(k_min=2_048, k_max=16_384)
    )
    # Whether to cache received messages and repair them for other endpoints.
    volunteers: bool = True
    # Whether to cache and repair published messages; with a single receiver no one else can.
    publisher_answers: bool = True
    # Whether a request designates one endpoint to send a repair at once, so that others need not.
    names_first: bool = True
    # Whether to request digests from publishers whose records reveal too few losses.
    digests: bool = True
    # Whether to request publishers to number messages that match our filters, so that every loss
    # is detected; None: only for predicates that records and digests cannot describe, such as
    # ranges. And the number of other endpoints' filters for which this publisher does so.
    tracks: bool | None = None
    tracked_max: int = 4_096
    # Repairs go to all subscribers of the message ("publish"), to the requester ("unicast"), or
    # to either, by the usual number of requesters ("auto").
    reply: OneOf["auto", "publish", "unicast"] = "auto"
    # With a scope, this endpoint repairs only for endpoints with the same scope; without, for all.
    scope: str | None = None
    # Requests are a traffic class of their own or, if the network has none, messages; the same at
    # all endpoints [R7].
    requests_as: OneOf["class", "message"] = "class"
    # Assumed group size until more peers are heard.
    group_min: int = 1_000
    # Assumed one-way distance to an unknown peer.
    distance_ns: Duration = 100 * MILLISECOND
    # Time after the detection of a loss when the message is given up.
    give_up_ns: Duration = 30 * SECOND
    # Rate limits in frames per second; a burst may use one second's worth.
    requests_mps: float = 200.0
    repairs_mps: float = 500.0
    # Pending requests and pending repairs at the same time.
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
# Chapter 4 of 003: SRM's timers, only subscribers send repairs, always to all.
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
