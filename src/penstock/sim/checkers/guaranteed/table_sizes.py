"""Every table of every machine is bounded, whatever goes wrong around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.guaranteed.broker import Broker
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.pubend.pubend import Pubend
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.stream_item import StreamItem
from penstock.guaranteed.tick import duration_ticks
from penstock.sim.checkers.guaranteed.base import StreamChecker
from penstock.sim.guaranteed.network import StreamNetwork

# Name, size and bound of a table.
Table = tuple[str, int, int]

# Of intervals that a cache keeps besides its messages until the next one comes.
_SPARE_BYTES: Final = 10_000
# Frames that a queue takes even when it is full: requests and answers, not messages of streams.
_CONTROL_BYTES: Final = 500_000


class TableSizesChecker(StreamChecker):
    """Compares sizes with settings, and with how many programs and brokers there are."""

    name = "table sizes"

    def sample(self, network: StreamNetwork) -> None:
        """Looks at every broker that is up."""
        for broker in network.brokers.values():
            if broker.is_up:
                for name, size, bound in self._tables(network, broker.machine):
                    if size > bound:
                        self.report(f"{broker.name}: {name} has {size}, above {bound}")

    def _tables(self, network: StreamNetwork, machine: Broker) -> Iterator[Table]:
        clients, brokers = len(network.clients), len(network.brokers)
        settings = machine.settings
        for port, queue in machine.queues.items():
            yield f"queue to {port}", queue.queue_bytes, queue.queue_bytes_max + _CONTROL_BYTES
        yield "writes and reads under way", machine.disk.unanswered, 20 * (clients + brokers)
        yield "durables", len(machine.host.durables), settings.host.durables_max
        yield from (
            # While its only stream is created again, a broker knows none.
            (name, size, 4 * (clients + 1) * max(1, len(machine.relays)))
            for name, size in machine.host.table_sizes()
        )
        for relay in machine.relays.values():
            yield from _of_relay(relay, brokers, settings.relay.cache_bytes)
        for pubend in machine.pubends.values():
            yield from _of_pubend(pubend, clients, brokers)
        for reading in machine.host.readings.values():
            nack_window = duration_ticks(settings.host.nack_window_ns)
            yield from _of_reading(reading, nack_window, settings.host)


def _of_relay(relay: Relay, brokers: int, cache_bytes: int) -> Iterator[Table]:
    yield "cache", relay.cache.known.size_bytes, cache_bytes + _SPARE_BYTES
    for name, size in relay.table_sizes():
        yield name, size, 4_096 if name == "requested ranges" else 4 * brokers


def _of_pubend(pubend: Pubend, clients: int, brokers: int) -> Iterator[Table]:
    settings = pubend.settings
    yield "unsynced messages", pubend.unsynced, settings.credit_messages * clients
    yield "publishers", len(pubend.publishers), clients
    yield "rows", len(pubend.rows.by_host), brokers
    yield "durable names", len(pubend.rows.host_of), clients
    yield "readers", len(pubend.repairs), settings.readers_max
    yield "ranges to repair", pubend.repairs.ranges, settings.repair_ranges_max
    yield "dead ranges", len(pubend.dead_ranges), 16


def _of_reading(
    reading: PubendReading, nack_window: int, settings: HostSettings
) -> Iterator[Table]:
    yield "catch-up readers", len(reading.doubts()), settings.catch_up_readers_max + 1
    for feed in reading.feeds:
        yield "held messages", len(feed.held), 1_000
        ticks = [each.tick for each in feed.pending if isinstance(each, StreamItem)]
        if feed.is_live:
            yield "messages that wait for credit", len(feed.pending), settings.waiting_messages
        elif ticks:
            # A repair may go on to the next message.
            yield "ticks of pending messages", ticks[-1] - ticks[0], 2 * nack_window
