"""How far away others are: echoes in, one-way distances out.

Whoever answers gives us our own stamp back, and says how long it was held; what is
left is a round trip, on our clock alone, and the distance is half of it. Before
that a hint may serve, such as the delay by header stamps, which believes clocks.

Peers are numbers. At most so many are remembered; those heard longest ago go first.
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
    """From one node to those it heard."""

    __slots__ = ("_default_ns", "_peers", "rejected_echoes")

    def __init__(self, default_ns: Duration = 100 * MILLISECOND, *, peers_max: int = 4_096) -> None:
        if default_ns <= 0 or peers_max < 1:
            raise UsageError("default_ns is above 0, and peers_max at least 1")
        self._default_ns: Final = default_ns
        self._peers: Final[BoundedDict[int, _Peer]] = BoundedDict(peers_max)
        # Echoes that cannot be.
        self.rejected_echoes = 0

    @property
    def peer_count(self) -> int:
        """How many distinct peers were heard, as far as they are remembered: G."""
        return len(self._peers)

    @property
    def evicted(self) -> int:
        """Peers that had to go."""
        return self._peers.evicted

    def distance_ns(self, peer: int) -> Duration:
        """As measured; else as hinted; else the default."""
        known = self._peers.get(peer)
        if known is None:
            return self._default_ns
        if known.measured_ns is not None:
            return known.measured_ns
        return self._default_ns if known.hinted_ns is None else known.hinted_ns

    def on_peer(self, peer: int) -> None:
        """Something came from it."""
        self._get_or_add(peer)

    def on_hint(self, peer: int, distance_ns: Duration) -> None:
        """What holds until an echo comes; what cannot be is told by clocks that differ."""
        known = self._get_or_add(peer)
        if 0 <= distance_ns <= _HINT_MAX_NS:
            known.hinted_ns = _smoothed(known.hinted_ns, max(distance_ns, _HINT_MIN_NS))

    def on_echo(self, peer: int, sent_us32: int, hold_ns: Duration, *, now: Instant) -> bool:
        """Our stamp came back, after it was held so long; False if that cannot be."""
        # Stamps wrap after 71 minutes: one of up to half that age is told from one of the future.
        elapsed_us = ECHO_STAMP.distance(stamp_us(now, ECHO_STAMP_BITS), sent_us32)
        rtt_ns = elapsed_us * MICROSECOND - hold_ns
        if hold_ns < 0 or not 0 <= rtt_ns <= _RTT_MAX_NS:
            self.rejected_echoes += 1
            return False
        known = self._get_or_add(peer)
        # Stamps tell nothing shorter; and who waits for no time at all never gets on.
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
    """A quarter of the way to the new one; the first as it is."""
    return sample_ns if previous_ns is None else (3 * previous_ns + sample_ns + 2) // 4
