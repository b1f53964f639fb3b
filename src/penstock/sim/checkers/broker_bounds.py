"""Every table, queue and set of timers is within its bound, all the time."""

from __future__ import annotations

from typing import Any, Final

from penstock.kernel.instant import Instant
from penstock.overlay.broker import Broker
from penstock.overlay.settings import OverlaySettings
from penstock.sim.checkers.base import Checker

# A broker has timers for HELLO, refresh, comparing, and a change of filters of each class.
_TIMERS_BESIDE_LINKS: Final = 5


def table_bounds(settings: OverlaySettings) -> dict[str, int]:
    """How large each table of `Broker.sizes` may be."""
    # Adverts that are complete, without our own, and those of which parts are missing.
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
    """Looks at brokers, at hosts' queues and at links' queues."""

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
        # Each of the two classes may have so much waiting.
        if sample.queue_bytes > 2 * link._queue_bytes_max:
            self.report_violation(link.name, f"{sample.queue_bytes} bytes wait")
