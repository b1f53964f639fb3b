"""HELLO on every port: who is at the other end, and whether it still is.

Where there is one neighbour alone, whatever comes tells that it is there, but for no longer than
the longest silence without HELLO: other frames may be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.discovery.heartbeats import Heartbeats
from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.discovery.serial_numbers import is_later
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.kernel.machine import Port
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.neighbours import Hello

# An old HELLO of a neighbour that is gone counts for nothing; if a number far ahead was forged, it
# comes back after this time.
_REMEMBERED_NS: Final[Duration] = 30 * SECOND


@dataclass(slots=True)
class _Neighbour:
    """One node at a port."""

    # Of its latest HELLO.
    origin: Origin
    heard_at: Instant
    heartbeats: Heartbeats


class Neighbours:
    """Nodes by port; a LAN port has many."""

    def __init__(
        self,
        out: Outbox,
        ports: Ports,
        *,
        domain: bytes,
        is_router: bool,
        settings: DiscoverySettings,
        on_change: Callable[[Instant], None],
        # A neighbour is gone, though its port is not.
        on_lost: Callable[[Port, int], None] = lambda _port, _node: None,
    ) -> None:
        self._out: Final = out
        self._ports: Final = ports
        self._domain: Final = domain
        self._is_router: Final = is_router
        self._settings: Final = settings
        self._on_change: Final = on_change
        self._on_lost: Final = on_lost
        # By port and node, until when it is taken to be there.
        self._timers: Final[Timers[tuple[Port, int] | None]] = Timers()
        self._heard: Final[dict[Port, dict[int, _Neighbour]]] = {}
        # Those who are gone, too.
        self._known: Final[BoundedDict[tuple[Port, int], _Neighbour]] = BoundedDict(
            settings.neighbours_max, recent=True
        )
        # By port, when anything came.
        self._arrived_at: Final[dict[Port, Instant]] = {}

    def start(self, now: Instant) -> None:
        """Says HELLO from now on."""
        self._timers.set(None, now)

    def port_up(self, port: Port) -> None:
        """A new link: introduces itself at once."""
        self._heard[port] = {}
        self._say(port)

    def port_down(self, port: Port, now: Instant) -> None:
        """Whoever was there is gone."""
        self._arrived_at.pop(port, None)
        for node in self._heard.pop(port, {}):
            self._timers.cancel((port, node))
            self._on_change(now)

    def at(self, port: Port) -> Iterator[int]:
        """Who is there."""
        return iter(self._heard.get(port, ()))

    def on_frame(self, via: Port, now: Instant) -> None:
        """Any frame has come."""
        if via in self._heard:
            self._arrived_at[via] = now

    def on_hello(self, frame: Hello, via: Port, now: Instant) -> None:
        """A neighbour is there."""
        node = frame.origin.node
        heard = self._heard.get(via)
        if heard is None or frame.domain != self._domain or node == self._out.node:
            return
        neighbour = self._known.get((via, node))
        if neighbour is not None and not is_later(frame.origin, neighbour.origin):
            if now - neighbour.heard_at < _REMEMBERED_NS:
                return
            neighbour = None
        if node not in heard and len(heard) >= self._settings.neighbours_max:
            self._out.tell(Overflow("neighbours"))
            return
        if neighbour is None or neighbour.origin.boot != frame.origin.boot:
            beats = Heartbeats(self._settings.hello_ns, self._settings.silence_ns)
            neighbour = _Neighbour(frame.origin, now, beats)
        period_ns = self._settings.hello_ns
        neighbour.heartbeats.on_heard((now - neighbour.heard_at + period_ns // 2) // period_ns)
        neighbour.origin, neighbour.heard_at = frame.origin, now
        is_new = node not in heard
        heard[node] = self._known[via, node] = neighbour
        self._timers.set((via, node), now + neighbour.heartbeats.silence_ns)
        if is_new:
            self._on_change(now)
            # The other end need not wait for the next second.
            self._say(via)

    def wake(self, now: Instant) -> None:
        """Says HELLO, and forgets who was silent."""
        for key in self._timers.due(now):
            if key is None:
                for info in self._ports:
                    self._say(info.port)
                self._timers.set(None, now + self._settings.hello_ns)
                continue
            port, node = key
            until = self._is_there_until(port, self._heard[port][node])
            if until > now:
                self._timers.set(key, until)
                continue
            del self._heard[port][node]
            self._on_lost(port, node)
            self._on_change(now)

    def next_wakeup(self) -> Instant | None:
        """When it has something to do."""
        return self._timers.next_wakeup()

    def _is_there_until(self, port: Port, neighbour: _Neighbour) -> Instant:
        heard_at, beats = neighbour.heard_at, neighbour.heartbeats
        if len(self._heard[port]) == 1:
            heard_at = max(heard_at, self._arrived_at.get(port, heard_at))
        return min(heard_at + beats.silence_ns, neighbour.heard_at + beats.silence_max_ns)

    def _say(self, port: Port) -> None:
        heard = self._heard[port]
        self._out.send(
            port,
            Hello(
                origin=self._out.next_origin(),
                domain=self._domain,
                heard=next(iter(heard), 0),
                is_router=self._is_router,
            ),
        )
