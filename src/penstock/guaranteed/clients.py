"""The clients of a broker: who is connected, what they publish, and what is confirmed to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from penstock.guaranteed.connections import Connection
from penstock.guaranteed.facts import Disconnect
from penstock.guaranteed.refusals import publication_text
from penstock.guaranteed.waiting_publications import WaitingPublications
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.acknowledgement import ClientAck
from penstock.wire.frames.guaranteed.base import CONFIRM_ENTRIES_MAX, ClientFrame
from penstock.wire.frames.guaranteed.client import (
    Ask,
    ClientPing,
    Connect,
    Credit,
    CreditKind,
    RefusedKind,
    Welcome,
    refusal,
)
from penstock.wire.frames.guaranteed.publication import (
    Confirm,
    Publish,
    Stored,
    StoredRun,
    stored_at,
)
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt, Receipt
from penstock.wire.frames.guaranteed.subscription import Attach, Detach, Fail, Forget

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker
    from penstock.guaranteed.pubend.pubend import Pubend

_TO_HOST: Final = (Attach, Credit, ClientAck, Fail, Detach, Forget)


class Publication(NamedTuple):
    """One message that a client publishes."""

    stream: str
    id: int
    body: bytes
    wants_receipt: bool


class Clients:
    """All connections of clients to one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker: Final = broker
        # Those that have sent CONNECT.
        self.connected: Final[dict[Port, Connection]] = {}
        # Connections that the driver was told to close: nothing they send counts any more.
        self.closing: Final[dict[Port, None]] = {}
        # Those that leave too much unread.
        self._overflown: Final[dict[Port, None]] = {}
        self._confirmed: Final[dict[tuple[Port, str], list[StoredRun]]] = {}
        # What pubends may not take yet, because hosts are behind.
        self._waiting: Final[dict[int, WaitingPublications[Publication]]] = {}

    def receive(self, port: Port, frame: ClientFrame, *, now: Instant) -> None:
        """A frame of a client."""
        if port in self.closing:
            return
        client = self.connected.get(port)
        if isinstance(frame, Publish) and client is not None:
            self.publish_all(port, client, frame, now=now)
        elif isinstance(frame, Connect):
            self.connect(port, frame, now=now)
        elif client is None:
            self.close(port, "protocol", "the first frame is no CONNECT", now=now)
        elif isinstance(frame, Ask):
            self._broker.requests.receive(port, frame, now=now)
        elif isinstance(frame, _TO_HOST):
            self._broker.host.receive_from_client(port, frame, now=now)
        elif not isinstance(frame, ClientPing):
            text = f"a client sends no {type(frame).__name__}"
            self.close(port, "protocol", text, now=now)

    @property
    def waiting(self) -> int:
        """How many publications wait until hosts can take more."""
        return sum(map(len, self._waiting.values()))

    def name_of(self, port: Port) -> str:
        """Who is connected there."""
        return self.connected[port].publisher

    def gone(self, port: Port) -> None:
        """A connection has ended."""
        client = self.connected.pop(port, None)
        self.closing.pop(port, None)
        self._overflown.pop(port, None)
        if client is not None:
            self._leave(port, client)

    def _leave(self, port: Port, client: Connection) -> None:
        """Nothing more is taken from a client; it repeats what was not confirmed."""
        for waiting in self._waiting.values():
            waiting.gone(port)
        if all(other.publisher != client.publisher for other in self.connected.values()):
            for pubend in self._broker.pubends.values():
                pubend.throttle.gone(client.publisher)

    def close(self, port: Port, reason: str, text: str, *, now: Instant) -> None:
        """Refuses a connection and has it closed."""
        self._broker.send_client(port, refusal(RefusedKind.CONNECTION, 0, reason, text))
        self._broker.host.client_gone(port, now=now)
        client = self.connected.pop(port, None)
        if client is not None:
            self._leave(port, client)
        self.closing[port] = None
        self._broker.tell(Disconnect(port, text))

    def note_unread(self, port: Port, size_bytes: int) -> None:
        """So much waits for a client."""
        if size_bytes > self._broker.settings.link.client_unread_bytes:
            self._overflown[port] = None

    def close_overflown(self, *, now: Instant) -> None:
        """Ends connections that take nothing and ask for more and more."""
        while self._overflown:
            port, _ = self._overflown.popitem()
            if port not in self.closing:
                limit = self._broker.settings.link.client_unread_bytes
                text = f"more than {limit} bytes wait for this client: read what comes"
                self._broker.drop_queue(port)
                self.close(port, "slow", text, now=now)

    def connect(self, port: Port, frame: Connect, *, now: Instant) -> None:
        """CONNECT: of two with one name the newer life stays."""
        if port in self.connected:
            self.close(port, "protocol", "CONNECT came twice", now=now)
            return
        for other, client in list(self.connected.items()):
            if client.publisher != frame.publisher:
                continue
            if client.life > frame.life:
                text = "a newer connection with this name is here already"
                self.close(port, "fenced", text, now=now)
                return
            self.close(other, "fenced", "a newer connection has the same name", now=now)
        self.connected[port] = Connection(frame.publisher, frame.life)
        limits = self._broker.settings.pubend
        self._broker.send_client(
            port, Welcome(broker=self._broker.name, message_bytes_max=limits.message_bytes_max)
        )
        self._broker.send_client(
            port,
            Credit(
                kind=CreditKind.STREAM,
                number=0,
                messages=limits.credit_messages,
                size_bytes=limits.credit_bytes,
            ),
        )

    def publish_all(self, port: Port, client: Connection, frame: Publish, *, now: Instant) -> None:
        """PUBLISH: takes what is plainly new at once, and the rest one by one."""
        pubend, done = self._pubend_of(client, frame.stream), 0
        waits = False
        if pubend is not None:
            pubend.throttle.arrived(client.publisher, len(frame.ids), now=now)
            waits = pubend.throttle.rate is not None or bool(self._waiting.get(pubend.id))
        if type(frame) is Publish and pubend is not None and not waits:
            within = client.publish_all(frame, self._broker.settings.pubend)
            if within:
                done = pubend.publish_new(port, client.publisher, frame.ids, frame.bodies, now=now)
        has_receipt = isinstance(frame, PublishWithReceipt)
        for id_, body in zip(frame.ids[done:], frame.bodies[done:], strict=True):
            if port in self.closing:
                return
            one = Publication(frame.stream, id_, body, has_receipt)
            if not done and not self._is_within_credit(port, client, one, now=now):
                return
            if pubend is not None and waits:
                self._wait(pubend, port, client, one, now=now)
            else:
                self.publish(port, client, one, now=now)
        if waits:
            self._release(now)

    def _is_within_credit(
        self, port: Port, client: Connection, one: Publication, *, now: Instant
    ) -> bool:
        """Notes a publication; a client that exceeds its credit is disconnected."""
        limits = self._broker.settings.pubend
        if client.publish(one.stream, one.id, len(one.body), limits):
            return True
        text = (
            f"more than {limits.credit_messages} messages or {limits.credit_bytes} bytes are"
            " unconfirmed: wait for confirmations"
        )
        self.close(port, "credit", text, now=now)
        return False

    def _wait(
        self, pubend: Pubend, port: Port, client: Connection, one: Publication, *, now: Instant
    ) -> None:
        """Keeps a publication until hosts can take more."""
        waiting = self._waiting.get(pubend.id)
        if waiting is None:
            in_turn = self._broker.settings.congestion.publishers_take_turns
            waiting = self._waiting[pubend.id] = WaitingPublications(in_turn=in_turn)
        waiting.add(port, one)
        pubend.throttle.wait(client.publisher, True, now=now)

    def wake(self, *, now: Instant) -> None:
        """Lets pubends take what has waited."""
        self._release(now)

    def next_wakeup(self, *, now: Instant) -> Instant | None:
        """When a pubend may take the next of those that wait."""
        pubends = self._broker.pubends
        return earliest(
            *(
                pubends[id_].throttle.ready_at(now)
                for id_, waiting in self._waiting.items()
                if waiting
            )
        )

    def _release(self, now: Instant) -> None:
        for id_, waiting in list(self._waiting.items()):
            pubend = self._broker.pubends[id_]
            while waiting and pubend.throttle.may_take(now):
                found = waiting.take()
                assert found is not None
                port, one = found
                client = self.connected[port]
                if port not in waiting:
                    pubend.throttle.wait(client.publisher, False, now=now)
                self.publish(port, client, one, now=now)

    def _pubend_of(self, client: Connection, stream: str) -> Pubend | None:
        """A publisher always uses the same one: its messages stay in order."""
        own = self._broker.streams.here(stream)
        if len(own) > 1:
            return own[crc32(client.publisher.encode()) % len(own)]
        return own[0] if own else None

    def publish(self, port: Port, client: Connection, frame: Publication, *, now: Instant) -> None:
        """One publication: confirmed by `confirm` when it is on disk, else refused."""
        broker, limits = self._broker, self._broker.settings.pubend
        reason: str | None
        pubend = self._pubend_of(client, frame.stream)
        if pubend is not None:
            # Of a repetition it is said only when it is on disk.
            has_receipt = (
                frame.wants_receipt and pubend.publishers.find(client.publisher, frame.id) is None
            )
            reason = pubend.publish(port, client.publisher, frame.id, frame.body, now=now)
            if has_receipt and reason is None:
                self._send_receipt(port, client, pubend, frame)
        else:
            reason = "not_here" if broker.streams.everywhere(frame.stream) else "unknown_stream"
        if reason is None:
            return
        address = broker.streams.address_of(frame.stream) if reason == "not_here" else ""
        text = publication_text(
            reason,
            frame.stream,
            len(frame.body),
            limits=limits,
            pubend=pubend,
            address=address,
            knows_all_streams=broker.knows_all_streams,
        )
        if reason == "malformed":
            self.close(port, reason, text, now=now)
            return
        self._refuse(port, frame.stream, frame.id, reason, text, address)

    def stream_deleted(self, pubend: Pubend) -> None:
        """What was not yet on disk is gone with the stream."""
        text = f"stream {pubend.stream!r} was deleted before this was stored: create it again"
        unstored = list(pubend.unconfirmed())
        waiting = self._waiting.pop(pubend.id, None)
        while waiting is not None and (found := waiting.take()) is not None:
            unstored.append((found[0], found[1].id))
        for port, publication in unstored:
            self._refuse(port, pubend.stream, publication, "unknown_stream", text)

    def _refuse(
        self, port: Port, stream: str, publication: int, reason: str, text: str, address: str = ""
    ) -> None:
        client = self.connected.get(port)
        if client is None:
            return
        client.answer(stream, publication)
        self._broker.send_client(
            port,
            refusal(RefusedKind.PUBLICATION, publication, reason, text, address),
        )

    def _send_receipt(
        self, port: Port, client: Connection, pubend: Pubend, frame: Publication
    ) -> None:
        """Says where a message will be, before it is on disk; CONFIRM follows and frees credit."""
        tick = pubend.publishers.find(client.publisher, frame.id)
        if tick is not None:
            stored = stored_at(frame.id, Stored(pubend.id, tick, False))
            receipt = Receipt(stream=frame.stream, runs=(stored,))
            self._broker.send_client(port, receipt)

    def confirm(self, port: Port, stream: str, runs: list[StoredRun]) -> None:
        """Publications are on disk; `send_confirmations` says so."""
        client = self.connected.get(port)
        if client is not None:
            for run in runs:
                client.answer_all(stream, run.ids)
            self._confirmed.setdefault((port, stream), []).extend(runs)

    def send_confirmations(self) -> None:
        """Confirms all that has been stored meanwhile, in one frame for each stream."""
        for (port, stream), runs in self._confirmed.items():
            for part in _parts(runs):
                self._broker.send_client(port, Confirm(stream=stream, runs=part))
        self._confirmed.clear()


def _parts(runs: list[StoredRun]) -> Iterator[tuple[StoredRun, ...]]:
    """As many at once as fit a frame: a client may repeat what is stored without end."""
    start = count = 0
    for place, run in enumerate(runs):
        count += run.messages
        if count > CONFIRM_ENTRIES_MAX:
            yield tuple(runs[start:place])
            start, count = place, run.messages
    yield tuple(runs[start:])
