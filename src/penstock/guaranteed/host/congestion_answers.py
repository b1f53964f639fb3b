"""What a host answers when a pubend asks how it is: by one law or another, alerts or reports.

Only reader 0 counts. Whoever catches up by itself, replays or takes messages slowly is nobody's
business but its own; and a host that nobody reads the pubend at answers nothing, for whatever its
link takes, no message waits for it.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from penstock.guaranteed.host.smallest_lag import SmallestLag
from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.settings import CongestionSettings
from penstock.guaranteed.tick import duration_ns, duration_ticks
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Progress,
)

# In stream time: so far behind a host complains, however fast it is.
_BEHIND: Final = duration_ticks(4 * SECOND)
# What was got in less than that is no measure of anything.
_ELAPSED_MIN_NS: Final[Duration] = 100 * MILLISECOND


class Standing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How reader 0 is."""

    # Up to which tick all is known.
    upto: int
    is_recovering: bool
    # How fast that moves, smoothed.
    rate: float
    # Whether anybody reads.
    is_attached: bool
    # Whether the link has said anything since it came up: before, nobody knows what is missing.
    is_linked: bool
    # For how long the answer has waited for what the query speaks of.
    waited_ns: Duration = 0


class CongestionAnswers(Protocol):
    """One law."""

    @property
    def wait_ns(self) -> Duration:
        """How long an answer waits for what the query speaks of, which it has overtaken."""

    def begin(self, upto: int, *, now: Instant) -> None:
        """The link has said something for the first time since it came up."""

    def answer(
        self, query: CongestionQuery, standing: Standing, *, now: Instant
    ) -> CongestionAlert | CongestionReport | None:
        """The answer to a query; None for none."""


class NoAnswers:
    """Nobody wants to know."""

    wait_ns: Duration = 0

    def begin(self, upto: int, *, now: Instant) -> None:
        """See `CongestionAnswers`."""

    def answer(
        self,
        query: CongestionQuery,  # noqa: ARG002
        standing: Standing,  # noqa: ARG002
        *,
        now: Instant,  # noqa: ARG002
    ) -> None:
        """See `CongestionAnswers`."""
        return


class Alerts:
    """The paper's: a host complains while it is too slow."""

    wait_ns: Duration = 0

    def __init__(self, settings: RateSettings, *, waits_for_link: bool) -> None:
        self._normal_min: Final = 1 - settings.normal_slack
        # [G4] Recovering hosts have to be faster than the pubend by this.
        self._recovering_min: Final = 1 + settings.recovery_gain
        self._waits_for_link: Final = waits_for_link

    def begin(self, upto: int, *, now: Instant) -> None:
        """See `CongestionAnswers`."""

    def answer(
        self,
        query: CongestionQuery,
        standing: Standing,
        *,
        now: Instant,  # noqa: ARG002
    ) -> CongestionAlert | None:
        """See `CongestionAnswers`."""
        if not standing.is_attached or (self._waits_for_link and not standing.is_linked):
            return None
        rate = max(0.0, standing.rate)
        if standing.is_recovering:
            if rate >= self._recovering_min:
                return None
            return CongestionAlert(
                pubend=query.pubend, seq=query.seq, recovering_rate=rate, position=standing.upto
            )
        # [G2] As printed, this would always be so.
        is_behind = standing.upto < query.newest - _BEHIND
        if rate >= self._normal_min and not is_behind:
            return None
        return CongestionAlert(
            pubend=query.pubend, seq=query.seq, normal_rate=rate, position=standing.upto
        )


class Reports:
    """The model's: a host says what it has got since it was last asked.

    Relays say all that they know behind the query: where nothing waits in a queue it is here in no
    time. Else a stream would seem to lag of which there is little to say.
    """

    wait_ns: Duration = 25 * MILLISECOND

    def __init__(self, host: str) -> None:
        self._host: Final = host
        # How far it was when it was last asked, and when.
        self._before: tuple[int, Instant] | None = None
        self._smallest: Final = SmallestLag()

    def begin(self, upto: int, *, now: Instant) -> None:
        """See `CongestionAnswers`: what it did not get while the link was down does not count."""
        self._before = (upto, now)

    def answer(
        self, query: CongestionQuery, standing: Standing, *, now: Instant
    ) -> CongestionReport | None:
        """See `CongestionAnswers`."""
        if not standing.is_linked or self._before is None:
            return None
        before, since = self._before
        if now - since < _ELAPSED_MIN_NS:
            return None
        self._before = (standing.upto, now)
        if not standing.is_attached:
            return None
        progress = Progress(
            host=self._host,
            start=before,
            stop=standing.upto,
            elapsed_ns=now - since,
            over_lag_ns=self._over_lag_ns(query, standing, now),
        )
        if standing.is_recovering:
            return CongestionReport(pubend=query.pubend, seq=query.seq, recovering=progress)
        return CongestionReport(pubend=query.pubend, seq=query.seq, normal=progress)

    def _over_lag_ns(self, query: CongestionQuery, standing: Standing, now: Instant) -> Duration:
        """What a recovery lags by says nothing of the way."""
        if standing.is_recovering:
            return 0
        # The pubend has moved on meanwhile.
        lag_ns = max(0, duration_ns(query.newest - standing.upto)) + standing.waited_ns
        return lag_ns - self._smallest.add(lag_ns, now=now)


def congestion_answers(settings: CongestionSettings, host: str) -> CongestionAnswers:
    """The answers of a host to one pubend."""
    if settings.rate_law == "off":
        return NoAnswers()
    if settings.rate_law == "model":
        return Reports(host)
    return Alerts(settings.rate, waits_for_link=settings.rate_law == "corrected")
