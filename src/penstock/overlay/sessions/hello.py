"""The HELLO exchange with neighbours and clients.

The broker decides when to send, and when a silent neighbour is dead.
"""

from __future__ import annotations

from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.overlay.counters import Count, Counters
from penstock.overlay.output_queue import OutputQueue
from penstock.overlay.sessions.client_sessions import ClientSessions
from penstock.overlay.sessions.neighbours import LinkChange, Neighbours
from penstock.wire.frames.hello import CLIENT, Hello


class HelloProtocol:
    """Sends HELLO for one broker; in a reply to a client `heard` means: session known."""

    def __init__(
        self,
        broker_id: int,
        epoch: int,
        network: int,
        neighbours: Neighbours,
        clients: ClientSessions,
        counters: Counters,
        out: OutputQueue,
    ) -> None:
        self._hello_unheard = Hello(broker=broker_id, epoch=epoch, network=network, heard=False)
        self._hello_heard = Hello(broker=broker_id, epoch=epoch, network=network, heard=True)
        self._neighbours = neighbours
        self._clients = clients
        self._counters = counters
        self._out = out

    def send(self, port: Port) -> None:
        """Sends HELLO to one neighbour."""
        self._out.send(
            port, self._hello_heard if self._neighbours.is_heard(port) else self._hello_unheard
        )

    def send_all(self) -> None:
        """Sends HELLO to every neighbour."""
        for port in self._neighbours.ports():
            self.send(port)

    def on_neighbour(self, hello: Hello, via: Port) -> LinkChange | None:
        """Handles a neighbour's HELLO; None if it is of another network or has our own id."""
        if hello.network != self._hello_unheard.network:
            self._counters[Count.FOREIGN] += 1
            return None
        if hello.broker == self._hello_unheard.broker:
            # A configuration mistake, or our own frame returned: the operator should see it.
            self._counters[Count.OWN_NUMBER] += 1
            return None
        if hello.broker == CLIENT:
            raise PeerError(f"{hello.broker} is not the number of a neighbour")
        change = self._neighbours.on_hello(via, hello)
        if change.gained or not hello.heard:
            # The neighbour may be waiting for this reply. One that already hears us does not reply
            # in turn.
            self.send(via)
        return change

    def on_client(self, hello: Hello, via: Port, *, now: Instant) -> None:
        """Replies to a client, saying whether its session is known."""
        if hello.network != self._hello_unheard.network:
            self._counters[Count.FOREIGN] += 1
        elif hello.broker != CLIENT:
            self._counters[Count.STRANGER] += 1
        else:
            is_known = self._clients.on_hello(via, hello.epoch, now=now)
            self._out.send(via, self._hello_heard if is_known else self._hello_unheard)
