"""An application's node: `penstock.connect`.

    endpoint   order and loss, end to end       penstock.transport.endpoint
    client     one broker's publish/subscribe   penstock.overlay.client
    pump       one socket                       penstock.live.net.pump

The network is best-effort: a publication leaves at once, a subscription is told to
the broker at once, and neither is acknowledged.
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
# A publisher that never waits lets the rest of its program run after so many messages.
_PUBLISHED_PER_TURN: Final = 64


class Node:
    """Publishes and subscribes through one broker; `connect` makes it."""

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
        # The subscriptions that have begun, by the endpoint's numbers.
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
        """Whether the broker was heard within the last seconds."""
        return self._client.is_connected and not self._pump.is_closed

    @property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """Of the node, the transport, the broker's client and the socket; see `docs/live.md`."""
        liveness = self._liveness
        congestion = self._pump.machine.congestion
        refused = {} if congestion is None else congestion.refusals
        return {
            "node": {
                "published": liveness.published,
                "unanswered": liveness.published_while_silent,
            },
            # Those that nothing was counted under yet can be asked for, too: they are 0.
            "transport": Counter(self._pump.machine.counters),
            "client": Counter(self._client.counters),
            "socket": dict(self._pump.counters),
            "queue": {"waiting": self._pump.machine.queued_messages},
            # By the receivers' numbers.
            "refused": {
                f"{receiver:016x}": sum(reasons.values()) for receiver, reasons in refused.items()
            },
        }

    @property
    def flows(self) -> Sequence[FlowState]:
        """Which of this node's messages are slowed down now, to how much, and how many wait."""
        congestion = self._pump.machine.congestion
        return () if congestion is None else tuple(congestion.sample())

    async def publish(
        self, attributes: Mapping[str, Value], payload: bytes = b""
    ) -> MessageId | None:
        """Sends a message to whoever wants it; returns its name.

        With congestion control it may have to wait for its turn: then it has no name yet,
        and None is returned. If too many wait already, this does, too, unless the
        settings say what is dropped instead.
        """
        message = Message(attributes, payload)
        for name, value in message.attributes.items():
            if not is_finite(value):
                # Filters cannot name it, nor can the JSON that commands read and write.
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
        """What matches, each publisher's messages in order as far as `max_delay` seconds allow.

        Of the messages that were overtaken and do come, a share of
        `violation_probability` may come too late: they are handed over all the same,
        or not (`late="drop"`). `order=False` hands over what arrives as it arrives.
        Where congestion control cannot let all through, each filter gets as much for its `weight`.
        `ordering` sets all there is to set; what else is given overrules it. The
        subscription begins when it is entered, with `async with`.
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
        """Keeps what matches for others that lose it; nothing of it is handed over here.

        Needs `connect(…, recovery=RecoverySettings())`, whose `cache` says how much is kept.
        The offer begins when it is entered, with `async with`.
        """
        return Volunteer(_predicate_of(interest), pump=self._pump, ready=self.ready)

    async def wait_heard(self) -> None:
        """Until the broker is heard, however long that takes."""
        await self._liveness.connected.wait()

    async def wait_silent(self) -> None:
        """Until the broker has not been heard for some seconds."""
        await self._liveness.disconnected.wait()

    async def ready(self) -> None:
        """Until the broker is heard, but no longer than `connect` was told to wait."""
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
        """Until all messages that wait for their turn have left; returns how many still wait.

        Without congestion control none ever does.
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

        Messages that wait for their turn are lost, and counted as dropped: see `drain`.
        """
        for subscription in list(self._active.values()):
            subscription.end()
        self._pump.close()

    def link_up(self) -> None:
        """There is a socket: says HELLO, and goes on doing so."""

        def begin(endpoint: Endpoint[OverlayFrame], now: Instant) -> None:
            self._client.link_up(now=now)
            # Takes what the client wants sent.
            endpoint.wake(now=now)

        self._pump.call(begin)

    def _on_fact(self, fact: Delivery | Absence | Unseen | DroppedAtSource) -> None:
        if isinstance(fact, DroppedAtSource):
            # It is counted, and nobody else can be told: it had no name.
            return
        subscription = self._active.get(fact.subscription)
        if subscription is not None:
            subscription.take(fact)

    def _on_change(self) -> None:
        if self._pump.is_closed:
            # Whoever waits learns of it, and of what the machine died of.
            self._liveness.close()
            self._backpressure.close()
            for subscription in list(self._active.values()):
                subscription.end(self._pump.error)
        else:
            self._liveness.update()
            self._backpressure.update()


class _LossRouter:
    """Tells each loss to the subscription that it concerns."""

    def __init__(self, active: Mapping[int, Subscription]) -> None:
        self._active: Final = active

    def on_loss(self, loss: Loss, *, now: Instant) -> None:  # noqa: ARG002
        """As a `LossListener` does."""
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
    """A node of the broker at `where`, such as "udp://127.0.0.1:7400".

    Waits up to `timeout` seconds for the broker, and raises `UnreachableError` if it
    does not answer. `publisher` is the number that
    others know this node's messages by, drawn at random unless it is given;
    `record` says what each message tells of those before it. With `recovery`, such as
    `RecoverySettings()`, what was lost is asked for, and others are given what they lost.
    With `congestion`, such as `CongestionSettings()`, publishers send no more than the slowest
    way to a receiver bears of what that receiver wants; both sides must have it. What then
    still waits at the end of the block has `linger` seconds to leave.
    """
    target = address.parse(where)
    timeout_s, linger_s = seconds_of("timeout", timeout), seconds_of("linger", linger)
    # What is wrong with these is to be said before there is a socket to close.
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
    # Refuses here what no datagram could carry.
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
    """Connected, so that the system tells when nobody is there, and keeps strangers out."""
    family, sockaddr = await address.resolve(target)
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.connect(sockaddr)
    except OSError as error:
        sock.close()
        why = (error.strerror or str(error)).lower()
        raise UnreachableError(f"cannot reach {target}: {why}: check the address") from None
    return sock
