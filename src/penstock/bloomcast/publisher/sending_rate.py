"""How fast a publisher sends: what receivers allow, the pacing that obeys, and who is too slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.bloomcast.facts import Offer
from penstock.bloomcast.publisher.announcements import Announcements
from penstock.bloomcast.publisher.pacing import Pacing
from penstock.bloomcast.publisher.rate_control import RateControl
from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import SECOND, Instant
from penstock.wire.frames.cast.base import CastBody
from penstock.wire.frames.cast.membership import Unsubscribe
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce


class SendingRate:
    """Of one transfer."""

    def __init__(
        self,
        settings: CastSettings,
        offer: Offer,
        head: SegmentHead,
        say: Announcements,
        *,
        send_up: Callable[[CastBody, Instant], None],
    ) -> None:
        self._settings: Final = settings.publisher
        self._symbol_bytes: Final = offer.symbol_bytes
        self._head: Final = head
        self._say: Final = say
        self._send_up: Final = send_up
        self._control: Final = RateControl(
            settings.rate,
            rate_max_bps=settings.publisher.rate_bps,
            symbol_bytes=offer.symbol_bytes,
        )
        self.is_controlled: Final = settings.rate.is_controlled
        self.pacing: Final = Pacing(self._control.rate_bps)
        # When symbols of generation 0 were sent last.
        self._data_at: Instant = 0
        # Left behind, as they bear less than the minimum.
        self.slow: Final[dict[int, None]] = {}

    @property
    def rate_bps(self) -> int:
        """What is in force."""
        return self._control.rate_bps

    @property
    def is_running(self) -> bool:
        """Whether receivers are to say what they allow."""
        return self._control.is_running

    def begin(self, now: Instant) -> None:
        """Generation 0 begins."""
        if not self.is_controlled or not len(self._head.ends):
            return
        farthest = max(self._head.ends, key=lambda end: end.round_trip_ns or 0)
        self._follow(self._control.begin(farthest.node, farthest.round_trip_ns, now), now)

    def end(self, now: Instant) -> None:
        """It is over: repairs go at its mean rate."""
        self._control.end(now)
        self.pacing.rate_bps = self._control.rate_bps

    def sent(self, symbols: int, now: Instant, *, is_repair: bool) -> None:
        """A train has left."""
        self.pacing.sent(symbols * self._symbol_bytes, now)
        if not is_repair:
            self._data_at = now

    def on_report(self, report: AllowedRate, now: Instant) -> None:
        """A receiver says what it allows."""
        if report.child in self.slow or self._control.is_slow(report, now):
            self._leave_behind(report.child, now)
        else:
            self._follow(self._control.on_report(report, now), now)

    def wake(self, now: Instant, *, may_pause: bool) -> None:
        """Nobody says anything; of what may pause, that means nothing where nothing was sent."""
        has_sent = not may_pause or self._data_at > self._control.followed_at
        self._follow(self._control.wake(now, has_sent=has_sent), now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._control.next_wakeup()

    def train_symbols(self) -> int:
        """A train is one burst: it must not fill a queue that the rate would not."""
        settings = self._settings
        if not self.is_controlled:
            return settings.train_symbols
        size_bytes = self._control.rate_bps * settings.train_ns // SECOND
        return max(1, min(size_bytes // self._symbol_bytes, settings.train_symbols))

    def _follow(self, body: RateInForce | None, now: Instant) -> None:
        if body is not None:
            self.pacing.rate_bps = self._control.rate_bps
            self._say.rate(body, now)

    def _leave_behind(self, child: int, now: Instant) -> None:
        """A receiver is too slow for the others: it leaves the plan, and is told."""
        self._say.stop([child], now, reason="slow")
        if child in self.slow:
            return
        self.slow[child] = None
        self._send_up(Unsubscribe(subscriber=child, reason="slow"), now)
        self._follow(self._control.left(child, now), now)
