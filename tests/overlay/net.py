"""A small network of real brokers and clients.

Links neither lose frames nor let them overtake, unless a test wants it. They can
be cut, with or without telling those at their ends, and brokers stopped and
started again. Time jumps from one deadline to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import TypeAlias

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Deliver, Send
from penstock.overlay.broker import Broker
from penstock.overlay.client import OverlayClient
from penstock.overlay.settings import DEFAULTS, OverlaySettings
from penstock.wire import decode, encode
from penstock.wire.frames.base import OverlayFrame, TrafficClass
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.packet import Packet
from tests.frames import data

Loss: TypeAlias = Callable[[str, str, OverlayFrame], bool]

DELAY_NS = MILLISECOND


class Net:
    """Brokers are named "1", "2" and so on, clients otherwise; ports have the peer's name."""

    def __init__(
        self,
        *,
        codec: bool = False,
        settings: OverlaySettings = DEFAULTS,
        encoder: Encoder | None = None,
    ) -> None:
        self.now: Instant = 0
        self.codec = codec
        self.settings = settings
        self.encoder = encoder or Encoder(b"test")
        self.brokers: dict[str, Broker] = {}
        self.clients: dict[str, OverlayClient] = {}
        self.home: dict[str, str] = {}
        self.links: dict[tuple[str, str], bool] = {}
        self.subscriptions: dict[tuple[str, int], Predicate] = {}
        self.lost: Loss = lambda *_: False
        self.extra_ns: Callable[[], int] = lambda: 0
        self.sent: list[tuple[Instant, str, str, OverlayFrame]] = []
        self.received: list[tuple[str, MessageId]] = []
        # Those of them that bore the congestion mark.
        self.marked: list[tuple[str, MessageId]] = []
        self.epochs: Counter[str] = Counter()
        self._wake_at: dict[str, tuple[Broker | OverlayClient, Instant]] = {}
        self._serial = 0
        self._seq = 0
        self._heap: list[tuple[Instant, int, Callable[[], None]]] = []

    # Building -------------------------------------------------------------------------------

    def start(self, *names: str) -> None:
        """Starts brokers, or starts them again, and tells them of their links."""
        for name in names:
            self.epochs[name] += 1
            self.brokers[name] = Broker(
                int(name), self.epochs[name], self.encoder, settings=self.settings
            )
        for name in names:
            for (left, right), up in self.links.items():
                if up and name in (left, right):
                    self.brokers[name].link_up(left if name == right else right, 1, now=self.now)
            self.drain(name)

    def stop(self, name: str) -> None:
        """The broker is gone without a word."""
        del self.brokers[name]

    def link(self, left: str, right: str) -> None:
        self.links[min(left, right), max(left, right)] = True

    def cut(self, left: str, right: str, *, silently: bool = False) -> None:
        self.links[min(left, right), max(left, right)] = False
        if not silently:
            for name, peer in ((left, right), (right, left)):
                self.brokers[name].link_down(peer, now=self.now)
                self.drain(name)

    def mend(self, left: str, right: str, *, silently: bool = False) -> None:
        self.links[min(left, right), max(left, right)] = True
        if not silently:
            for name, peer in ((left, right), (right, left)):
                self.brokers[name].link_up(peer, 1, now=self.now)
                self.drain(name)

    def client(self, name: str, broker: str) -> OverlayClient:
        self.epochs[name] += 1
        client = self.clients[name] = OverlayClient(
            broker, self.epochs[name], settings=self.settings
        )
        self.home[name] = broker
        client.link_up(now=self.now)
        self.drain(name)
        return client

    def leave(self, name: str) -> None:
        """The client disconnects, and its broker is told."""
        broker = self.home.pop(name)
        del self.clients[name]
        for key in [key for key in self.subscriptions if key[0] == name]:
            del self.subscriptions[key]
        self.brokers[broker].disconnect_client(name, now=self.now)
        self.drain(broker)

    # Using ----------------------------------------------------------------------------------

    def subscribe(
        self, name: str, number: int, text: str, traffic: TrafficClass = TrafficClass.DATA
    ) -> None:
        predicate = parse(text)
        if traffic is TrafficClass.DATA:
            self.subscriptions[name, number] = predicate
        self.clients[name].subscribe(number, predicate, traffic=traffic, now=self.now)
        self.drain(name)

    def unsubscribe(self, name: str, number: int) -> None:
        self.subscriptions.pop((name, number), None)
        self.clients[name].unsubscribe(number, now=self.now)
        self.drain(name)

    def publish(
        self,
        name: str,
        attributes: Mapping[str, Value],
        traffic: TrafficClass = TrafficClass.DATA,
    ) -> MessageId:
        self._seq += 1
        frame = data(self._seq, attributes)
        self.clients[name].publish(frame, traffic=traffic, now=self.now)
        self.drain(name)
        return frame.id

    def expected(self, attributes: Mapping[str, Value]) -> list[str]:
        """Who must get such a message, from the predicates alone."""
        message = Message(attributes)
        found = {name for (name, _), p in self.subscriptions.items() if p.matches(message)}
        return sorted(found)

    def got(self, message: MessageId) -> list[str]:
        """Who got it, as often as it did."""
        return sorted(name for name, id_ in self.received if id_ == message)

    def crossings(self, message: MessageId) -> Counter[tuple[str, str]]:
        """How often a message crossed each link, whichever way."""
        crossed: Counter[tuple[str, str]] = Counter()
        for _, source, target, frame in self.sent:
            if isinstance(frame, Packet) and getattr(frame.carried.frame, "id", None) == message:
                crossed[min(source, target), max(source, target)] += 1
        return crossed

    def packets(self) -> list[tuple[str, str, tuple[int, ...]]]:
        return [(s, t, f.destinations) for _, s, t, f in self.sent if isinstance(f, Packet)]

    # Running --------------------------------------------------------------------------------

    def run(self, duration_ns: int = SECOND) -> None:
        """Lets time pass."""
        end = self.now + duration_ns
        while self._heap and self._heap[0][0] <= end:
            self.now, _, action = heappop(self._heap)
            action()
        self.now = end

    def run_until(self, is_done: Callable[[], bool], most_ns: int) -> int:
        """Lets time pass in milliseconds until something holds; how long that took."""
        start = self.now
        while not is_done():
            assert self.now - start < most_ns, "it did not converge"
            self.run(MILLISECOND)
        return self.now - start

    def drain(self, name: str) -> None:
        node: Broker | OverlayClient = (
            self.brokers[name] if name in self.brokers else self.clients[name]
        )
        while (output := node.poll()) is not None:
            if isinstance(output, Deliver):
                assert isinstance(output.item, Data)
                self.received.append((name, output.item.id))
                if output.item.congestion_experienced:
                    self.marked.append((name, output.item.id))
            else:
                assert isinstance(output, Send)
                self._carry(name, output.port, output.frame)
        wake_at = node.next_wakeup()
        if wake_at is not None and self._wake_at.get(name) != (node, wake_at):
            self._wake_at[name] = armed = (node, wake_at)
            self._at(wake_at, lambda: self._wake(name, armed))

    def _wake(self, name: str, armed: tuple[Broker | OverlayClient, Instant]) -> None:
        node = self.brokers.get(name, self.clients.get(name))
        # Others were moved, or are of a node that is gone.
        if node is armed[0] and self._wake_at.get(name) == armed:
            del self._wake_at[name]
            node.wake(now=self.now)
            self.drain(name)

    def _at(self, when: Instant, action: Callable[[], None]) -> None:
        self._serial += 1
        heappush(self._heap, (when, self._serial, action))

    def inject(self, source: str, target: str, frame: OverlayFrame) -> None:
        """Hands a broker a frame as if it came from `source`."""
        self.brokers[target].receive(frame, via=source, now=self.now)
        self.drain(target)

    def _carry(self, source: str, target: str, frame: OverlayFrame) -> None:
        self.sent.append((self.now, source, target, frame))
        if not self.links.get((min(source, target), max(source, target)), True):
            return
        if self.lost(source, target, frame):
            return
        if self.codec:
            decoded = decode(encode(frame))
            assert isinstance(decoded, OverlayFrame)
            assert decoded == frame
            frame = decoded

        def arrive() -> None:
            node = self.brokers.get(target, self.clients.get(target))
            if node is not None:
                node.receive(frame, via=source, now=self.now)
                self.drain(target)

        self._at(self.now + DELAY_NS + self.extra_ns(), arrive)


def line(net: Net, count: int) -> None:
    """Brokers 1 to count, one behind the other."""
    for i in range(1, count):
        net.link(str(i), str(i + 1))
    net.start(*map(str, range(1, count + 1)))
