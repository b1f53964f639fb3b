"""Brokers of guaranteed streams and their clients in one simulated world.

Drives each machine as a driver on sockets does: frames in, outputs drained, one timer re-armed.
Brokers keep their disks through crashes; links are cut for both ends at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.guaranteed.broker import AnyFrame
from penstock.guaranteed.client import ClientFact
from penstock.guaranteed.settings import BrokerSettings
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue
from penstock.sim.guaranteed.sim_broker import SimBroker, size_of
from penstock.sim.guaranteed.sim_client import SimClient
from penstock.sim.guaranteed.stream_link import WINDOW_BYTES, LinkTraffic, StreamLink
from penstock.sim.guaranteed.watcher import NetworkWatcher
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.base import BrokerFrame


def through_codec(frame: AnyFrame) -> AnyFrame:
    """What arrives at the other end of a socket."""
    if isinstance(frame, BrokerFrame):
        return BROKER_FRAMES.decode(BROKER_FRAMES.encode(frame))
    return CLIENT_FRAMES.decode(CLIENT_FRAMES.encode(frame))


class StreamNetwork:
    """All of it, with one clock and one seed."""

    def __init__(
        self,
        seed: int | Seeds,
        *,
        settings: BrokerSettings | None = None,
        delay_ns: Duration = 5 * MILLISECOND,
        # Of links between brokers, until `set_rate` changes it.
        rate_bps: int | None = None,
        with_codec: bool = False,
        sync_ns: Duration = 2 * MILLISECOND,
        window_bytes: int = WINDOW_BYTES,
        # Of links between brokers, if it is another than that of connections of clients.
        link_window_bytes: int | None = None,
    ) -> None:
        self.seeds: Final = Seeds(seed) if isinstance(seed, int) else seed
        self.events: Final = EventQueue()
        self.settings: Final = settings or BrokerSettings()
        self.sync_ns: Final = sync_ns
        # How much a link takes before anything has left.
        self.window_bytes: Final = window_bytes
        self._link_window_bytes: Final = link_window_bytes or window_bytes
        self.watchers: Final[list[NetworkWatcher]] = []
        self.brokers: Final[dict[str, SimBroker]] = {}
        self.clients: Final[dict[str, SimClient]] = {}
        self._parents: Final[dict[tuple[str, str], bool]] = {}
        self._delay_ns: Final = delay_ns
        self._rate_bps: Final = rate_bps
        # By sender and receiver: rates that were set, and what was carried.
        self._rates_bps: Final[dict[tuple[str, str], int | None]] = {}
        self.traffic: Final[dict[tuple[str, str], LinkTraffic]] = {}
        self._with_codec: Final = with_codec

    def add_broker(
        self, name: str, *, streams: dict[int, str] | None = None, parents: int = 0
    ) -> SimBroker:
        """Adds a broker with these pubends, by id and stream."""
        broker = self.brokers[name] = SimBroker(self, name, streams or {}, parents)
        return broker

    def add_client(
        self, name: str, broker: str, on_fact: Callable[[SimClient, ClientFact], None]
    ) -> SimClient:
        """Adds a client of one broker; it is not connected yet."""
        client = self.clients[name] = SimClient(self, name, broker, on_fact)
        return client

    def connect(self, child: str, parent: str) -> None:
        """Brings a link up, if both brokers are."""
        low, high = self.brokers[child], self.brokers[parent]
        if self._parents.get((child, parent)) or not (low.is_up and high.is_up):
            return
        self._parents[child, parent] = True
        for sender, receiver in ((low, high), (high, low)):
            sender.links[receiver.name] = self._broker_link(sender, receiver)
        room = self._link_window_bytes
        high.call(lambda b, now: b.link_up(child, to_parent=False, room_bytes=room, now=now))
        low.call(lambda b, now: b.link_up(parent, to_parent=True, room_bytes=room, now=now))

    def cut(self, child: str, parent: str) -> None:
        """Cuts a link; both ends are told."""
        if not self._parents.pop((child, parent), False):
            return
        low, high = self.brokers[child], self.brokers[parent]
        for sender, receiver in ((low, parent), (high, child)):
            sender.links.pop(receiver).cut()
            queue = sender.machine.queues.get(receiver)
            if queue is not None:
                self.traffic[sender.name, receiver].dropped_frames += queue.dropped
        low.worker.forget(parent)
        high.worker.forget(child)
        low.call(lambda b, now: b.link_down(parent, now=now))
        high.call(lambda b, now: b.link_down(child, now=now))

    def rate_of(self, sender: str, receiver: str) -> int | None:
        """The rate of one direction of a link, whether it is up or not."""
        return self._rates_bps.get((sender, receiver), self._rate_bps)

    def set_rate(self, child: str, parent: str, rate_bps: int | None) -> None:
        """Gives both directions of a link another rate, now and when it comes up again."""
        is_up = self._parents.get((child, parent), False)
        for sender, receiver in ((child, parent), (parent, child)):
            self._rates_bps[sender, receiver] = rate_bps
            if is_up:
                self.brokers[sender].links[receiver].rate_bps = rate_bps

    def crash(self, name: str, *, noticed_ns: Duration = 0) -> None:
        """Kills a broker: its links and connections break.

        Other brokers notice at once, as when a process ends, or later, as when a machine does.
        """
        broker = self.brokers[name]
        if not broker.is_up:
            return
        broker.crash()
        links = [pair for pair in self._parents if name in pair]
        if noticed_ns:
            for child, parent in links:
                self.brokers[child].links[parent].mute()
                self.brokers[parent].links[child].mute()
        for child, parent in links:
            if noticed_ns:
                at = self.events.now + noticed_ns
                link = self.brokers[child].links[parent]
                self.events.schedule(at, self._notice, child, parent, link)
            else:
                self.cut(child, parent)
        for client in self.clients.values():
            if client.broker == name:
                client.disconnect()

    def _notice(self, child: str, parent: str, link: StreamLink) -> None:
        """The other end is gone, unless it is back already."""
        if self.brokers[child].links.get(parent) is link:
            self.cut(child, parent)

    def restart(self, name: str) -> None:
        """Starts a broker again; links and clients come back by `connect`."""
        broker = self.brokers[name]
        if not broker.is_up:
            for child, parent in [pair for pair in self._parents if name in pair]:
                self.cut(child, parent)
            broker.start()

    def disconnect(self, port: Port) -> None:
        """Closes the connection of a client, by the port that its broker knows."""
        for client in self.clients.values():
            if client.port == port:
                client.disconnect()

    def run(self, duration_ns: Duration) -> None:
        """Lets time pass."""
        self.events.run(self.events.now + duration_ns)

    def stream_link(
        self,
        *,
        arrive: Callable[[list[AnyFrame]], None],
        on_room: Callable[[int], None] | None,
        rate_bps: int | None = None,
        traffic: LinkTraffic | None = None,
    ) -> StreamLink:
        """One direction of a connection."""

        def land(frames: list[AnyFrame]) -> None:
            arrive([*map(through_codec, frames)] if self._with_codec else frames)

        return StreamLink(
            self.events,
            delay_ns=self._delay_ns,
            rate_bps=rate_bps,
            size_of=size_of,
            arrive=land,
            on_room=on_room,
            traffic=traffic,
        )

    def _broker_link(self, sender: SimBroker, receiver: SimBroker) -> StreamLink:
        return self.stream_link(
            arrive=lambda frames: receiver.arrive(sender.name, frames),
            on_room=lambda size: sender.room(receiver.name, size),
            rate_bps=self.rate_of(sender.name, receiver.name),
            traffic=self.traffic.setdefault((sender.name, receiver.name), LinkTraffic()),
        )
