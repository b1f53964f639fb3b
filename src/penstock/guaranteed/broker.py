"""A broker of guaranteed streams: pubends, relays and a host, in any mix.

The pubends are local parents of the relays and the host is their local child. They speak in the
frames that cross links, and in runs of messages, which are frames on links: every mix of roles is
the same code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from penstock.guaranteed.broker_state import BrokerState
from penstock.guaranteed.clients import Clients
from penstock.guaranteed.disk import Disk
from penstock.guaranteed.facts import Alarm, BrokerFact
from penstock.guaranteed.host.subscriber_host import SubscriberHost
from penstock.guaranteed.lag import LagRequests
from penstock.guaranteed.links import Links
from penstock.guaranteed.log_record import Counted, Fetched
from penstock.guaranteed.output.lanes import lane_of, one_lane_of
from penstock.guaranteed.output.link_queues import LinkQueues
from penstock.guaranteed.output.output_queue import OutputQueue
from penstock.guaranteed.own_pubends import OwnPubends
from penstock.guaranteed.part_router import PartRouter
from penstock.guaranteed.pubend.pubend import Pubend
from penstock.guaranteed.pubend.pubend_state import PubendState
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.requests import Requests
from penstock.guaranteed.settings import BrokerSettings
from penstock.guaranteed.stream_table import StreamTable
from penstock.guaranteed.sync_times import SyncTimes
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Deliver, Output, Port
from penstock.wire.frames.guaranteed.base import BrokerFrame, ClientFrame
from penstock.wire.frames.guaranteed.hello import Hello, Ping

AnyFrame: TypeAlias = BrokerFrame | ClientFrame
SizeOf: TypeAlias = Callable[[AnyFrame], int]


class Broker:
    """One broker, as a machine."""

    def __init__(
        self, state: BrokerState, *, settings: BrokerSettings, size_of: SizeOf, now: Instant
    ) -> None:
        self.name: Final = state.name
        self.life: Final = state.life
        # Where clients reach it; the driver knows when it listens.
        self.address = state.address
        self.settings: Final = settings
        self.disk: Final = Disk()
        # What the driver has measured; None if it does not.
        self.sync_times: SyncTimes | None = None
        self._now = now
        # Wall time, at the instant 0 of the driver's clock.
        self._wall_ns: Final = state.wall_ns - now
        self._queues: Final = LinkQueues[AnyFrame](
            settings.link.queue_bytes,
            size_of=size_of,
            lane_of=lane_of if settings.link.pubends_take_turns else one_lane_of,
        )
        self._clients: Final = Clients(self)
        self._facts: Final[deque[BrokerFact]] = deque()
        # The last ones, with their Unix time, for who asks later.
        self.alarms: Final[deque[tuple[int, Alarm]]] = deque(maxlen=20)
        self.links: Final = Links(self, state.saved, parents=state.parents)
        self.router: Final = PartRouter(self, self._queues)
        self.relays: Final[Mapping[int, Relay]] = self.router.relays
        self._own_pubends: Final = OwnPubends(self, self._queues, confirm=self._clients.confirm)
        self.pubends: Final[Mapping[int, Pubend]] = self._own_pubends.by_id
        self.streams: Final = StreamTable(self.links.announcements)
        self.lags: Final = LagRequests(self)
        self.requests: Final = Requests(self)
        self.host: Final = SubscriberHost(
            state.name,
            state.life,
            disk=self.disk,
            settings=settings.host,
            congestion=settings.congestion,
            stored=state.saved,
            pubends_of=self.streams.everywhere,
            knows_all_streams=lambda: self.knows_all_streams,
            ask=self.router.ask,
            send=self.send_client,
            queued_bytes=self._queues.queued_bytes,
            name_of=self._clients.name_of,
            tell=self.tell,
            wall_ns=self.wall_ns,
            now=now,
        )
        for pubend in state.pubends:
            self._own_pubends.add(pubend, wall_ns=state.wall_ns, now=now)
        for pubend_id in self.links.announcements.remembered:
            self.router.relay_of(pubend_id)
        for own in self.pubends.values():
            # One whose log alone was restored knows no more than others.
            self.host.announced(own.announcement(), now=now)

    # What it knows

    def wall_ns(self, now: Instant) -> int:
        """Unix time, by the wall clock as it was at the start: a step of it changes nothing."""
        return self._wall_ns + now

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._clients.connected)

    @property
    def queues(self) -> Mapping[Port, OutputQueue[AnyFrame]]:
        """What waits for each link and connection."""
        return self._queues.by_port

    @property
    def knows_all_streams(self) -> bool:
        """Whether all parents are there: what none of them announces does not exist."""
        return self.links.announcements.are_complete

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in doubt, asked for or unsynced; cursors move all the time."""
        return (
            self.router.is_idle
            and not self._clients.waiting
            and not any(len(queue) for queue in self._queues.by_port.values())
            and not any(pubend.unsynced for pubend in self.pubends.values())
            and all(relay.is_idle for relay in self.relays.values())
            and self.host.is_idle
        )

    # Links and connections

    def link_up(
        self, port: Port, *, to_parent: bool, room_bytes: int = 0, address: str = "", now: Instant
    ) -> None:
        """A link to another broker is there; `address` is where a parent was reached."""
        self._queues.open(port, room_bytes=room_bytes)
        self.links.up(port, to_parent=to_parent, address=address)
        self._settle(now)

    def link_down(self, port: Port, *, now: Instant) -> None:
        """A link is gone, with what was queued for it."""
        self._queues.close(port)
        self.links.down(port, now=now)
        self._settle(now)

    def client_up(self, port: Port, *, room_bytes: int = 0, now: Instant) -> None:
        """A client has opened a connection."""
        self._queues.open(port, room_bytes=room_bytes)
        self._settle(now)

    def client_down(self, port: Port, *, now: Instant) -> None:
        """A client's connection is gone."""
        self._queues.close(port)
        self.host.client_gone(port, now=now)
        self._clients.gone(port)
        self._settle(now)

    def room(self, port: Port, size_bytes: int, *, now: Instant) -> None:
        """The link takes so many more bytes: what waits for that leaves, and repairs go on."""
        if self._queues.add_room(port, size_bytes) and self._own_pubends.resume_repairs(now=now):
            self._settle(now)

    # The disk

    def appended(self, log: str, upto: int, lease: int, *, now: Instant) -> None:
        """Records of a log are synced: they are confirmed, and go to readers with `settle`.

        A publisher waits for nothing but the disk; what readers need would keep it waiting longer.
        """
        pubend = self._own_pubends.of_log(log)
        # One that was deleted may still be told of its last writes.
        if pubend is not None:
            pubend.appended(upto, lease, now=now)
        self._clients.send_confirmations()

    def settle(self, *, now: Instant) -> None:
        """Does what `appended` has left; so does any other verb."""
        self._settle(now)

    def rolled(self, log: str, *, now: Instant) -> None:
        """A log has begun a segment."""
        pubend = self._own_pubends.of_log(log)
        if pubend is not None:
            pubend.rolled(now=now)
        self._settle(now)

    def fetched(self, request: int, result: Fetched, *, now: Instant) -> None:
        """A log has been read."""
        self.disk.fetched(request, result, now)
        self._settle(now)

    def counted(self, request: int, result: Counted, *, now: Instant) -> None:
        """Messages of a log have been counted."""
        self.disk.counted(request, result, now)
        self._settle(now)

    def saved(self, serial: int, *, now: Instant) -> None:
        """A value is stored."""
        self.disk.saved(serial, now)
        self._settle(now)

    def disk_full(self, log: str, is_full: bool, *, now: Instant) -> None:
        """There is no room for another segment, or there is again."""
        self._own_pubends.disk_full(log, is_full)
        self._settle(now)

    # Streams

    def add_stream(self, state: PubendState, *, now: Instant) -> None:
        """A log was created for a stream: the answer to `StreamWanted`."""
        self._own_pubends.add(state, wall_ns=self.wall_ns(now), now=now)
        self.links.announce()
        self.requests.stream_created(state.stream, now=now)
        self.host.streams_changed(now=now)
        self._settle(now)

    def stream_refused(self, stream: str, reason: str, text: str, *, now: Instant) -> None:
        """No log could be created: the other answer to `StreamWanted`."""
        self.requests.stream_refused(stream, reason, text)
        self._settle(now)

    def stream_deleted(self, stream: str, *, now: Instant) -> None:
        """The log of a stream is gone: the answer to `StreamUnwanted`."""
        self.requests.stream_deleted(stream)
        self._settle(now)

    def remove_pubend(self, pubend: Pubend, *, now: Instant) -> None:
        """Takes a pubend away, with all that was saved of it; its log is left to the driver."""
        self._own_pubends.remove(pubend)
        self._clients.stream_deleted(pubend)
        self.forget_pubend(pubend.id, now=now)
        self.links.announce()

    def forget_pubend(self, pubend: int, *, now: Instant) -> None:
        """A stream was deleted, here or at another broker: nobody can read it any more."""
        self.router.forget(pubend)
        self.host.pubend_gone(pubend, now=now)
        self.host.streams_changed(now=now)

    def tell(self, fact: BrokerFact) -> None:
        """Something for the driver."""
        self._facts.append(fact)
        if isinstance(fact, Alarm):
            self.alarms.append((self.wall_ns(self._now), fact))

    # The shape of every machine

    def receive(self, frame: AnyFrame, *, via: Port, now: Instant) -> None:
        """A frame from a link or a client."""
        self.receive_all((frame,), via=via, now=now)

    def receive_all(self, frames: Sequence[AnyFrame], *, via: Port, now: Instant) -> None:
        """Frames of one link or client, in their order: quicker than one by one."""
        self._now = now
        for frame in frames:
            if isinstance(frame, ClientFrame):
                self._clients.receive(via, frame, now=now)
            elif isinstance(frame, Hello):
                self.links.on_hello(via, frame, now=now)
            elif not isinstance(frame, Ping):
                self.links.receive(via, frame, now=now)
        self._settle(now)

    def wake(self, *, now: Instant) -> None:
        """Runs what is due."""
        self._now = now
        for pubend in self.pubends.values():
            pubend.wake(now=now)
        for relay in self.relays.values():
            relay.wake(now=now)
        self.host.wake(now=now)
        self._clients.wake(now=now)
        self.links.wake(now=now)
        self.lags.wake(now=now)
        self._settle(now)

    def next_wakeup(self) -> Instant | None:
        """The next of all timers."""
        return earliest(
            *(pubend.next_wakeup() for pubend in self.pubends.values()),
            *(relay.next_wakeup() for relay in self.relays.values()),
            self.host.next_wakeup(),
            self._clients.next_wakeup(now=self._now),
            self.links.next_wakeup(),
            self.lags.next_wakeup(),
        )

    def poll(self) -> Output[AnyFrame] | None:
        """The next output: to the disk first, then to links with room."""
        if self.disk.outputs:
            return self.disk.outputs.popleft()
        if self._facts:
            return Deliver(self._facts.popleft())
        return self._queues.take()

    # Ways out

    def send_client(self, port: Port, /, *frames: ClientFrame) -> None:
        """Sends frames to a client, if it is still there."""
        if port not in self._clients.closing:
            self._queues.put(port, frames)
            self._clients.note_unread(port, self._queues.queued_bytes(port))

    def drop_queue(self, port: Port) -> None:
        """Forgets what waits for a connection that is about to be closed."""
        self._queues.clear(port)

    def send_broker(self, port: Port, frame: BrokerFrame) -> None:
        """Sends a frame to another broker, if the link is still there."""
        self._queues.put(port, (frame,))

    def _settle(self, now: Instant) -> None:
        """Passes frames between the parts until none is left, then confirms what is stored."""
        self._now = now
        self._clients.close_overflown(now=now)
        self.host.settle(now=now)
        self.router.deliver(now=now)
        self._clients.send_confirmations()

    # Clients

    def close_client(self, port: Port, reason: str, text: str, *, now: Instant) -> None:
        """Refuses a connection and has it closed; also for frames that cannot be decoded."""
        self._clients.close(port, reason, text, now=now)
