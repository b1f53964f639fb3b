"""The numbers of what was forgotten, so that it is not learned again.

Brokers do not forget at the same instant: one whose neighbour still knows a
broker that is gone would get it back, keep it for a whole period, and give it back
in turn, for ever. So the number stays when the rest goes. Summaries name it:
then nobody sends what is no newer, and a broker that comes back after all, with
numbers that are lower, hears that it must overtake itself.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.kernel.sequence import SEQ
from penstock.overlay.settings import OverlaySettings

# Longer than what others know can outlast us, even if it reaches some of them late.
_EXPIRY_PERIODS: Final = 3


class Tombstones:
    """The latest number of each origin forgotten; when there are too many the oldest goes."""

    def __init__(self, settings: OverlaySettings) -> None:
        self._settings = settings
        self._last_seqs: BoundedDict[int, tuple[int, Instant]] = BoundedDict(
            settings.origins_max, recent=True
        )

    def __len__(self) -> int:
        return len(self._last_seqs)

    def add(self, origin: int, seq: int, *, now: Instant) -> None:
        """Forgets an origin that was known up to `seq`."""
        self._last_seqs[origin] = (seq, now + _EXPIRY_PERIODS * self._settings.expire_ns)

    def allows(self, origin: int, seq: int) -> bool:
        """Whether this is news of an origin that is not known."""
        tombstone = self._last_seqs.get(origin)
        return tombstone is None or SEQ.is_newer(seq, tombstone[0])

    def remove(self, origin: int) -> None:
        """The origin is known again."""
        self._last_seqs.pop(origin, None)

    def seqs(self) -> dict[int, int]:
        """The numbers."""
        return {origin: seq for origin, (seq, _) in self._last_seqs.items()}

    def expire(self, *, now: Instant) -> None:
        """Forgets for good what was forgotten long ago."""
        for origin in [
            origin for origin, (_, expires) in self._last_seqs.items() if expires <= now
        ]:
            del self._last_seqs[origin]
