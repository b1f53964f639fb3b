"""Three brokers in a line, for named runs of guaranteed streams."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.guaranteed.settings import BrokerSettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.instant import MILLISECOND
from penstock.sim.checkers.guaranteed.decided_ticks import DecidedTicksChecker
from penstock.sim.guaranteed.application import ReadingProgram, Writer
from penstock.sim.guaranteed.network import StreamNetwork

PUBEND = 0xA
ORDERS = {PUBEND: "orders"}


class Line:
    """p – i – s, with a writer at p."""

    def __init__(
        self,
        seed: int,
        settings: BrokerSettings | None = None,
        *,
        link_window_bytes: int | None = None,
    ) -> None:
        self.network = StreamNetwork(seed, settings=settings, link_window_bytes=link_window_bytes)
        self.decided = DecidedTicksChecker()
        self.network.watchers.append(self.decided)
        self.network.add_broker("p", streams=dict(ORDERS))
        self.network.add_broker("i", parents=1)
        self.network.add_broker("s", parents=1)
        self.connect()
        self.run(100)
        self.writer = Writer(self.network, "writer", "p")
        self.published = 0

    def connect(self) -> None:
        """All that is up is linked."""
        self.network.connect("i", "p")
        self.network.connect("s", "i")
        for client in self.network.clients.values():
            client.connect()

    def run(self, duration_ms: int) -> None:
        """Lets time pass."""
        self.network.run(duration_ms * MILLISECOND)

    def reader(
        self,
        name: str,
        broker: str = "s",
        *,
        predicate: Predicate = EVERYTHING,
        window: int = 100,
        is_paused: bool = False,
        opens_for_ms: int = 100,
    ) -> ReadingProgram:
        """A durable reader of everything, from the first message on."""
        reader = ReadingProgram(
            self.network,
            name,
            broker,
            stream="orders",
            durable=name,
            window=window,
            predicate=predicate,
        )
        reader.is_paused = is_paused
        self.run(50)
        reader.open()
        self.run(opens_for_ms)
        return reader

    def publish(self, messages: int, *, every_ms: int = 5) -> None:
        """Messages numbered on."""
        for _ in range(messages):
            self.writer.publish("orders", {"n": self.published, "k": self.published % 4})
            self.published += 1
            self.run(every_ms)

    @property
    def is_idle(self) -> bool:
        """Whether nobody has anything to do."""
        return all(broker.machine.is_idle for broker in self.network.brokers.values())
