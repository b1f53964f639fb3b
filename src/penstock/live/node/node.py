"""An application's node, created by `penstock.connect`.

    endpoint   order and loss, end to end       penstock.transport.endpoint
    client     one broker's publish/subscribe   penstock.overlay.client
    pump       one socket                       penstock.live.net.pump

The network is best-effort: publications and subscriptions are sent to the broker at once, and
neither is acknowledged.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.value import Value, is_finite
from penstock.kernel.errors import UnreachableError, UsageError
from penstock.kernel.instant import Instant
from penstock.live.epoch import epoch_now, new_epoch
from penstock.live.net import address
from penstock.live.net.pump import Pump
from penstock.live.network_config import DEFAULT_NETWORK, Agreement
from penstock.live.node.broker_liveness import BrokerLiveness
from penstock.live.node.repair_cache import Volunteer
from penstock.live.node.send_backpressure import SendBackpressure
from penstock.live.node.subscription import QUEUE_MAX, NodePump, Subscription
from penstock.live.node.subscription_options import Late, finite_number, ordering_of, seconds_of
from penstock.overlay.client import OverlayClient
from penstock.transport.congestion.facts import FlowState
from penstock.transport.congestion.settings import CongestionSettings, check_weight
from penstock.transport.endpoint import Endpoint
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Loss, Unseen
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import (
    DEFAULT,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
)
from penstock.wire import size_of
from penstock.wire.frames.base import OverlayFrame, TrafficClass, check_type, check_unsigned
from penstock.wire.frames.data import MessageId
from penstock.wire.frames.sub import Sub

TIMEOUT_S: Final = 5.0
LINGER_S: Final = 5.0
_PUBLISHER_BITS: Final = 64
# A publisher that never waits yields to the event loop after this number of messages.
_PUBLISHED_PER_TURN: Final = 64


class Node:
    """Publishes and subscribes through one broker; created by `connect`."""

    def __init__(
        self,
        sock: socket.socket,
        client: OverlayClient,
        endpoint: Endpoint[OverlayFrame],
        active: dict[int, Subscription],
        broker_address: address.HostPort,
        timeout_s: float,
    ) -> None:
        self._client: Final = client
        self._broker_address: Final = broker_address
        self._timeout_s: Final = timeout_s
        # Active subscriptions by the endpoint's ids.
        self._active: Final = active
        self._liveness: Final = BrokerLiveness(client)
        self._backpressure: Final = SendBackpressure(endpoint)
        self._pump: Final[NodePump] = Pump(
            sock,
            endpoint,
            deliver=self._on_fact,
            record=self._backpressure.on_record,
            on_change=self._on_change,
        )

    @property
    def is_connected(self) -> bool:
        """Whether the broker was heard within the last few seconds."""
        return self._client.is_connected and not self._pump.is_closed

    @property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """Counters of node, transport, overlay client and socket; see `docs/live.md`."""
        liveness = self._liveness
        congestion = self._pump.machine.congestion
        refused = {} if congestion is None else congestion.refusals
        return {
            "node": {
                "published": liveness.published,
                "unanswered": liveness.published_while_silent,
            },
            # `Counter` returns 0 for names that have not been counted yet.
            "transport": Counter(self._pump.machine.counters),
            "client": Counter(self._client.counters),
            "socket": dict(self._pump.counters),
            "queue": {"waiting": self._pump.machine.queued_messages},
            # By receiver id.
            "refused": {
                f"{receiver:016x}": sum(reasons.values()) for receiver, reasons in refused.items()
            },
        }

    @property
    def flows(self) -> Sequence[FlowState]:
        """The rate-limited flows of this node: their rates, and how many messages are queued."""
        congestion = self._pump.machine.congestion
        return () if congestion is None else tuple(congestion.sample())

    async def publish(
        self, attributes: Mapping[str, Value], payload: bytes = b""
    ) -> MessageId | None:
        """Publishes a message to all interested subscribers; returns its id.

        With congestion control the message may have to be queued: it has no id yet, and None is
        returned. If the queue is full, this call waits, unless the settings choose a drop policy
        instead.
        """
        message = Message(attributes, payload)
        for name, value in message.attributes.items():
            if not is_finite(value):
                # Neither filters nor the JSON of the commands can represent the value.
                raise UsageError(f"attribute {name!r} is {value}: leave it out, or say it in words")
        id_ = await self._submit(message) if self._backpressure.is_used else self._publish(message)
        self._liveness.published += 1
        if self._liveness.published % _PUBLISHED_PER_TURN == 0:
            await asyncio.sleep(0)
        return id_

    def _publish(self, message: Message) -> MessageId:
        return self._pump.call(lambda endpoint, now: endpoint.publish(message, now=now)).id

    async def _submit(self, message: Message) -> MessageId | None:
        await self._backpressure.wait_for_room(message)
        self._pump.call(lambda endpoint, now: endpoint.submit(message, now=now))
        return self._backpressure.id_of(message)

    def subscribe(
        self,
        interest: str | Predicate,
        *,
        order: bool | None = None,
        max_delay: float | None = None,
        violation_probability: float | None = None,
        late: Late | None = None,
        ordering: OrderingSettings = DEFAULT,
        queue_max: int = QUEUE_MAX,
        weight: float = 1.0,
    ) -> Subscription:
        """Subscribes; each publisher's messages come in order as far as `max_delay` (s) allows.

        Of the messages that were overtaken but do arrive, a share of `violation_probability` may
        arrive too late: they are delivered all the same, or not (`late="drop"`). `order=False`
        delivers messages as they arrive. When congestion control cannot admit all messages, filters
        share the rate by `weight`. `ordering` sets all ordering options; the other arguments
        override it. The subscription starts when it is entered with `async with`.
        """
        predicate = _predicate_of(interest)
        check_type(OrderingSettings, ordering=ordering)
        check_type(int, queue_max=queue_max)
        chosen = ordering_of(
            ordering,
            order=order,
            max_delay=max_delay,
            violation_probability=violation_probability,
            late=late,
        )
        return Subscription(
            predicate,
            chosen,
            queue_max,
            previous_latch=ordering.latch,
            weight=check_weight(finite_number("weight", weight)),
            pump=self._pump,
            active=self._active,
            ready=self.ready,
        )

    def volunteer(self, interest: str | Predicate) -> Volunteer:
        """Caches matching messages to repair the losses of others; delivers none of them here.

        Needs `connect(…, recovery=RecoverySettings())`, whose `cache` bounds the cache. The cache
        is active from `async with` on.
        """
        return Volunteer(_predicate_of(interest), pump=self._pump, ready=self.ready)

    async def wait_heard(self) -> None:
        """Waits until the broker is heard, without a timeout."""
        await self._liveness.connected.wait()

    async def wait_silent(self) -> None:
        """Waits until the broker has been silent for a few seconds."""
        await self._liveness.disconnected.wait()

    async def ready(self) -> None:
        """Waits until the broker is heard, at most the `timeout` of `connect`."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self.wait_heard()
        except TimeoutError:
            raise UnreachableError(
                f"no broker answers at {self._broker_address}: start one with"
                f" 'penstock broker --listen {self._broker_address}', or check that its --network"
                " is ours"
            ) from None

    async def drain(self, timeout: float | None = None) -> int:
        """Waits until the send queue is empty; returns the number of messages still queued.

        Without congestion control no message is ever queued.
        """
        timeout_s = None if timeout is None else seconds_of("timeout", timeout)
        try:
            async with asyncio.timeout(timeout_s):
                await self._backpressure.wait_empty()
        except TimeoutError:
            pass
        return self._pump.machine.queued_messages

    def close(self) -> None:
        """Ends all subscriptions and the node; closing twice is no error.

        Queued messages are lost and counted as dropped: see `drain`.
        """
        for subscription in list(self._active.values()):
            subscription.end()
        self._pump.close()

    def link_up(self) -> None:
        """Starts the HELLO exchange: the socket is open."""

        def begin(endpoint: Endpoint[OverlayFrame], now: Instant) -> None:
            self._client.link_up(now=now)
            # Lets the endpoint send the client's frames.
            endpoint.wake(now=now)

        self._pump.call(begin)

    def _on_fact(self, fact: Delivery | Absence | Unseen | DroppedAtSource) -> None:
        if isinstance(fact, DroppedAtSource):
            # It is already counted, and it has no id that could be reported.
            return
        subscription = self._active.get(fact.subscription)
        if subscription is not None:
            subscription.take(fact)

    def _on_change(self) -> None:
        if self._pump.is_closed:
            # Waiting tasks resume and get the machine's error, if any.
            self._liveness.close()
            self._backpressure.close()
            for subscription in list(self._active.values()):
                subscription.end(self._pump.error)
        else:
            self._liveness.update()
            self._backpressure.update()


