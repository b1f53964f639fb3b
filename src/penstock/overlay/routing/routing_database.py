"""What brokers tell one another until all know the same: links and adverts.

News is flooded: passed to every neighbour but the one it came from, once.
Neighbours compare what they have when their link comes up and now and then, so
that whatever was lost on the way is found. Our own numbers are looked for in
what others say: if they are ahead, it was a former self that counted them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.overlay.counters import Counters
from penstock.overlay.output_queue import Outbox
from penstock.overlay.routing.advert_database import Adverts
from penstock.overlay.routing.advertiser import Announcer
from penstock.overlay.routing.database_summary import lacking, question, summarise
from penstock.overlay.routing.link_state import LinkState
from penstock.overlay.sessions.neighbours import Neighbours
from penstock.overlay.settings import Settings
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.lsa import Lsa
from penstock.wire.frames.summary import Database, Summary

# By class.
_ADVERTS: Final = (Database.DATA_ADVERTS, Database.REQUEST_ADVERTS)


class Knowledge:
    """The databases of one broker, kept in step with those of its neighbours."""

    def __init__(
        self,
        me: int,
        first_seq: int,
        params: BloomParams,
        neighbours: Neighbours,
        settings: Settings,
        counters: Counters,
        out: Outbox,
    ) -> None:
        self._me = me
        self._neighbours = neighbours
        self._out = out
        self.links = LinkState(me, first_seq, settings, counters)
        self.adverts = tuple(
            [
                Adverts(
                    Announcer(me, first_seq, traffic, -(-params.m // 8)),
                    params.m,
                    settings,
                    counters,
                    is_reachable=lambda origin: origin in self.links.hops,
                )
                for traffic in TrafficClass
            ]
        )
        self._ports: dict[int, Port] | None = None
        self._hops: dict[int, int] | None = None

    def ports(self) -> dict[int, Port]:
        """The port that leads to each broker that can be reached."""
        hops = self.links.hops
        if self._ports is None or hops is not self._hops:
            port_of = self._neighbours.port_of()
            self._hops = hops
            self._ports = {o: port_of[hop] for o, hop in hops.items() if hop in port_of}
        return self._ports

    # Heard from neighbours ------------------------------------------------------------------

    def on_lsa(self, lsa: Lsa, via: Port, now: Instant) -> None:
        """Another broker's links."""
        if lsa.origin == self._me:
            self._flood(self.links.overtake(lsa.seq))
        elif self.links.accept(lsa, now=now):
            self._flood([lsa], but=via)

    def on_adv(self, adv: Adv, via: Port, now: Instant) -> None:
        """What another broker wants; if it tells us that we missed something, we ask for it."""
        adverts = self.adverts[adv.traffic]
        if adv.origin == self._me:
            self._flood(adverts.own.overtake(adv.seq))
            return
        self._flood(adverts.accept(adv, now=now), but=via)
        if adverts.missed(adv):
            self._out.send(
                via, question(_ADVERTS[adv.traffic], adv.origin, adverts.seqs().get(adv.origin))
            )

    def on_summary(self, summary: Summary, via: Port, now: Instant) -> None:  # noqa: ARG002
        """What a neighbour knows; we send what it lacks."""
        if summary.database is Database.LINKS:
            self._compare(summary, self.links, self.links, via)
        else:
            adverts = self.adverts[_ADVERTS.index(summary.database)]
            self._compare(summary, adverts, adverts.own, via)

    def _compare(
        self,
        summary: Summary,
        database: LinkState | Adverts,
        own: LinkState | Announcer,
        via: Port,
    ) -> None:
        for row in summary.rows:
            if row.origin == self._me:
                self._flood(own.overtake(row.seq))
        for origin in lacking(summary, database.held()):
            self._out.flood([via], database.frames(origin))

    # Told to neighbours ---------------------------------------------------------------------

    def summarise_to(self, port: Port) -> None:
        """Tells a neighbour what we know."""
        self._out.flood([port], list(summarise(Database.LINKS, self.links.seqs())))
        for database, adverts in zip(_ADVERTS, self.adverts, strict=True):
            self._out.flood([port], list(summarise(database, adverts.seqs())))

    def announce_links(self) -> None:
        """Our neighbours are others now."""
        self._ports = None
        self._flood([self.links.announce(self._neighbours.for_lsa())])

    def announce_filters(self, traffic: TrafficClass, filters: Sequence[int]) -> None:
        """Our clients want these now."""
        self._flood(self.adverts[traffic].own.announce(filters))

    def refresh(self) -> None:
        """We are still there, and nothing has changed."""
        self._flood([self.links.refresh()])
        for adverts in self.adverts:
            self._flood(adverts.own.refresh())

    def expire(self, *, now: Instant) -> None:
        """Forgets those of whom nothing was heard for too long."""
        self.links.expire(now=now)
        for adverts in self.adverts:
            adverts.expire(now=now)

    def _flood(self, frames: Sequence[OverlayFrame], but: Port | None = None) -> None:
        if frames:
            self._out.flood([port for port in self._neighbours.up() if port != but], frames)
