"""Checks that every table, queue and timer set stays within its bound."""

from __future__ import annotations

from typing import Any, Final

from penstock.kernel.instant import Instant
from penstock.overlay.broker import Broker
from penstock.overlay.settings import OverlaySettings
from penstock.sim.checkers.base import Checker

# A broker's timers: HELLO, refresh, compare, and a change of filters per traffic class.
_TIMERS_BESIDE_LINKS: Final = 5


def table_bounds(settings: OverlaySettings) -> dict[str, int]:
    """The largest allowed size of each table of `Broker.sizes`."""
    # Complete adverts of other brokers, and incomplete adverts.
    adverts = 2 * settings.origins_max - 1
    return {
        "links": settings.links_max,
        "lsas": settings.origins_max,
        "data_adverts": adverts,
        "data_filters": settings.filters_max,
        "request_adverts": adverts,
        "request_filters": settings.filters_max,
        "clients": settings.clients_max,
        "seen": settings.seen_max,
    }


class BrokerBounds(Checker):
    """Checks brokers, the queues of hosts and the queues of links."""

    name = "tables"

    def inspect(self, *, now: Instant) -> None:  # noqa: ARG002
        """Compares sizes with bounds."""
        settings = self.runner.guarantees.settings
        for name, host in self.runner.network.world.hosts.items():
            if isinstance(host.machine, Broker):
                self._check_broker(name, host.machine, settings)
            waiting = host.sample().queue_frames
            if host._workers is not None and waiting > host._workers.queue_frames_max:
                self.report_violation(name, f"{waiting} frames wait for a worker")
        for link in self.runner.network.world.links.values():
            self._check_link(link)

    def _check_broker(self, name: str, broker: Broker, settings: OverlaySettings) -> None:
        sizes = broker.sizes()
        for table, size_max in table_bounds(settings).items():
            if sizes[table] > size_max:
                self.report_violation(
                    name, f"{table} has {sizes[table]} entries, {size_max} are allowed"
                )
        timers = len(broker._timers)
        if timers > sizes["links"] + _TIMERS_BESIDE_LINKS:
            self.report_violation(name, f"{timers} timers for {sizes['links']} links")

    def _check_link(self, link: Any) -> None:
        sample = link.sample()
        # Each of the two traffic classes has a queue of this size.
        if sample.queue_bytes > 2 * link._queue_bytes_max:
            self.report_violation(link.name, f"{sample.queue_bytes} bytes wait")
