"""Sequence numbers of removed origins, so that old state is not learned again.

Brokers do not expire an origin at the same instant. Without tombstones, a broker would get a dead
origin back from a neighbour that still has it, keep it for another period and return it in turn,
for ever. Summaries include tombstones: neighbours then send nothing that is no newer, and a broker
that restarts with lower numbers learns that it must overtake its earlier ones.
"""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.kernel.sequence import SEQ
from penstock.overlay.settings import OverlaySettings

# Longer than other brokers can hold the state, even if it reached some of them late.
_EXPIRY_PERIODS: Final = 3


class Tombstones:
    """The last sequence number of each removed origin; when full, the oldest is evicted."""

    def __init__(self, settings: OverlaySettings) -> None:
        self._settings = settings
        self._last_seqs: BoundedDict[int, tuple[int, Instant]] = BoundedDict(
            settings.origins_max, recent=True
        )

    def __len__(self) -> int:
        return len(self._last_seqs)

    def add(self, origin: int, seq: int, *, now: Instant) -> None:
        """Adds the tombstone of an origin whose latest state was `seq`."""
        self._last_seqs[origin] = (seq, now + _EXPIRY_PERIODS * self._settings.expire_ns)

    def allows(self, origin: int, seq: int) -> bool:
        """Whether state `seq` of an unknown origin is newer than its tombstone."""
        tombstone = self._last_seqs.get(origin)
        return tombstone is None or SEQ.is_newer(seq, tombstone[0])

    def remove(self, origin: int) -> None:
        """Removes the tombstone of an origin that is known again."""
        self._last_seqs.pop(origin, None)

    def seqs(self) -> dict[int, int]:
        """The last sequence number of each origin."""
        return {origin: seq for origin, (seq, _) in self._last_seqs.items()}

    def expire(self, *, now: Instant) -> None:
        """Removes the tombstones that are too old to matter."""
        for origin in [
            origin for origin, (_, expires) in self._last_seqs.items() if expires <= now
        ]:
            del self._last_seqs[origin]
