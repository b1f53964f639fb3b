"""The link-state database: the latest LSA of each broker.

Decides whether an LSA is new and computes next hops. Does not know neighbours, ports or other
frames.
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
    """The latest LSA of every broker, including our own."""

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
        """The next hop to each reachable broker."""
        if self._hops is None:
            self._hops = next_hops(self._broker_id, self._lsas)
        return self._hops

    def seqs(self) -> dict[int, int]:
        """The latest sequence number of each broker, tombstones included."""
        return {**self._tombstones.seqs(), **self.current()}

    def current(self) -> dict[int, int]:
        """The latest sequence number of each broker whose LSA is stored."""
        return {origin: lsa.seq for origin, lsa in self._lsas.items()}

    def frames(self, origin: int) -> list[Lsa]:
        """The LSA of `origin`, for a neighbour that lacks it."""
        return [self._lsas[origin]]

    def announce(self, neighbours: tuple[Neighbour, ...]) -> Lsa:
        """Our own LSA with these links and the next sequence number."""
        return self._renew(self._lsas[self._broker_id].seq, neighbours)

    def refresh(self) -> Lsa:
        """Our own LSA with the same links and the next sequence number."""
        return self.announce(self._lsas[self._broker_id].neighbours)

    def overtake(self, seq: int) -> list[Lsa]:
        """Our own LSA with a number after `seq`, which other brokers hold from our earlier run."""
        own = self._lsas[self._broker_id]
        return [] if not SEQ.is_newer(seq, own.seq) else [self._renew(seq, own.neighbours)]

    def accept(self, lsa: Lsa, *, now: Instant) -> bool:
        """Stores the LSA of another broker; returns whether it was new."""
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
        """Removes the LSAs that were not refreshed in time, and leaves tombstones."""
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
        """Makes room for one more LSA by evicting an unreachable broker; False if there is none."""
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
