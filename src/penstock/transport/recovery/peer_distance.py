"""One-way distances to peers, measured by echoed timestamps.

A reply echoes our timestamp and says how long the peer held it. The rest of the elapsed time is a
round trip, measured on our clock alone; the distance is half of it. Until the first echo a hint
is used, such as the delay by header timestamps, which relies on synchronised clocks.

Peers are known by id only. Their number is bounded; the peer heard longest ago is evicted first.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.sequence import ECHO_STAMP
from penstock.wire.quantise import ECHO_STAMP_BITS, stamp_us

_RTT_MAX_NS: Final = 10 * SECOND
_HINT_MIN_NS: Final = MILLISECOND
_HINT_MAX_NS: Final = SECOND


class PeerDistances:
    """Distances from one endpoint to its peers."""

    __slots__ = ("_default_ns", "_peers", "rejected_echoes")

    def __init__(self, default_ns: Duration = 100 * MILLISECOND, *, peers_max: int = 4_096) -> None:
        if default_ns <= 0 or peers_max < 1:
            raise UsageError("default_ns is above 0, and peers_max at least 1")
        self._default_ns: Final = default_ns
        self._peers: Final[BoundedDict[int, _Peer]] = BoundedDict(peers_max)
        # Echoes with an impossible round trip.
        self.rejected_echoes = 0

    @property
    def peer_count(self) -> int:
        """Number of peers heard and not evicted: G."""
        return len(self._peers)

    @property
    def evicted(self) -> int:
        """Number of peers evicted."""
        return self._peers.evicted

    def distance_ns(self, peer: int) -> Duration:
        """Return the measured distance, else the hinted one, else the default."""
        known = self._peers.get(peer)
        if known is None:
            return self._default_ns
        if known.measured_ns is not None:
            return known.measured_ns
        return self._default_ns if known.hinted_ns is None else known.hinted_ns

    def on_peer(self, peer: int) -> None:
        """Record that a frame of this peer was received."""
        self._get_or_add(peer)

    def on_hint(self, peer: int, distance_ns: Duration) -> None:
        """Use a hint until the first echo; ignore one outside 0 to 1 s: the clocks differ."""
        known = self._get_or_add(peer)
        if 0 <= distance_ns <= _HINT_MAX_NS:
            known.hinted_ns = _smoothed(known.hinted_ns, max(distance_ns, _HINT_MIN_NS))

    def on_echo(self, peer: int, sent_us32: int, hold_ns: Duration, *, now: Instant) -> bool:
        """Measure by an echoed timestamp; return False if the round trip is impossible."""
        # Timestamps wrap after 71 minutes; up to half that age, past and future are told apart.
        elapsed_us = ECHO_STAMP.distance(stamp_us(now, ECHO_STAMP_BITS), sent_us32)
        rtt_ns = elapsed_us * MICROSECOND - hold_ns
        if hold_ns < 0 or not 0 <= rtt_ns <= _RTT_MAX_NS:
            self.rejected_echoes += 1
            return False
        known = self._get_or_add(peer)
        # At least the resolution of timestamps: waits are multiples of the distance, never 0.
        known.measured_ns = _smoothed(known.measured_ns, max(MICROSECOND, rtt_ns // 2))
        return True

    def _get_or_add(self, peer: int) -> _Peer:
        known = self._peers.use(peer)
        if known is None:
            known = self._peers[peer] = _Peer()
        return known


class _Peer:
    __slots__ = ("hinted_ns", "measured_ns")

    def __init__(self) -> None:
        self.measured_ns: Duration | None = None
        self.hinted_ns: Duration | None = None


def _smoothed(previous_ns: Duration | None, sample_ns: Duration) -> Duration:
    """Exponential moving average with weight 1/4; the first sample is taken as it is."""
    return sample_ns if previous_ns is None else (3 * previous_ns + sample_ns + 2) // 4
