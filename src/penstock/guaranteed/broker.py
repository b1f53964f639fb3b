"""A broker of guaranteed streams: pubends, relays and a host, in any mix.

The pubends are local parents of the relays and the host is their local child, by the same frames
that cross links: every mix of roles is the same code. Frames between the parts of one broker wait
in a queue of their own, so that no part calls into another while that one is at work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias
from zlib import crc32

import msgspec

from penstock.guaranteed.connections import Connection
from penstock.guaranteed.disk import Disk
from penstock.guaranteed.facts import BrokerFact, Disconnect
from penstock.guaranteed.host.subscriber_host import SubscriberHost
from penstock.guaranteed.log_record import Fetched
from penstock.guaranteed.output.output_queue import OutputQueue
from penstock.guaranteed.pubend.pubend import Pubend, PubendState
from penstock.guaranteed.relay.relay import Relay
from penstock.guaranteed.requests import Requests
from penstock.guaranteed.settings import BrokerSettings, PubendSettings
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Deliver, Output, Port, Send
from penstock.wire.frames.guaranteed.base import BrokerFrame, ClientFrame, ReaderId
from penstock.wire.frames.guaranteed.client import (
    Ask,
    ClientPing,
    Connect,
    Credit,
    CreditKind,
    Refused,
    RefusedKind,
    Welcome,
)
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Ping, Role
from penstock.wire.frames.guaranteed.knowledge import Data, Silence
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, Stored
from penstock.wire.frames.guaranteed.requests import (
    FilterRequest,
    Nack,
    ReaderRequest,
)
from penstock.wire.frames.guaranteed.rows import Ack, Hold
from penstock.wire.frames.guaranteed.subscription import Attach, ClientAck, Detach, Fail, Forget

AnyFrame: TypeAlias = BrokerFrame | ClientFrame
SizeOf: TypeAlias = Callable[[AnyFrame], int]

# Ports of the parts of this broker.
_HOST: Final = "@host"
_PUBEND: Final = "@pubend"
_DISTANCE_MAX: Final = 16
# Keys of what parents have announced.
_REMEMBERED: Final = "announced/"
_TO_HOST: Final = (Attach, Credit, ClientAck, Fail, Detach, Forget)
_FROM_CHILD: Final = (Nack, FilterRequest, ReaderRequest, Hold, Ack)


class BrokerState(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker starts with: its name, and what its disk has kept."""

    name: str
    # Higher after each restart.
    life: int
    wall_ns: int
    pubends: Sequence[PubendState] = ()
    # How many parents it was told to connect to.
    parents: int = 0
    # Everything saved that is not of a pubend.
    saved: Mapping[str, bytes] = {}


