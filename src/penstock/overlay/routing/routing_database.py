"""The replicated routing state of a broker: links and adverts.

Updates are flooded to every neighbour except the one they came from, once. Neighbours exchange
summaries when their link comes up and every few seconds, so that lost updates are found. A broker
that sees a higher sequence number under its own id overtakes it: its earlier run used that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.overlay.counters import Counters
from penstock.overlay.output_queue import OutputQueue
from penstock.overlay.routing.advert_database import AdvertDatabase
from penstock.overlay.routing.advertiser import Advertiser
from penstock.overlay.routing.database_summary import missing_at_peer, request_origin, summarise
from penstock.overlay.routing.link_state import LinkStateDatabase
from penstock.overlay.sessions.neighbours import Neighbours
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.lsa import Lsa
from penstock.wire.frames.summary import Database, Summary

# Indexed by traffic class.
_ADVERT_DATABASES: Final = (Database.DATA_ADVERTS, Database.REQUEST_ADVERTS)


class RoutingDatabase:
    """The databases of one broker, synchronised with those of its neighbours."""

    def __init__(
        self,
        broker_id: int,
        first_seq: int,
        params: BloomParams,
        neighbours: Neighbours,
        settings: OverlaySettings,
        counters: Counters,
        out: OutputQueue,
    ) -> None:
        self._broker_id = broker_id
        self._neighbours = neighbours
        self._out = out
        self.links = LinkStateDatabase(broker_id, first_seq, settings, counters)
        self.adverts = tuple(
            [
                AdvertDatabase(
                    Advertiser(broker_id, first_seq, traffic, -(-params.m // 8)),
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
        """The port that leads to each reachable broker."""
        hops = self.links.hops
        if self._ports is None or hops is not self._hops:
            neighbour_ports = self._neighbours.best_ports()
            self._hops = hops
            self._ports = {
                o: neighbour_ports[hop] for o, hop in hops.items() if hop in neighbour_ports
            }
        return self._ports

    # Updates from neighbours ----------------------------------------------------------------

    def on_lsa(self, lsa: Lsa, via: Port, now: Instant) -> None:
        """Handles the links of another broker."""
        if lsa.origin == self._broker_id:
            self._flood(self.links.overtake(lsa.seq))
        elif self.links.accept(lsa, now=now):
            self._flood([lsa], except_port=via)

    def on_adv(self, adv: Adv, via: Port, now: Instant) -> None:
        """Handles the advert of another broker; if it shows that we missed one, requests it."""
        adverts = self.adverts[adv.traffic]
        if adv.origin == self._broker_id:
            self._flood(adverts.own.overtake(adv.seq))
            return
        self._flood(adverts.accept(adv, now=now), except_port=via)
        if adverts.has_missed(adv):
            self._out.send(
                via,
                request_origin(
                    _ADVERT_DATABASES[adv.traffic], adv.origin, adverts.seqs().get(adv.origin)
                ),
            )

    def on_summary(self, summary: Summary, via: Port, now: Instant) -> None:  # noqa: ARG002
        """Sends a neighbour the updates that its summary lacks."""
        if summary.database is Database.LINKS:
            self._send_missing(summary, self.links, self.links, via)
        else:
            adverts = self.adverts[_ADVERT_DATABASES.index(summary.database)]
            self._send_missing(summary, adverts, adverts.own, via)

    def _send_missing(
        self,
        summary: Summary,
        database: LinkStateDatabase | AdvertDatabase,
        own: LinkStateDatabase | Advertiser,
        via: Port,
    ) -> None:
        for row in summary.rows:
            if row.origin == self._broker_id:
                self._flood(own.overtake(row.seq))
        for origin in missing_at_peer(summary, database.current()):
            self._out.flood([via], database.frames(origin))

    # Updates to neighbours ------------------------------------------------------------------

    def summarise_to(self, port: Port) -> None:
        """Sends summaries of all databases to a neighbour."""
        self._out.flood([port], list(summarise(Database.LINKS, self.links.seqs())))
        for database, adverts in zip(_ADVERT_DATABASES, self.adverts, strict=True):
            self._out.flood([port], list(summarise(database, adverts.seqs())))

    def announce_links(self) -> None:
        """Floods our new set of links."""
        self._ports = None
        self._flood([self.links.announce(self._neighbours.lsa_neighbours())])

    def announce_filters(self, traffic: TrafficClass, filters: Sequence[int]) -> None:
        """Floods the new filters of our clients."""
        self._flood(self.adverts[traffic].own.update(filters))

    def refresh(self) -> None:
        """Floods our unchanged links and adverts under new numbers, so that they do not expire."""
        self._flood([self.links.refresh()])
        for adverts in self.adverts:
            self._flood(adverts.own.refresh())

    def expire(self, *, now: Instant) -> None:
        """Removes the entries that were not refreshed in time."""
        self.links.expire(now=now)
        for adverts in self.adverts:
            adverts.expire(now=now)

    def _flood(self, frames: Sequence[OverlayFrame], except_port: Port | None = None) -> None:
        if frames:
            self._out.flood(
                [port for port in self._neighbours.up_ports() if port != except_port], frames
            )