class _LossRouter:
    """Passes each loss to the subscription that it concerns."""

    def __init__(self, active: Mapping[int, Subscription]) -> None:
        self._active: Final = active

    def on_loss(self, loss: Loss, *, now: Instant) -> None:  # noqa: ARG002
        """Implements `LossObserver`."""
        subscription = self._active.get(loss.subscription)
        if subscription is not None:
            subscription.take_loss(loss)


@asynccontextmanager
async def connect(
    where: str,
    *,
    publisher: int | None = None,
    record: RecordSettings | None = None,
    recovery: RecoverySettings | None = None,
    congestion: CongestionSettings | None = None,
    agreement: Agreement = DEFAULT_NETWORK,
    timeout: float = TIMEOUT_S,
    linger: float = LINGER_S,
) -> AsyncIterator[Node]:
    """Opens a node that uses the broker at `where`, such as "udp://127.0.0.1:7400".

    Waits up to `timeout` seconds for the broker, and raises `UnreachableError` if it does not
    respond. `publisher` is the id under which others know this node's messages, random unless
    given; `record` configures what each message says about those before it.

    With `recovery`, such as `RecoverySettings()`, the node requests lost messages and repairs the
    losses of others. With `congestion`, such as `CongestionSettings()`, a publisher sends no more
    than the slowest path to a receiver sustains of what that receiver subscribes to; both sides
    must enable it. Messages still queued at the end of the block have `linger` seconds to leave.
    """
    target = address.parse(where)
    timeout_s, linger_s = seconds_of("timeout", timeout), seconds_of("linger", linger)
    # Report invalid arguments before there is a socket to close.
    check_type(Agreement, agreement=agreement)
    encoder, settings = agreement.encoder(), _settings_of(record, recovery, congestion)
    if publisher is None:
        publisher_id, epoch = secrets.randbits(_PUBLISHER_BITS), epoch_now()
    else:
        check_type(int, publisher=publisher)
        check_unsigned(_PUBLISHER_BITS, publisher=publisher)
        publisher_id, epoch = publisher, new_epoch()
    sock = await _socket_to(target)
    client = OverlayClient(
        address.port_of(sock.getpeername()),
        epoch,
        network=agreement.network,
        settings=agreement.overlay,
    )
    active: dict[int, Subscription] = {}
    endpoint = Endpoint(
        client,
        endpoint_id=publisher_id,
        epoch=epoch,
        encoder=encoder,
        settings=settings,
        observers=[_LossRouter(active)],
        draw=secrets.SystemRandom().random,
    )
    node = Node(sock, client, endpoint, active, target, timeout_s)
    try:
        node.link_up()
        await node.ready()
        yield node
        await node.drain(linger_s)
    finally:
        node.close()


def _predicate_of(interest: str | Predicate) -> Predicate:
    predicate = parse(interest) if isinstance(interest, str) else interest
    check_type(Predicate, interest=predicate)
    # Raises UsageError for predicates that do not fit a datagram.
    size_of(Sub(subscription=0, traffic=TrafficClass.DATA, predicate=predicate))
    return predicate


def _settings_of(
    record: RecordSettings | None,
    recovery: RecoverySettings | None,
    congestion: CongestionSettings | None,
) -> EndpointSettings:
    if recovery is not None:
        check_type(RecoverySettings, recovery=recovery)
    if congestion is not None:
        check_type(CongestionSettings, congestion=congestion)
    settings = EndpointSettings(recovery=recovery, congestion=congestion)
    if record is None:
        return settings
    check_type(RecordSettings, record=record)
    return replace(settings, record=record)


async def _socket_to(target: address.HostPort) -> socket.socket:
    """A connected socket, so that the system reports ICMP errors and filters out other senders."""
    family, sockaddr = await address.resolve(target)
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.connect(sockaddr)
    except OSError as error:
        sock.close()
        why = (error.strerror or str(error)).lower()
        raise UnreachableError(f"cannot reach {target}: {why}: check the address") from None
    return sock
