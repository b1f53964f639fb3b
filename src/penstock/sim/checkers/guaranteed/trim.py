"""No log is trimmed above the smallest cursor on any host's disk, unless the stream may drop.

Of a host that an operator has had forgotten nothing is kept until it is heard of again.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from penstock.guaranteed.host.durable import KEY
from penstock.kernel.machine import Trim
from penstock.sim.checkers.guaranteed.base import StreamChecker
from penstock.sim.guaranteed.network import StreamNetwork

# In what is stored of a durable subscription.
_CURSORS = 2


class TrimChecker(StreamChecker):
    """Reads the cursors on all disks whenever a log is trimmed."""

    name = "trim"

    def __init__(self, network: StreamNetwork, *, forgotten: Collection[str] = ()) -> None:
        super().__init__()
        self._forgotten = forgotten
        self._network = network
        self.trims = 0

    def on_trim(self, broker: str, trim: Trim) -> None:
        """Compares with all cursors."""
        self.trims += 1
        if self._network.settings.pubend.retention.drops:
            return
        for host, cursors in cursors_on_disk(self._network).items():
            cursor = cursors.get(int(trim.log, 16))
            if host not in self._forgotten and cursor is not None and trim.upto > cursor:
                self.report(f"{broker} trims up to {trim.upto}, {host} has read up to {cursor}")


def cursors_on_disk(network: StreamNetwork) -> dict[str, dict[int, int]]:
    """By host and pubend: the smallest cursor of all durable subscriptions."""
    by_host: dict[str, dict[int, int]] = {}
    for broker in network.brokers.values():
        lowest = by_host[broker.name] = {}
        for key, value in broker.disk.saved.items():
            if key.startswith(KEY):
                for pubend, tick in msgspec.msgpack.decode(value, strict=False)[_CURSORS].items():
                    lowest[pubend] = min(tick, lowest.get(pubend, tick))
    return by_host
