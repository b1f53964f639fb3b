"""Checks that at the end of a calm phase all brokers hold the same, correct state.

Each broker reaches all others, knows exactly the filters that each of them advertises, knows of
no broker that does not exist, and has a session for each of its clients and no other.
"""

from __future__ import annotations

from penstock.kernel.instant import Instant
from penstock.overlay.broker import Broker
from penstock.sim.checkers.base import Checker
from penstock.wire.frames.base import TrafficClass


class Convergence(Checker):
    """Compares the state that brokers expose."""

    name = "agreement"

    def finish(self, *, now: Instant) -> None:  # noqa: ARG002
        """Compares at the end, when no frame in flight can change the state any more."""
        network = self.runner.network
        if self.runner.calm_since is None:
            return
        brokers = {
            name: host.machine
            for name, host in network.world.hosts.items()
            if isinstance(host.machine, Broker)
        }
        for name, broker in brokers.items():
            self._check_broker(name, broker, list(brokers.values()))
            clients = [client for client, home in network.home_brokers.items() if home == name]
            if broker.sizes()["clients"] != len(clients):
                self.report_violation(
                    name, f"{broker.sizes()['clients']} sessions, clients {clients}"
                )

    def _check_broker(self, name: str, broker: Broker, brokers: list[Broker]) -> None:
        others = [other for other in brokers if other is not broker]
        if broker.reachable != sorted(other.id for other in others):
            self.report_violation(name, f"reaches only {broker.reachable}")
        sizes = broker.sizes()
        expected = {"lsas": len(brokers), "data_adverts": len(others)}
        for table, size in expected.items():
            # A small table may omit brokers without interests; it never has more entries.
            if sizes[table] > size:
                self.report_violation(name, f"{sizes[table]} {table}, {size} are there")
        for other in others:
            for traffic in TrafficClass:
                known, true = broker.advertised_by(other.id, traffic), other.advertised(traffic)
                if known != true:
                    self.report_violation(
                        name, f"believes {len(known)} filters of broker {other.id}, not {len(true)}"
                    )
