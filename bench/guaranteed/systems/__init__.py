"""The systems that are compared: how a server is started, and what publishes and subscribes.

A process loads only the module of its own system, so that none carries the others' weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench.guaranteed.clients import Publisher, Subscriber
from bench.guaranteed.processes import ServerProcess


@dataclass(frozen=True, slots=True)
class System:
    """One way to run one system; `name` says when it confirms."""

    name: str
    module: str
    # Names in that module.
    starter: str = "start"
    publisher_class: str = "Publisher"
    subscriber_class: str = "Subscriber"

    def missing(self) -> str:
        """What is not installed and how to install it; nothing if all is there."""
        found: str = self._get("missing")()
        return found

    def start(self, directory: Path) -> ServerProcess:
        """Starts a server with everything it writes in `directory`."""
        server: ServerProcess = self._get(self.starter)(directory)
        return server

    def publisher(self, address: str, stream: str) -> Publisher:
        """A client that publishes."""
        client: Publisher = self._get(self.publisher_class)(address, stream)
        return client

    def subscriber(self, address: str, stream: str) -> Subscriber:
        """A client that reads."""
        client: Subscriber = self._get(self.subscriber_class)(address, stream)
        return client

    def _get(self, name: str) -> Any:
        return getattr(import_module(f"{__name__}.{self.module}"), name)


OURS: Final = System("penstock, synced", "penstock_streams")
JETSTREAM_SHIPPED: Final = System(
    "JetStream as shipped, not synced", "jetstream", starter="start_as_shipped"
)
JETSTREAM_SYNCED: Final = System("JetStream, synced", "jetstream", starter="start_syncing")
JETSTREAM_BATCHES: Final = System(
    "JetStream, synced, atomic batches",
    "jetstream",
    starter="start_syncing",
    publisher_class="BatchPublisher",
)
RABBITMQ_CLASSIC: Final = System(
    "RabbitMQ classic, synced or consumed", "rabbitmq", subscriber_class="ClassicSubscriber"
)
RABBITMQ_QUORUM: Final = System(
    "RabbitMQ quorum, synced", "rabbitmq", subscriber_class="QuorumSubscriber"
)
SYSTEMS: Final = (
    OURS,
    JETSTREAM_SHIPPED,
    JETSTREAM_SYNCED,
    JETSTREAM_BATCHES,
    RABBITMQ_CLASSIC,
    RABBITMQ_QUORUM,
)
