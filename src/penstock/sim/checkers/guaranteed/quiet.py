"""When all works again and nobody publishes, nothing is left to do.

Nothing is in doubt, nothing was asked for in vain, no host recovers and every link carries new
messages, no subscription with credit catches up, and the rows of each pubend are where its hosts'
cursors are.
"""

from __future__ import annotations

from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.kernel.instant import SECOND
from penstock.sim.checkers.guaranteed.base import StreamChecker
from penstock.sim.checkers.guaranteed.trim import cursors_on_disk
from penstock.sim.guaranteed.network import StreamNetwork


class QuietChecker(StreamChecker):
    """Looks at the end only."""

    name = "quiet"

    def at_end(self, network: StreamNetwork) -> None:
        """Looks into every machine."""
        for broker in network.brokers.values():
            machine = broker.machine
            if not machine.is_idle:
                self.report(f"{broker.name} is not idle")
            for pubend in machine.pubends.values():
                if not pubend.repairs.is_idle:
                    self.report(f"{broker.name} still repairs {pubend.id:#x}")
            for reading in machine.host.readings.values():
                self._check_live_reader(broker.name, reading)
                for feed in reading.feeds:
                    if feed.subscription.has_credit and not feed.is_live:
                        self.report(f"{broker.name}: {feed.subscription.port} is not live")
        self._check_rows(network)

    def _check_live_reader(self, broker: str, reading: PubendReading) -> None:
        """A recovery has an end, and leaves nothing behind."""
        live = reading.live
        if live is None:
            return
        if live.is_recovering:
            self.report(f"{broker} still recovers {reading.pubend:#x}")
        if not live.is_live_on:
            self.report(f"{broker}: LIVE is off for {reading.pubend:#x}")
        if live.repair.is_registered:
            self.report(f"{broker} still repairs {reading.pubend:#x} in a name of its own")

    def _check_rows(self, network: StreamNetwork) -> None:
        """Acknowledgements take a while, but arrive."""
        cursors = cursors_on_disk(network)
        network.run(2 * SECOND)
        for broker in network.brokers.values():
            for pubend in broker.machine.pubends.values():
                for name, owner in pubend.rows.host_of.items():
                    holder = network.brokers[owner]
                    # One that crashed before it had stored a name may not know of it.
                    if holder.life == 1 and name not in holder.machine.host.durables:
                        self.report(f"{broker.name}: {owner} has forgotten {name}")
                for host, cursor_of in cursors.items():
                    if pubend.id in cursor_of and host not in pubend.rows.by_host:
                        self.report(f"{broker.name}: nothing of {pubend.id:#x} is kept for {host}")
                for host, row in pubend.rows.by_host.items():
                    cursor = cursors[host].get(pubend.id)
                    if cursor is not None and row.saved_tick < cursor:
                        behind = (cursor - row.saved_tick) >> 20
                        self.report(
                            f"{broker.name}: the row of {host} for {pubend.id:#x} is {behind} ms"
                            " behind its cursors"
                        )
