"""The link-state database: who says to have which links.

Knows neither neighbours nor frames other than LSA: told what is new, it says
whether that is worth passing on, and who is to be reached through whom.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.kernel.sequence import SEQ
from penstock.overlay.counters import Count, Counters
from penstock.overlay.routing.shortest_paths import next_hops
from penstock.overlay.routing.tombstones import Tombstones
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.lsa import Lsa, Neighbour


class LinkStateDatabase:
    """Every broker's latest LSA, our own among them."""

    def __init__(
        self, broker_id: int, seq: int, settings: OverlaySettings, counters: Counters
    ) -> None:
        self._broker_id = broker_id
        self._settings = settings
        self._counters = counters
        self._lsas: dict[int, Lsa] = {broker_id: Lsa(origin=broker_id, seq=seq, neighbours=())}
        self._expires: dict[int, Instant] = {}
        self._tombstones = Tombstones(settings)
        self._hops: dict[int, int] | None = None

    def __len__(self) -> int:
        return len(self._lsas)

    @property
    def hops(self) -> dict[int, int]:
        """The neighbour through which to reach each broker that can be reached."""
        if self._hops is None:
            self._hops = next_hops(self._broker_id, self._lsas)
        return self._hops

    def seqs(self) -> dict[int, int]:
        """The number of each broker's latest, be it forgotten."""
        return {**self._tombstones.seqs(), **self.current()}

    def current(self) -> dict[int, int]:
        """The same without those of which only the number is left."""
        return {origin: lsa.seq for origin, lsa in self._lsas.items()}

    def frames(self, origin: int) -> list[Lsa]:
        """What to send someone who lacks what we know of `origin`."""
        return [self._lsas[origin]]

    def announce(self, neighbours: tuple[Neighbour, ...]) -> Lsa:
        """Our own links, under the next number."""
        return self._renew(self._lsas[self._broker_id].seq, neighbours)

    def refresh(self) -> Lsa:
        """The same links under the next number."""
        return self.announce(self._lsas[self._broker_id].neighbours)

    def overtake(self, seq: int) -> list[Lsa]:
        """Our own links past `seq`, which others believe to be our latest: we restarted."""
        own = self._lsas[self._broker_id]
        return [] if not SEQ.is_newer(seq, own.seq) else [self._renew(seq, own.neighbours)]

    def accept(self, lsa: Lsa, *, now: Instant) -> bool:
        """Takes another broker's word; whether it was news."""
        known = self._lsas.get(lsa.origin)
        if known is None:
            if not self._tombstones.allows(lsa.origin, lsa.seq) or not self._make_room():
                return False
            self._tombstones.remove(lsa.origin)
        elif not SEQ.is_newer(lsa.seq, known.seq):
            return False
        self._lsas[lsa.origin] = lsa
        self._expires[lsa.origin] = now + self._settings.expire_ns
        if known is None or known.neighbours != lsa.neighbours:
            self._hops = None
        return True

    def expire(self, *, now: Instant) -> None:
        """Forgets whoever was not heard of for too long."""
        self._tombstones.expire(now=now)
        for origin in [origin for origin, expires in self._expires.items() if expires <= now]:
            self._tombstones.add(origin, self._lsas[origin].seq, now=now)
            self._remove(origin)

    def _renew(self, seq: int, neighbours: tuple[Neighbour, ...]) -> Lsa:
        lsa = Lsa(origin=self._broker_id, seq=SEQ.next(seq), neighbours=neighbours)
        if self._lsas[self._broker_id].neighbours != neighbours:
            self._hops = None
        self._lsas[self._broker_id] = lsa
        return lsa

    def _make_room(self) -> bool:
        """Whether there is place for one more, at the cost of one who cannot be reached."""
        if len(self._lsas) < self._settings.origins_max:
            return True
        self._counters[Count.LINKS_OVERFLOW] += 1
        for origin in self._expires:
            if origin not in self.hops:
                self._remove(origin)
                return True
        return False

    def _remove(self, origin: int) -> None:
        del self._lsas[origin], self._expires[origin]
        self._hops = None
