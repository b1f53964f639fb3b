"""Brokers of guaranteed streams and their clients in one simulated world.

Drives each machine as a driver on sockets does: frames in, outputs drained, one timer re-armed.
Brokers keep their disks through crashes; links are cut for both ends at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.guaranteed.broker import AnyFrame, Broker, BrokerState
from penstock.guaranteed.client import BROKER, Client, ClientFact
from penstock.guaranteed.facts import Disconnect, StreamUnwanted, StreamWanted
from penstock.guaranteed.log_record import RecoveredLog
from penstock.guaranteed.pubend.pubend import PubendState
from penstock.guaranteed.settings import BrokerSettings, Retention
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Append, Deliver, Fetch, Port, Save, Send, Trim
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue
from penstock.sim.guaranteed.disk import SimDisk
from penstock.sim.guaranteed.stream_link import WINDOW_BYTES, StreamLink
from penstock.sim.guaranteed.watcher import NetworkWatcher
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.base import BrokerFrame

# A driver carries out what a machine asks for after so long; what is queued has left by then.
FACT_NS: Final = 50 * MILLISECOND
# Simulated wall clocks begin here: 2026-01-01.
WALL_START_NS: Final = 1_767_225_600 * SECOND


def size_of(frame: AnyFrame) -> int:
    """The length of a frame on the wire."""
    if isinstance(frame, BrokerFrame):
        return 4 + BROKER_FRAMES.size_of(frame)
    return 4 + CLIENT_FRAMES.size_of(frame)


def through_codec(frame: AnyFrame) -> AnyFrame:
    """What arrives at the other end of a socket."""
    if isinstance(frame, BrokerFrame):
        return BROKER_FRAMES.decode(BROKER_FRAMES.encode(frame))
    return CLIENT_FRAMES.decode(CLIENT_FRAMES.encode(frame))


class SimBroker:
    """A broker, its disk, and the streams it was created with."""

    def __init__(
        self, network: StreamNetwork, name: str, streams: dict[int, str], parents: int
    ) -> None:
        self.name: Final = name
        self.streams: Final = streams
        self._parents: Final = parents
        self.is_up = False
        self.life = 0
        # Of the wall clock, against its own clock; of that one, against the world's time.
        self.wall_offset_ns: Duration = 0
        self.drift_ppm = 0
        self.links: Final[dict[Port, StreamLink]] = {}
        self.machine: Broker
        self._network: Final = network
        self.disk: Final = SimDisk(
            network.events,
            network.seeds.rng("disk", name),
            sync_ns=network.sync_ns,
            watch=self._watch_disk,
        )
        # In the world's time.
        self._armed_at: Instant | None = None
        self._rng: Final = network.seeds.rng("streams", name)
        # Of streams that were created by request.
        self._retentions: Final[dict[int, Retention]] = {}
        self.start()

    @property
    def wall_ns(self) -> int:
        """What the wall clock of this broker shows."""
        return WALL_START_NS + self.now + self.wall_offset_ns

    @property
    def now(self) -> Instant:
        """What its own clock shows."""
        now = self._network.events.now
        return now + now * self.drift_ppm // 1_000_000

    def start(self) -> None:
        """Starts with what is on disk."""
        self.life += 1
        self.is_up = True
        self._armed_at = None
        saved = self.disk.saved
        pubends = []
        for id_, stream in self.streams.items():
            key = f"pubend/{id_:016x}/"
            log = self.disk.logs.get(f"{id_:016x}")
            recovered = log.recovered() if log is not None else EMPTY_LOG
            own = {k.removeprefix(key): v for k, v in saved.items() if k.startswith(key)}
            pubends.append(
                PubendState(
                    id=id_,
                    stream=stream,
                    log=recovered,
                    saved=own,
                    retention=self._retentions.get(id_),
                )
            )
        state = BrokerState(
            name=self.name,
            life=self.life,
            wall_ns=self.wall_ns,
            pubends=pubends,
            parents=self._parents,
            saved=dict(saved),
        )
        self.machine = Broker(state, settings=self._network.settings, size_of=size_of, now=self.now)
        self.drain()

    def crash(self) -> None:
        """Loses everything but the disk."""
        self.is_up = False
        self.disk.crash()

    def call(self, verb: Callable[[Broker, Instant], object]) -> None:
        """Calls a verb of the machine and drains it."""
        if self.is_up:
            verb(self.machine, self.now)
            self.drain()

    def arrive(self, port: Port, frame: AnyFrame) -> None:
        """A frame has come by a link."""
        self.call(lambda broker, now: broker.receive(frame, via=port, now=now))

    def drain(self) -> None:
        """Carries out all outputs and re-arms the timer."""
        machine, life = self.machine, self.life
        while (output := machine.poll()) is not None:
            if isinstance(output, Send):
                if isinstance(output.frame, BrokerFrame):
                    for watcher in self._network.watchers:
                        watcher.on_frame(self.name, output.frame)
                self.links[output.port].send(output.frame)
            elif isinstance(output, Append | Fetch | Trim | Save):
                self._to_disk(output, life)
            elif isinstance(output, Deliver):
                self._on_fact(output.item, life)
        wakeup = machine.next_wakeup()
        if wakeup is None:
            return
        at = self._in_world_time(wakeup)
        if self._armed_at is None or at < self._armed_at:
            self._armed_at = max(at, self._network.events.now)
            self._network.events.schedule(self._armed_at, self._on_timer, life, self._armed_at)

    def _on_fact(self, fact: object, life: int) -> None:
        """Carries out what the machine asks of its driver, a moment later."""

        def carry_out() -> None:
            if not self.is_up or life != self.life:
                return
            if isinstance(fact, StreamWanted):
                id_ = self._rng.getrandbits(64)
                self.streams[id_] = fact.stream
                self._retentions[id_] = fact.retention
                state = PubendState(
                    id=id_, stream=fact.stream, log=EMPTY_LOG, saved={}, retention=fact.retention
                )
                self.call(lambda b, now: b.add_stream(state, now=now))
            elif isinstance(fact, StreamUnwanted):
                del self.streams[fact.pubend]
                self.disk.delete_log(fact.log)
                self.call(lambda b, now: b.stream_deleted(fact.stream, now=now))
            else:
                assert isinstance(fact, Disconnect)
                self._network.disconnect(fact.port)

        events = self._network.events
        events.schedule(events.now + FACT_NS, carry_out)

    def _to_disk(self, output: Append | Fetch | Trim | Save, life: int) -> None:
        def told(*answer: Any) -> None:
            if not self.is_up or life != self.life:
                return
            if isinstance(output, Append):
                self.call(
                    lambda b, now: b.appended(output.log, output.number, output.lease, now=now)
                )
                if output.record is not None and output.number % self.disk.roll_records == 0:
                    self.call(lambda b, now: b.rolled(output.log, now=now))
            elif isinstance(output, Fetch):
                self.call(lambda b, now: b.fetched(output.request, answer[0], now=now))
            elif isinstance(output, Save):
                self.call(lambda b, now: b.saved(output.serial, now=now))

        self.disk.take(output, told=told)

    def _on_timer(self, life: int, at: Instant) -> None:
        if not self.is_up or life != self.life or at != self._armed_at:
            return
        self._armed_at = None
        wakeup = self.machine.next_wakeup()
        if wakeup is not None and wakeup <= self.now:
            self.machine.wake(now=self.now)
        self.drain()

    def _in_world_time(self, at: Instant) -> Instant:
        """The first instant at which its own clock shows `at`."""
        return -(-at * 1_000_000 // (1_000_000 + self.drift_ppm))

    def _watch_disk(self, output: Append | Save | Trim) -> None:
        for watcher in self._network.watchers:
            if isinstance(output, Trim):
                watcher.on_trim(self.name, output)
            else:
                watcher.on_write(self.name, output)


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
            arrive=lambda frame: broker.arrive(port, frame), on_room=lambda _bytes: None
        )
        broker.links[port] = network.stream_link(
            arrive=self._arrive,
            on_room=lambda size: broker.call(lambda b, now: b.room(port, size, now=now)),
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
        broker.call(lambda b, now: b.client_down(self.port, now=now))
        self.machine.connection_down()

    def call(self, verb: Callable[[Client], Any]) -> Any:
        """Calls a verb of the machine and drains it."""
        result = verb(self.machine)
        self._drain()
        return result

    def _arrive(self, frame: AnyFrame) -> None:
        self.machine.receive(frame, via=BROKER, now=self._network.events.now)  # type: ignore[arg-type]
        self._drain()

    def _drain(self) -> None:
        machine = self.machine
        while (output := machine.poll()) is not None:
            if isinstance(output, Deliver):
                self._on_fact(self, output.item)  # type: ignore[arg-type]
            else:
                assert isinstance(output, Send)
                assert self._up is not None
                self._up.send(output.frame)


class StreamNetwork:
    """All of it, with one clock and one seed."""

    def __init__(
        self,
        seed: int,
        *,
        settings: BrokerSettings | None = None,
        delay_ns: Duration = 5 * MILLISECOND,
        # Of links between brokers.
        rate_bps: int | None = None,
        with_codec: bool = False,
        sync_ns: Duration = 2 * MILLISECOND,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self.seeds: Final = Seeds(seed)
        self.events: Final = EventQueue()
        self.settings: Final = settings or BrokerSettings()
        self.sync_ns: Final = sync_ns
        # How much a link takes before anything has left.
        self.window_bytes: Final = window_bytes
        self.watchers: Final[list[NetworkWatcher]] = []
        self.brokers: Final[dict[str, SimBroker]] = {}
        self.clients: Final[dict[str, SimClient]] = {}
        self._parents: Final[dict[tuple[str, str], bool]] = {}
        self._delay_ns: Final = delay_ns
        self._rate_bps: Final = rate_bps
        self._with_codec: Final = with_codec

    def add_broker(
        self, name: str, *, streams: dict[int, str] | None = None, parents: int = 0
    ) -> SimBroker:
        """Adds a broker with these pubends, by id and stream."""
        broker = self.brokers[name] = SimBroker(self, name, streams or {}, parents)
        return broker

    def add_client(
        self, name: str, broker: str, on_fact: Callable[[SimClient, ClientFact], None]
    ) -> SimClient:
        """Adds a client of one broker; it is not connected yet."""
        client = self.clients[name] = SimClient(self, name, broker, on_fact)
        return client

    def connect(self, child: str, parent: str) -> None:
        """Brings a link up, if both brokers are."""
        low, high = self.brokers[child], self.brokers[parent]
        if self._parents.get((child, parent)) or not (low.is_up and high.is_up):
            return
        self._parents[child, parent] = True
        for sender, receiver in ((low, high), (high, low)):
            sender.links[receiver.name] = self._broker_link(sender, receiver)
        high.call(
            lambda b, now: b.link_up(child, to_parent=False, room_bytes=self.window_bytes, now=now)
        )
        low.call(
            lambda b, now: b.link_up(parent, to_parent=True, room_bytes=self.window_bytes, now=now)
        )

    def cut(self, child: str, parent: str) -> None:
        """Cuts a link; both ends are told."""
        if not self._parents.pop((child, parent), False):
            return
        low, high = self.brokers[child], self.brokers[parent]
        low.links.pop(parent).cut()
        high.links.pop(child).cut()
        low.call(lambda b, now: b.link_down(parent, now=now))
        high.call(lambda b, now: b.link_down(child, now=now))

    def crash(self, name: str) -> None:
        """Kills a broker: its links and connections break."""
        broker = self.brokers[name]
        if not broker.is_up:
            return
        broker.crash()
        for child, parent in list(self._parents):
            if name in (child, parent):
                self.cut(child, parent)
        for client in self.clients.values():
            if client.broker == name:
                client.disconnect()
        broker.links.clear()

    def restart(self, name: str) -> None:
        """Starts a broker again; links and clients come back by `connect`."""
        broker = self.brokers[name]
        if not broker.is_up:
            broker.start()

    def disconnect(self, port: Port) -> None:
        """Closes the connection of a client, by the port that its broker knows."""
        for client in self.clients.values():
            if client.port == port:
                client.disconnect()

    def run(self, duration_ns: Duration) -> None:
        """Lets time pass."""
        self.events.run(self.events.now + duration_ns)

    def stream_link(
        self,
        *,
        arrive: Callable[[AnyFrame], None],
        on_room: Callable[[int], None],
        rate_bps: int | None = None,
    ) -> StreamLink:
        """One direction of a connection."""

        def land(frame: AnyFrame) -> None:
            arrive(through_codec(frame) if self._with_codec else frame)

        return StreamLink(
            self.events,
            delay_ns=self._delay_ns,
            rate_bps=rate_bps,
            size_of=size_of,
            arrive=land,
            on_room=on_room,
        )

    def _broker_link(self, sender: SimBroker, receiver: SimBroker) -> StreamLink:
        return self.stream_link(
            arrive=lambda frame: receiver.arrive(sender.name, frame),
            on_room=lambda size: sender.call(lambda b, now: b.room(receiver.name, size, now=now)),
            rate_bps=self._rate_bps,
        )


EMPTY_LOG: Final = RecoveredLog(
    lease=0, next_number=1, last_tick=0, trimmed_upto=0, snapshot=None, since_snapshot=()
)
