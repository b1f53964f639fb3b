"""A client of one broker: the overlay as a transport sees it.

Says HELLO every second; the broker answers, and tells by `heard` whether it
still knows the client. Everything wanted is said again when it does not, when
its epoch is another, when it was silent for long, and now and then anyway; what is
new is said three times, a second apart. A lost SUB is so made good.
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
    """Implements `Network` over `port`, which leads to a broker; `epoch` is new at every start."""

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
        # Those that are new, and how often they are to be said again.
        self._repeats_left: dict[int, int] = {}
        self._timers: Timers[str] = Timers()
        self._out: deque[Send[OverlayFrame] | Deliver] = deque()
        # How often the broker has said HELLO: whoever publishes may look whether it still does.
        self.hellos_received = 0
        # What was refused (`malformed`), or published while there was no link (`no_link`).
        self.counters: dict[str, int] = {"malformed": 0, "no_link": 0}

    @property
    def is_connected(self) -> bool:
        """Whether a broker is heard."""
        return self._broker is not None

    # What the transport does ----------------------------------------------------------------

    def publish(
        self, frame: TransportFrame, *, traffic: TrafficClass = TrafficClass.DATA, now: Instant
    ) -> None:
        """Sends it at once, or never: the network is best-effort from here on."""
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
        """Asks now if a broker is heard, and whenever one has to be told again."""
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
        """Takes it back; a number that is not in use is no error."""
        del now
        self._repeats_left.pop(subscription, None)
        if self._subs.pop(subscription, None) is not None and self.is_connected:
            self._send(Unsub(subscription=subscription))

    # What the driver does -------------------------------------------------------------------

    def link_up(self, *, now: Instant) -> None:
        """There is a way to the broker."""
        if not self._is_linked:
            self._is_linked = True
            self._timers.set(_REFRESH, now + self._settings.refresh_ns)
            self._send_hello(now)

    def link_down(self, *, now: Instant) -> None:
        """There is none."""
        del now
        self._is_linked = False
        self._broker = None
        for timer in (_HELLO, _DEAD, _REFRESH):
            self._timers.cancel(timer)

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        """Takes what the broker says."""
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
        """Runs everything that is due."""
        for timer in self._timers.due(now):
            if timer == _HELLO:
                self._send_hello(now)
            elif timer == _DEAD:
                self._broker = None
            else:
                self._timers.set(_REFRESH, now + self._settings.refresh_ns)
                self._send_all_subscriptions()

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    def poll(self) -> Send[OverlayFrame] | Deliver | None:
        """The next frame to send, or to hand up."""
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
