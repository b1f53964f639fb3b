"""HELLO on every port: who is at the other end, and whether it still is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.bloomcast.discovery.ports import Ports
from penstock.bloomcast.facts import Overflow
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import DiscoverySettings
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.neighbours import Hello


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
    ) -> None:
        self._out: Final = out
        self._ports: Final = ports
        self._domain: Final = domain
        self._is_router: Final = is_router
        self._settings: Final = settings
        self._on_change: Final = on_change
        # By port and node, until when it is taken to be there.
        self._timers: Final[Timers[tuple[Port, int] | None]] = Timers()
        self._heard: Final[dict[Port, dict[int, None]]] = {}

    def start(self, now: Instant) -> None:
        """Says HELLO from now on."""
        self._timers.set(None, now)

    def port_up(self, port: Port) -> None:
        """A new link: introduces itself at once."""
        self._heard[port] = {}
        self._say(port)

    def port_down(self, port: Port, now: Instant) -> None:
        """Whoever was there is gone."""
        for node in self._heard.pop(port, {}):
            self._timers.cancel((port, node))
            self._on_change(now)

    def at(self, port: Port) -> Iterator[int]:
        """Who is there."""
        return iter(self._heard.get(port, ()))

    def on_hello(self, frame: Hello, via: Port, now: Instant) -> None:
        """A neighbour is there."""
        node = frame.origin.node
        heard = self._heard.get(via)
        if heard is None or frame.domain != self._domain or node == self._out.node:
            return
        if node not in heard:
            if len(heard) >= self._settings.neighbours_max:
                self._out.tell(Overflow("neighbours"))
                return
            heard[node] = None
            self._on_change(now)
            # The other end need not wait for the next second.
            self._say(via)
        self._timers.set((via, node), now + self._settings.silence_ns)

    def wake(self, now: Instant) -> None:
        """Says HELLO, and forgets who was silent."""
        for key in self._timers.due(now):
            if key is None:
                for info in self._ports:
                    self._say(info.port)
                self._timers.set(None, now + self._settings.hello_ns)
                continue
            port, node = key
            del self._heard[port][node]
            self._on_change(now)

    def next_wakeup(self) -> Instant | None:
        """When it has something to do."""
        return self._timers.next_wakeup()

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
