"""A client of guaranteed streams in the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from penstock.guaranteed.broker import AnyFrame
from penstock.guaranteed.client import BROKER, Client, ClientFact
from penstock.kernel.machine import Deliver, Send
from penstock.sim.guaranteed.stream_link import StreamLink

if TYPE_CHECKING:
    from penstock.sim.guaranteed.network import StreamNetwork


class SimClient:
    """A client machine that lives through its broker's crashes, and can crash itself."""

    def __init__(
        self,
        network: StreamNetwork,
        name: str,
        broker: str,
        on_fact: Callable[[SimClient, ClientFact], None],
    ) -> None:
        self.name: Final = name
        self.broker: Final = broker
        self.life = 0
        self.is_connected = False
        self.machine: Client
        self._network: Final = network
        self._on_fact: Final = on_fact
        self._up: StreamLink | None = None
        self._connections = 0
        self._is_draining = False
        self.port = ""
        self.start()

    def start(self) -> None:
        """A new life of the program."""
        self.life += 1
        # Ids rise from life to life.
        self.machine = Client(self.name, self.life << 32)

    def crash(self) -> None:
        """The program is gone, with its connection."""
        self.disconnect()
        self.start()

    def connect(self) -> None:
        """Opens a connection, if the broker is up and there is none."""
        broker = self._network.brokers[self.broker]
        if self.is_connected or not broker.is_up:
            return
        self._connections += 1
        port = f"{self.name}#{self.life}.{self._connections}"
        self.is_connected = True
        network = self._network
        self._up = network.stream_link(
            arrive=lambda frames: broker.arrive(port, frames), on_room=None
        )
        broker.links[port] = network.stream_link(
            arrive=self._arrive,
            on_room=lambda size: broker.room(port, size),
        )
        self.port = port
        broker.call(lambda b, now: b.client_up(port, room_bytes=network.window_bytes, now=now))
        self.call(lambda client: client.connection_up())

    def disconnect(self) -> None:
        """The connection breaks, for both ends."""
        if not self.is_connected:
            return
        self.is_connected = False
        broker = self._network.brokers[self.broker]
        assert self._up is not None
        self._up.cut()
        broker.links.pop(self.port).cut()
        broker.worker.forget(self.port)
        broker.call(lambda b, now: b.client_down(self.port, now=now))
        self.machine.connection_down()

    def call(self, verb: Callable[[Client], Any]) -> Any:
        """Calls a verb of the machine and drains it."""
        result = verb(self.machine)
        self._drain()
        return result

    def _arrive(self, frames: list[AnyFrame]) -> None:
        for frame in frames:
            self.machine.receive(frame, via=BROKER, now=self._network.events.now)  # type: ignore[arg-type]
        self._drain()

    def _drain(self) -> None:
        """Carries out all outputs; what programs do meanwhile is carried out by the same loop."""
        if self._is_draining:
            return
        self._is_draining = True
        try:
            self._carry_out()
        finally:
            self._is_draining = False

    def _carry_out(self) -> None:
        machine = self.machine
        while (output := machine.poll()) is not None:
            if isinstance(output, Deliver):
                self._on_fact(self, output.item)  # type: ignore[arg-type]
            else:
                assert isinstance(output, Send)
                assert self._up is not None
                self._up.send(output.frame)
