"""The client of one broker: the overlay as a transport sees it.

A client sends HELLO every second; the broker replies, and its `heard` flag says whether it still
has the client's session. The client resends all its SUBs when the broker has forgotten it, has
restarted or was silent, and every 30 s regardless. A new SUB is sent three times, one second apart,
so that a single loss does not matter.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.content.filter import Predicate
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Port, Send
from penstock.kernel.timers import Timers
from penstock.overlay.settings import DEFAULTS, OverlaySettings
from penstock.wire.frames.base import OverlayFrame, TrafficClass, TransportFrame
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.hello import CLIENT, Hello
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.unsub import Unsub

_HELLO: Final = "hello"
_DEAD: Final = "dead"
_REFRESH: Final = "refresh"
_REPEATS: Final = 2


class OverlayClient:
    """Implements `Network` over `port`, which leads to a broker; each start needs a new `epoch`."""

    def __init__(
        self, port: Port, epoch: int, *, network: int = 0, settings: OverlaySettings = DEFAULTS
    ) -> None:
        self._port = port
        self._hello_unheard = Hello(broker=CLIENT, epoch=epoch, network=network, heard=False)
        self._hello_heard = Hello(broker=CLIENT, epoch=epoch, network=network, heard=True)
        self._settings = settings
        self._is_linked = False
        self._broker: tuple[int, int] | None = None
        self._subs: dict[int, Sub] = {}
        # Repeats left, by id of each new subscription.
        self._repeats_left: dict[int, int] = {}
        self._timers: Timers[str] = Timers()
        self._out: deque[Send[OverlayFrame] | Deliver] = deque()
        # HELLOs received from the broker; lets a publisher check whether the broker is still alive.
        self.hellos_received = 0
        # Frames refused (`malformed`), and frames published while the link was down (`no_link`).
        self.counters: dict[str, int] = {"malformed": 0, "no_link": 0}

    @property
    def is_connected(self) -> bool:
        """Whether the broker was heard within `dead_ns`."""
        return self._broker is not None

    # Commands of the transport --------------------------------------------------------------

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Sends `frame` at once, or drops it if the link is down: the network is best-effort."""
        del now
        if self._is_linked:
            self._send(Pub(traffic=traffic, carried=CarriedFrame(frame)))
        else:
            self.counters["no_link"] += 1

    def subscribe(
        self,
        subscription: int,
        predicate: Predicate,
        *,
        traffic: TrafficClass = TrafficClass.DATA,
        now: Instant,
    ) -> None:
        """Adds a subscription; sends its SUB now, if connected, and with every resend."""
        del now
        subscriptions_max = self._settings.client_subscriptions_max
        if subscription not in self._subs and len(self._subs) >= subscriptions_max:
            raise UsageError(
                f"a client has at most {subscriptions_max} subscriptions: join some with `or`"
            )
        sub = Sub(subscription=subscription, traffic=traffic, predicate=predicate)
        self._subs[subscription] = sub
        self._repeats_left[subscription] = _REPEATS
        if self.is_connected:
            self._send(sub)

    def unsubscribe(self, subscription: int, *, now: Instant) -> None:
        """Removes a subscription; an unknown id is no error."""
        del now
        self._repeats_left.pop(subscription, None)
        if self._subs.pop(subscription, None) is not None and self.is_connected:
            self._send(Unsub(subscription=subscription))

    # Commands of the driver -----------------------------------------------------------------

    def link_up(self, *, now: Instant) -> None:
        """Starts sending HELLO: the link to the broker is up."""
        if not self._is_linked:
            self._is_linked = True
            self._timers.set(_REFRESH, now + self._settings.refresh_ns)
            self._send_hello(now)

    def link_down(self, *, now: Instant) -> None:
        """Stops all timers: the link to the broker is down."""
        del now
        self._is_linked = False
        self._broker = None
        for timer in (_HELLO, _DEAD, _REFRESH):
            self._timers.cancel(timer)

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Handles one frame of the broker."""
        if via == self._port and isinstance(frame, Notify):
            self._out.append(Deliver(frame.carried.frame))
        elif (
            via == self._port
            and isinstance(frame, Hello)
            and frame.broker != CLIENT
            and frame.network == self._hello_unheard.network
        ):
            self._on_hello(frame, now)
        else:
            self.counters["malformed"] += 1

    def wake(self, *, now: Instant) -> None:
        """Runs all timers that are due."""
        for timer in self._timers.due(now):
            if timer == _HELLO:
                self._send_hello(now)
            elif timer == _DEAD:
                self._broker = None
            else:
                self._timers.set(_REFRESH, now + self._settings.refresh_ns)
                self._send_all_subscriptions()

    def next_wakeup(self) -> Instant | None:
        """The time of the next `wake` call."""
        return self._timers.next_wakeup()

    def poll(self) -> Send[OverlayFrame] | Deliver | None:
        """The next frame to send, or to deliver to the transport."""
        return self._out.popleft() if self._out else None

    def _on_hello(self, hello: Hello, now: Instant) -> None:
        if not self._is_linked:
            return
        self.hellos_received += 1
        self._timers.set(_DEAD, now + self._settings.dead_ns)
        broker = (hello.broker, hello.epoch)
        if broker != self._broker or not hello.heard:
            self._broker = broker
            self._send_all_subscriptions()

    def _send_hello(self, now: Instant) -> None:
        self._timers.set(_HELLO, now + self._settings.hello_ns)
        self._send(self._hello_heard if self.is_connected else self._hello_unheard)
        if self.is_connected:
            self._repeat_new_subscriptions()

    def _repeat_new_subscriptions(self) -> None:
        for subscription, repeats_left in list(self._repeats_left.items()):
            self._send(self._subs[subscription])
            if repeats_left > 1:
                self._repeats_left[subscription] = repeats_left - 1
            else:
                del self._repeats_left[subscription]

    def _send_all_subscriptions(self) -> None:
        if self.is_connected:
            for sub in self._subs.values():
                self._send(sub)

    def _send(self, frame: OverlayFrame) -> None:
        self._out.append(Send(self._port, frame))
