"""A broker of guaranteed streams in the simulator: its machine, its disk and its clocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from penstock.guaranteed.broker import AnyFrame, Broker
from penstock.guaranteed.broker_state import BrokerState
from penstock.guaranteed.facts import Alarm, Disconnect, StreamUnwanted, StreamWanted
from penstock.guaranteed.log_record import Fetched, RecoveredLog
from penstock.guaranteed.pubend.pubend_state import PubendState
from penstock.guaranteed.settings import Retention
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.machine import Append, Count, Deliver, Fetch, Port, Save, Send, Trim
from penstock.sim.guaranteed.disk import SimDisk
from penstock.sim.guaranteed.stream_link import StreamLink
from penstock.sim.guaranteed.worker import Worker
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.frames.guaranteed.base import BrokerFrame
from penstock.wire.frames.guaranteed.channels import CHANNEL_OF, Channel
from penstock.wire.frames.guaranteed.knowledge import Data
from penstock.wire.frames.guaranteed.publication import Publish

if TYPE_CHECKING:
    from penstock.sim.guaranteed.network import StreamNetwork

# A driver carries out what a machine asks for after so long; what is queued has left by then.
FACT_NS: Final = 50 * MILLISECOND
# Simulated wall clocks begin here: 2026-01-01.
WALL_START_NS: Final = 1_767_225_600 * SECOND
EMPTY_LOG: Final = RecoveredLog(
    lease=0, next_number=1, last_tick=0, trimmed_upto=0, snapshot=None, since_snapshot=()
)


def size_of(frame: AnyFrame) -> int:
    """The length of a frame on the wire."""
    if isinstance(frame, BrokerFrame):
        return 4 + BROKER_FRAMES.size_of(frame)
    return 4 + CLIENT_FRAMES.size_of(frame)


def messages_in(frame: AnyFrame) -> int:
    """How many messages have to be handled with it."""
    if isinstance(frame, Publish):
        return len(frame.ids)
    return 1 if isinstance(frame, Data) else 0


class SimBroker:
    """A broker, its disk, and the streams it was created with."""

    def __init__(
        self, network: StreamNetwork, name: str, streams: dict[int, str], parents: int
    ) -> None:
        self.name: Final = name
        self.streams: Final = dict(streams)
        self._parents: Final = parents
        self.is_up = False
        self.life = 0
        # Of the wall clock, against its own clock; of that one, against the world's time.
        self.wall_offset_ns: Duration = 0
        self.drift_ppm = 0
        self.links: Final[dict[Port, StreamLink]] = {}
        self.worker: Final = Worker(network.events)
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
        # Of all its lives.
        self.alarms: Final[list[Alarm]] = []
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
            address=f"{self.name}:7451",
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
        self.worker.crash()

    def call(self, verb: Callable[[Broker, Instant], object]) -> None:
        """Calls a verb of the machine and drains it."""
        if self.is_up:
            verb(self.machine, self.now)
            self.drain()

    def arrive(self, port: Port, frames: list[AnyFrame]) -> None:
        """Frames have come by a link."""
        for watcher in self._network.watchers:
            watcher.on_arrival(self.name, port, frames)
        if not self.worker.is_limited:
            self.call(lambda broker, now: broker.receive_all(frames, via=port, now=now))
            return
        link = self.links.get(port)
        urgent = [frame for frame in frames if CHANNEL_OF.get(type(frame)) is Channel.CONTROL]
        others = [frame for frame in frames if CHANNEL_OF.get(type(frame)) is not Channel.CONTROL]
        for some, is_urgent in ((urgent, True), (others, False)):
            if some:
                self.worker.do(
                    port,
                    partial(self._handle, port, link, some),
                    messages=sum(map(messages_in, some)),
                    size_bytes=sum(map(size_of, some)),
                    is_urgent=is_urgent,
                )

    def _handle(self, port: Port, link: StreamLink | None, frames: list[AnyFrame]) -> None:
        """The connection that they came by may be gone by now."""
        if self.links.get(port) is link:
            self.call(lambda broker, now: broker.receive_all(frames, via=port, now=now))

    def recreate(self, stream: str) -> None:
        """Deletes a stream and creates it again, empty."""
        if not self.is_up:
            return
        for id_ in [id_ for id_, name in self.streams.items() if name == stream]:
            self.call(lambda b, now, id_=id_: b.remove_pubend(b.pubends[id_], now=now))  # type: ignore[misc]
            del self.streams[id_]
            self.disk.delete_log(f"{id_:016x}")
            new = self._rng.getrandbits(64)
            self.streams[new] = stream
            state = PubendState(id=new, stream=stream, log=EMPTY_LOG, saved={})
            self.call(lambda b, now, state=state: b.add_stream(state, now=now))  # type: ignore[misc]

    def room(self, port: Port, size_bytes: int) -> None:
        """A link takes so many more bytes."""
        if not self.is_up:
            return
        machine = self.machine
        may_go_on = any(pubend.repairs.is_held_up for pubend in machine.pubends.values())
        machine.room(port, size_bytes, now=self.now)
        if may_go_on:
            self.drain()
        else:
            # Frames leave, and nothing else happens: the timer stays.
            self._carry_out()

    def drain(self) -> None:
        """Carries out all outputs and re-arms the timer."""
        self._carry_out()
        wakeup = self.machine.next_wakeup()
        if wakeup is None:
            return
        at = self._in_world_time(wakeup)
        if self._armed_at is None or at < self._armed_at:
            self._armed_at = max(at, self._network.events.now)
            self._network.events.schedule(self._armed_at, self._on_timer, self.life, self._armed_at)

    def _carry_out(self) -> None:
        machine, life = self.machine, self.life
        while (output := machine.poll()) is not None:
            if isinstance(output, Send):
                if isinstance(output.frame, BrokerFrame):
                    for watcher in self._network.watchers:
                        watcher.on_frame(self.name, output.frame)
                self.links[output.port].send(output.frame)
            elif isinstance(output, Append | Fetch | Count | Trim | Save):
                self._to_disk(output, life)
            elif isinstance(output, Deliver):
                self._on_fact(output.item, life)

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
            elif isinstance(fact, Alarm):
                self.alarms.append(fact)
            else:
                assert isinstance(fact, Disconnect)
                self._network.disconnect(fact.port)

        events = self._network.events
        events.schedule(events.now + FACT_NS, carry_out)

    def _to_disk(self, output: Append | Fetch | Count | Trim | Save, life: int) -> None:
        def told(*answer: Any) -> None:
            if not self.is_up or life != self.life:
                return
            if isinstance(output, Append):
                self._on_appended(output)
                if output.records and output.upto % self.disk.roll_records < len(output.records):
                    self.call(lambda b, now: b.rolled(output.log, now=now))
            elif isinstance(output, Fetch):
                self._on_fetched(output, answer[0])
            elif isinstance(output, Count):
                self.call(lambda b, now: b.counted(output.request, answer[0], now=now))
            elif isinstance(output, Save):
                self.call(lambda b, now: b.saved(output.serial, now=now))

        self.disk.take(output, told=told)

    def _on_appended(self, output: Append) -> None:
        def tell(broker: Broker, now: Instant) -> None:
            broker.appended(output.log, output.upto, output.lease, now=now)
            broker.settle(now=now)

        self.call(tell)

    def _on_fetched(self, output: Fetch, found: Fetched) -> None:
        """What was read is as much work as what comes by links."""
        self.worker.do(
            output.log,
            lambda: self.call(lambda b, now: b.fetched(output.request, found, now=now)),
            messages=len(found.records),
            size_bytes=sum(len(record.body) for record in found.records),
            is_urgent=False,
        )

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