class Broker:
    """One broker, as a machine."""

    def __init__(
        self, state: BrokerState, *, settings: BrokerSettings, size_of: SizeOf, now: Instant
    ) -> None:
        self.name: Final = state.name
        self.life: Final = state.life
        self.settings: Final = settings
        self.disk: Final = Disk()
        self._size_of: Final = size_of
        self._now = now
        # Wall time, at the instant 0 of the driver's clock.
        self._wall_ns: Final = state.wall_ns - now
        self._queues: Final[dict[Port, OutputQueue[AnyFrame]]] = {}
        self._clients: Final[dict[Port, Connection]] = {}
        # Connections that the driver was told to close: nothing they send counts any more.
        self._closing: Final[dict[Port, None]] = {}
        self._facts: Final[deque[BrokerFact]] = deque()
        # Links to other brokers, by whether they are parents; what parents announce.
        self._is_parent: Final[dict[Port, bool]] = {}
        self._announced: Final[dict[Port, dict[int, Announcement]]] = {}
        # Parents that do not know yet what their own parents serve.
        self._partial: Final[set[Port]] = set()
        self._parents: Final = state.parents
        # Pubends of other brokers by id, with their streams: known also while parents are away.
        self._remembered: Final[dict[int, str]] = {
            int(key.removeprefix(_REMEMBERED), 16): value.decode()
            for key, value in state.saved.items()
            if key.startswith(_REMEMBERED)
        }
        # Between the parts: where to, where from, and what.
        self._internal: Final[deque[tuple[Port, Port, BrokerFrame]]] = deque()
        self._confirmed: Final[dict[tuple[Port, str], list[tuple[int, Stored]]]] = {}
        self.pubends: Final[dict[int, Pubend]] = {}
        self.relays: Final[dict[int, Relay]] = {}
        self._requests: Final = Requests(self)
        self.host: Final = SubscriberHost(
            state.name,
            state.life,
            disk=self.disk,
            settings=settings.host,
            stored=state.saved,
            pubends_of=self.pubends_of,
            knows_all_streams=lambda: self.knows_all_streams,
            ask=self._ask_relay,
            send=self.send_client,
            name_of=lambda port: self._clients[port].publisher,
            wall_ns=self.wall_ns,
        )
        for pubend in state.pubends:
            self._add_pubend(pubend, wall_ns=state.wall_ns, now=now)
        for pubend_id in self._remembered:
            self._relay_of(pubend_id)

    # What it knows

    def wall_ns(self, now: Instant) -> int:
        """Unix time, by the wall clock as it was at the start: a step of it changes nothing."""
        return self._wall_ns + now

    def pubends_of(self, stream: str) -> list[int]:
        """The pubends of a stream: own ones, and those that parents have announced."""
        own = [pubend.id for pubend in self.pubends.values() if pubend.stream == stream]
        remembered = [id_ for id_, name in self._remembered.items() if name == stream]
        return sorted({*own, *remembered})

    def streams(self) -> set[str]:
        """The names of all streams that are known."""
        return {*(pubend.stream for pubend in self.pubends.values()), *self._remembered.values()}

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._clients)

    @property
    def queues(self) -> Mapping[Port, OutputQueue[AnyFrame]]:
        """What waits for each link and connection."""
        return self._queues

    @property
    def knows_all_streams(self) -> bool:
        """Whether all parents are there: what none of them announces does not exist."""
        return len(self._announced) - len(self._partial) >= self._parents

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in doubt, asked for or unsynced; cursors move all the time."""
        return (
            not self._internal
            and not any(len(queue) for queue in self._queues.values())
            and not any(pubend.unsynced for pubend in self.pubends.values())
            and all(relay.is_idle for relay in self.relays.values())
            and self.host.is_idle
        )

    def add_pubend(self, state: PubendState, *, wall_ns: int) -> None:
        """A stream has been created here; children are told."""
        self._add_pubend(state, wall_ns=wall_ns, now=self._now)
        for port, is_parent in self._is_parent.items():
            if not is_parent:
                self._say_hello(port)
        self.host.streams_changed(now=self._now)

    # Links and connections

    def link_up(self, port: Port, *, to_parent: bool, room_bytes: int = 0, now: Instant) -> None:
        """A link to another broker is there."""
        self._queues[port] = OutputQueue(self.settings.link.queue_bytes, room_bytes=room_bytes)
        self._is_parent[port] = to_parent
        if not to_parent:
            for relay in self.relays.values():
                relay.child_up(port)
        self._say_hello(port)
        self._settle(now)

    def link_down(self, port: Port, *, now: Instant) -> None:
        """A link is gone, with what was queued for it."""
        self._queues.pop(port, None)
        is_parent = self._is_parent.pop(port, None)
        if is_parent:
            self._announced.pop(port, None)
            self._partial.discard(port)
            for pubend, relay in self.relays.items():
                if relay.parent == port:
                    relay.parent_down()
                    self.host.link_lost(pubend)
        elif is_parent is not None:
            for relay in self.relays.values():
                relay.child_down(port)
        self._settle(now)

    def client_up(self, port: Port, *, room_bytes: int = 0, now: Instant) -> None:
        """A client has opened a connection."""
        self._queues[port] = OutputQueue(self.settings.link.queue_bytes, room_bytes=room_bytes)
        self._settle(now)

    def client_down(self, port: Port, *, now: Instant) -> None:
        """A client's connection is gone."""
        self._queues.pop(port, None)
        self.host.client_gone(port, now=now)
        self._clients.pop(port, None)
        self._closing.pop(port, None)
        self._settle(now)

    def room(self, port: Port, size_bytes: int, *, now: Instant) -> None:
        """The link takes so many more bytes."""
        queue = self._queues.get(port)
        if queue is not None:
            queue.room_bytes += size_bytes
            for pubend in self.pubends.values():
                pubend.proceed()
        self._settle(now)

    # The disk

    def appended(self, log: str, upto: int, lease: int, *, now: Instant) -> None:
        """Records of a log are synced."""
        pubend = self.pubends.get(int(log, 16))
        # One that was deleted may still be told of its last writes.
        if pubend is not None:
            pubend.appended(upto, lease, now=now)
        self._settle(now)

    def rolled(self, log: str, *, now: Instant) -> None:
        """A log has begun a segment."""
        pubend = self.pubends.get(int(log, 16))
        if pubend is not None:
            pubend.rolled(now=now)
        self._settle(now)

    def fetched(self, request: int, result: Fetched, *, now: Instant) -> None:
        """A log has been read."""
        self.disk.fetched(request, result, now)
        self._settle(now)

    def saved(self, serial: int, *, now: Instant) -> None:
        """A value is stored."""
        self.disk.saved(serial, now)
        self._settle(now)

    def disk_full(self, log: str, is_full: bool, *, now: Instant) -> None:
        """There is no room for another segment, or there is again."""
        pubend = self.pubends.get(int(log, 16))
        if pubend is not None:
            pubend.is_disk_full = is_full
        self._settle(now)

    # Streams

    def add_stream(self, state: PubendState, *, now: Instant) -> None:
        """A log was created for a stream: the answer to `StreamWanted`."""
        self._add_pubend(state, wall_ns=self.wall_ns(now), now=now)
        self._announce()
        self._requests.stream_created(state.stream)
        self.host.streams_changed(now=now)
        self._settle(now)

    def stream_refused(self, stream: str, reason: str, text: str, *, now: Instant) -> None:
        """No log could be created: the other answer to `StreamWanted`."""
        self._requests.stream_refused(stream, reason, text)
        self._settle(now)

    def stream_deleted(self, stream: str, *, now: Instant) -> None:
        """The log of a stream is gone: the answer to `StreamUnwanted`."""
        self._requests.stream_deleted(stream)
        self._settle(now)

    def remove_pubend(self, pubend: Pubend, *, now: Instant) -> None:
        """Takes a pubend away, with all that was saved of it; its log is left to the driver."""
        del self.pubends[pubend.id]
        del self.relays[pubend.id]
        pubend.delete_saved()
        self.host.pubend_gone(pubend.id, now=now)
        self._announce()

    def tell(self, fact: BrokerFact) -> None:
        """Something for the driver."""
        self._facts.append(fact)

    def _announce(self) -> None:
        for child, is_parent in self._is_parent.items():
            if not is_parent:
                self._say_hello(child)

    # The shape of every machine

    def receive(self, frame: AnyFrame, *, via: Port, now: Instant) -> None:
        """A frame from a link or a client."""
        self._now = now
        if isinstance(frame, ClientFrame):
            self._receive_from_client(via, frame, now)
        elif isinstance(frame, Hello):
            self._on_hello(via, frame, now)
        elif not isinstance(frame, Ping):
            self._receive_from_broker(via, frame, now)
        self._settle(now)

    def wake(self, *, now: Instant) -> None:
        """Runs what is due."""
        self._now = now
        for pubend in self.pubends.values():
            pubend.wake(now=now)
        for relay in self.relays.values():
            relay.wake(now=now)
        self.host.wake(now=now)
        self._settle(now)

    def next_wakeup(self) -> Instant | None:
        """The next of all timers."""
        return earliest(
            *(pubend.next_wakeup() for pubend in self.pubends.values()),
            *(relay.next_wakeup() for relay in self.relays.values()),
            self.host.next_wakeup(),
        )

    def poll(self) -> Output[AnyFrame] | None:
        """The next output: to the disk first, then to links with room."""
        if self.disk.outputs:
            return self.disk.outputs.popleft()
        if self._facts:
            return Deliver(self._facts.popleft())
        for port, queue in self._queues.items():
            frame = queue.take()
            if frame is not None:
                return Send(port, frame)
        return None

    # Routing

    def _add_pubend(self, state: PubendState, *, wall_ns: int, now: Instant) -> None:
        def may_repair(_reader: ReaderId | None) -> bool:
            # Answers spread over links; none may be more than half full.
            return all(queue.is_below_half for queue in self._queues.values())

        pubend = Pubend(
            state,
            disk=self.disk,
            settings=self.settings.pubend,
            send=lambda frame: self._internal.append((f"relay/{state.id}", _PUBEND, frame)),
            confirm=self._confirm,
            may_repair=may_repair,
            wall_ns=wall_ns,
            now=now,
        )
        self.pubends[state.id] = pubend
        self._relay_of(state.id).parent_up(_PUBEND)

    def _relay_of(self, pubend: int) -> Relay:
        relay = self.relays.get(pubend)
        if relay is None:
            relay = self.relays[pubend] = Relay(
                pubend, settings=self.settings.relay, send=self._send_from_relay(pubend)
            )
            relay.child_up(_HOST)
            for port, is_parent in self._is_parent.items():
                if not is_parent:
                    relay.child_up(port)
            self.host.pubend_known(pubend)
        return relay

    def _send_from_relay(self, pubend: int) -> Callable[[Port, BrokerFrame], None]:
        def send(port: Port, frame: BrokerFrame) -> None:
            if port is _HOST or port is _PUBEND:
                self._internal.append((port, f"relay/{pubend}", frame))
            else:
                self._put(port, frame, may_drop=isinstance(frame, Data | Silence))

        return send

    def _ask_relay(self, frame: BrokerFrame) -> None:
        self._internal.append((f"relay/{frame.pubend}", _HOST, frame))  # type: ignore[attr-defined]

    def send_client(self, port: Port, frame: ClientFrame) -> None:
        """Sends a frame to a client, if it is still there."""
        self._put(port, frame, may_drop=False)

    def _put(self, port: Port, frame: AnyFrame, *, may_drop: bool) -> None:
        queue = self._queues.get(port)
        if queue is not None:
            queue.put(frame, self._size_of(frame), may_drop=may_drop)

    def _settle(self, now: Instant) -> None:
        """Passes frames between the parts until none is left, then confirms what is stored."""
        self._now = now
        self.host.settle(now=now)
        while self._internal:
            to, source, frame = self._internal.popleft()
            pubend_id: int = frame.pubend  # type: ignore[attr-defined]
            if pubend_id not in self.relays:
                # It was deleted while this was on its way.
                continue
            if to is _HOST:
                self.host.receive_from_relay(frame, now=now)
            elif to is _PUBEND:
                self.pubends[pubend_id].receive(frame, now=now)
            else:
                relay = self.relays[pubend_id]
                if source is _PUBEND:
                    relay.receive_from_parent(frame, now=now)
                else:
                    relay.receive_from_child(_HOST, frame, now=now)
            self.host.settle(now=now)
        for (port, stream), confirmed in self._confirmed.items():
            ids = tuple(id_ for id_, _ in confirmed)
            stored = tuple(place for _, place in confirmed)
            self.send_client(port, Confirm(stream=stream, ids=ids, stored=stored))
        self._confirmed.clear()

    # Brokers

    def _say_hello(self, port: Port) -> None:
        announcements = [pubend.announcement() for pubend in self.pubends.values()]
        for announced in self._announced.values():
            announcements += [
                msgspec.structs.replace(each, distance=each.distance + 1)
                for each in announced.values()
                if each.distance < _DISTANCE_MAX
            ]
        roles = Role.PUBLISH | Role.RELAY | Role.HOST
        self._put(
            port,
            Hello(
                broker=self.name,
                life=self.life,
                roles=roles if self.knows_all_streams else roles | Role.PARTIAL,
                token=0,
                pubends=tuple(announcements),
            ),
            may_drop=False,
        )

    def _on_hello(self, port: Port, frame: Hello, now: Instant) -> None:
        if not self._is_parent.get(port):
            return
        self._announced[port] = {each.pubend: each for each in frame.pubends}
        if frame.roles & Role.PARTIAL:
            self._partial.add(port)
        else:
            self._partial.discard(port)
        for announcement in frame.pubends:
            if announcement.pubend in self.pubends or announcement.distance > _DISTANCE_MAX:
                continue
            if announcement.pubend not in self._remembered:
                self._remembered[announcement.pubend] = announcement.stream
                key = f"{_REMEMBERED}{announcement.pubend:016x}"
                self.disk.save(key, announcement.stream.encode())
            relay = self._relay_of(announcement.pubend)
            if relay.parent is None:
                relay.parent_up(port)
        self._announce()
        self.host.streams_changed(now=now)

    def _receive_from_broker(self, port: Port, frame: BrokerFrame, now: Instant) -> None:
        relay = self.relays.get(frame.pubend)  # type: ignore[attr-defined]
        if relay is None:
            return
        if isinstance(frame, _FROM_CHILD) and not self._is_parent.get(port, True):
            relay.receive_from_child(port, frame, now=now)
        elif relay.parent == port:
            relay.receive_from_parent(frame, now=now)

    # Clients

    def _receive_from_client(self, port: Port, frame: ClientFrame, now: Instant) -> None:
        if port in self._closing:
            return
        client = self._clients.get(port)
        if isinstance(frame, Connect):
            if client is None:
                self._on_connect(port, frame, now)
            else:
                self.close_client(port, "protocol", "CONNECT came twice", now=now)
        elif client is None:
            self.close_client(port, "protocol", "the first frame is no CONNECT", now=now)
        elif isinstance(frame, Publish):
            self._on_publish(port, client, frame, now)
        elif isinstance(frame, Ask):
            self._requests.receive(port, frame, now=now)
        elif isinstance(frame, _TO_HOST):
            self.host.receive_from_client(port, frame, now=now)
        elif not isinstance(frame, ClientPing):
            text = f"a client sends no {type(frame).__name__}"
            self.close_client(port, "protocol", text, now=now)

    def close_client(self, port: Port, reason: str, text: str, *, now: Instant) -> None:
        """Refuses a connection and has it closed; also for frames that cannot be decoded."""
        self.send_client(
            port, Refused(kind=RefusedKind.CONNECTION, number=0, reason=reason, text=text)
        )
        self.host.client_gone(port, now=now)
        self._clients.pop(port, None)
        self._closing[port] = None
        self.tell(Disconnect(port, text))

    def _on_connect(self, port: Port, frame: Connect, now: Instant) -> None:
        for other, client in list(self._clients.items()):
            if client.publisher != frame.publisher:
                continue
            if client.life > frame.life:
                text = "a newer connection with this name is here already"
                self.close_client(port, "fenced", text, now=now)
                return
            self.close_client(other, "fenced", "a newer connection has the same name", now=now)
        self._clients[port] = Connection(frame.publisher, frame.life)
        limits = self.settings.pubend
        self.send_client(
            port, Welcome(broker=self.name, message_bytes_max=limits.message_bytes_max)
        )
        self.send_client(
            port,
            Credit(
                kind=CreditKind.STREAM,
                number=0,
                messages=limits.credit_messages,
                size_bytes=limits.credit_bytes,
            ),
        )

    def _on_publish(self, port: Port, client: Connection, frame: Publish, now: Instant) -> None:
        limits = self.settings.pubend
        if not client.publish(frame.stream, frame.id, len(frame.body), limits):
            text = (
                f"more than {limits.credit_messages} messages or {limits.credit_bytes} bytes are"
                " unconfirmed: wait for confirmations"
            )
            self.close_client(port, "credit", text, now=now)
            return
        own = [pubend for pubend in self.pubends.values() if pubend.stream == frame.stream]
        reason: str | None
        if own:
            # A publisher always uses the same one: its messages stay in order.
            at = crc32(client.publisher.encode()) % len(own)
            reason = own[at].publish(port, client.publisher, frame.id, frame.body, now=now)
        else:
            reason = "not_here" if self.pubends_of(frame.stream) else "unknown_stream"
        if reason is None:
            return
        text = _publication_text(reason, frame.stream, len(frame.body), limits, own)
        if reason == "malformed":
            self.close_client(port, reason, text, now=now)
            return
        client.answer(frame.stream, frame.id)
        self.send_client(
            port,
            Refused(kind=RefusedKind.PUBLICATION, number=frame.id, reason=reason, text=text),
        )

    def _confirm(self, port: Port, stream: str, publication: int, stored: Stored) -> None:
        client = self._clients.get(port)
        if client is not None:
            client.answer(stream, publication)
            self._confirmed.setdefault((port, stream), []).append((publication, stored))


def _publication_text(
    reason: str, stream: str, size_bytes: int, limits: PubendSettings, pubends: list[Pubend]
) -> str:
    """Why a publication was refused, and what to do."""
    if reason == "stream_full":
        lowest = pubends[0].rows.lowest()
        if lowest is not None:
            host, row = lowest
            names = [name for name, owner in pubends[0].rows.host_of.items() if owner == host]
            _, waiting_bytes = pubends[0].size.behind(row.tick)
            return (
                f"stream {stream!r} is full: {waiting_bytes} bytes wait for"
                f" {', '.join(map(repr, names[:3]))} at {host}: start it, delete it, or raise"
                " retention.size"
            )
    texts = {
        "stream_full": f"stream {stream!r} is full: raise retention.size",
        "disk_full": f"stream {stream!r} cannot grow: the disk is full, free some of it",
        "unknown_stream": (
            f"no stream {stream!r} here: create it with 'penstock stream create {stream}'"
        ),
        "not_here": f"stream {stream!r} is stored at another broker: publish there",
        "too_large": (
            f"the message has {size_bytes} bytes: at most {limits.message_bytes_max} are allowed"
        ),
        "malformed": "a message has attributes that cannot be read",
    }
    return texts[reason]
