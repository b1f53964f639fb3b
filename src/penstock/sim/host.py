"""A host: one machine, its clock, its workers and its ports.

The host passes a frame to the machine, drains the machine's outputs and re-arms one timer.
Between arrival and processing stand `count` workers with random service times: two frames that
arrive in sequence may be processed in the other order. That is how a network of in-order links
reorders messages. Workers take frames in order of arrival, so the time at which a worker
becomes free is known on arrival, and each frame costs one event, at the end of its service.

Knows no protocol: frames are opaque, and the `Outlets` get all other outputs of the machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapreplace
from random import Random
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration, Instant
from penstock.kernel.machine import Deliver, Machine, Port, Record, Send
from penstock.kernel.seeds import Seeds
from penstock.sim.clock import Clock
from penstock.sim.events import EventQueue
from penstock.sim.link import Link
from penstock.sim.observer import DropReason, HostSample, Observer

Frame = TypeVar("Frame")
Sent_contra = TypeVar("Sent_contra", contravariant=True)
M = TypeVar("M", bound=Machine[Any])

ServiceTime: TypeAlias = Callable[[Random], Duration]


def exponential(mean_ns: Duration) -> ServiceTime:
    """Exponentially distributed service times with this mean."""
    if mean_ns <= 0:
        raise UsageError(f"a mean service time must be above 0 ns, not {mean_ns}")
    pace = 1 / mean_ns
    return lambda rng: round(rng.expovariate(pace))


def constant(service_ns: Duration) -> ServiceTime:
    """The same service time for every frame."""
    if service_ns < 0:
        raise UsageError(f"a service time cannot be negative: {service_ns} ns")
    return lambda _rng: service_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Worker pool of a host; at most `queue_frames_max` frames wait for a worker."""

    count: int
    service_time: ServiceTime
    queue_frames_max: int = 1000

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(
                f"{self.count} workers would never serve: write 1 or more, "
                "or give the host no workers to process frames at once"
            )
        if self.queue_frames_max < 0:
            raise UsageError(f"a queue cannot hold {self.queue_frames_max} frames: write 0 or more")


# No slots: `Framing[int](...)` would fail on them (cpython issue 116669).
@dataclass(frozen=True, kw_only=True)
class Framing(Generic[Frame]):
    """Size, class and codec of frames, as functions.

    With a codec (encode, decode) every frame is encoded and decoded when it is sent, so that
    the receiving machine sees what it would see over a socket.
    """

    size_of: Callable[[Frame], int]
    is_urgent: Callable[[Frame], bool] | None = None
    codec: tuple[Callable[[Frame], bytes], Callable[[bytes], Frame]] | None = None


@dataclass(frozen=True, kw_only=True)
class Marking(Generic[Frame]):
    """Congestion marks on frames sent into a queue that is fuller than `threshold`, 0 to 1.

    `mark` must not change a frame's size.
    """

    threshold: float
    mark: Callable[[Frame], Frame]

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"a share of a queue is 0 to 1, not {self.threshold}")


def _never(_frame: Any) -> bool:
    return False


def _ignore(_host: Host[Any, Any], _output: Any) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """Callbacks for the outputs of a machine other than frames."""

    deliver: Callable[[Host[Any, Any], Deliver], None] = _ignore
    record: Callable[[Host[Any, Any], Record], None] = _ignore


class FrameSink(Protocol[Sent_contra]):
    """The sending side of a port: a link or a replacement for one."""

    def send(self, frame: Sent_contra, size_bytes: int, urgent: bool = False) -> None:
        """Accepts `frame` or drops it."""


class Host(Generic[Frame, M]):
    """Drives the machine that `make` returns; calls `make` again after each crash."""

    def __init__(
        self,
        name: str,
        make: Callable[[Instant], M],
        *,
        framing: Framing[Frame],
        events: EventQueue,
        seeds: Seeds,
        workers: Workers | None = None,
        clock: Clock | None = None,
        outlets: Outlets | None = None,
        marking: Marking[Frame] | None = None,
    ) -> None:
        self.name: Final = name
        self.clock: Final = clock or Clock()
        self.links: Final[dict[Port, FrameSink[Frame]]] = {}
        self.received_frames = 0
        self.dropped: Final[dict[DropReason, int]] = {"queue_full": 0, "down": 0}
        self.observer: Observer | None = None
        self._make: Final = make
        self._codec: Final = framing.codec
        self._size_of: Final = framing.size_of
        self._is_urgent: Final = framing.is_urgent or _never
        self._events: Final = events
        self._outlets: Final = outlets or Outlets()
        self._marking: Final = marking
        self.marked_frames = 0
        self._workers: Final = workers
        self._rng: Final = seeds.rng("host", name, "service")
        # A heap of when each worker is free, and the start of service of each queued frame.
        self._free_at: list[Instant] = []
        self._starts: deque[Instant] = deque()
        self._crashes = 0
        # Events of an earlier life of the machine carry an older generation and are ignored.
        self._generation = 0
        self._armed_at: Instant | None = None
        # Local time of the armed timer; only an earlier deadline needs a new one.
        self._armed_for: Instant | None = None
        self.machine: M
        self._start()

    @property
    def is_up(self) -> bool:
        """Whether the host runs, that is, has no crash left to restart from."""
        return not self._crashes

    @property
    def now(self) -> Instant:
        """Local time, by this host's clock."""
        return self.clock.local(self._events.now)

    def arrive(self, port: Port, frame: Frame) -> None:
        """Receives a frame from the link at `port`."""
        if self._crashes:
            self._drop(frame, "down")
        elif self._workers is None:
            # Inlined from `_process`: saves a call per frame.
            self.received_frames += 1
            self.machine.receive(frame, via=port, now=self.clock.local(self._events.now))
            self._drain()
        else:
            now, starts = self._events.now, self._starts
            while starts and starts[0] <= now:
                starts.popleft()
            start = max(now, self._free_at[0])
            if start > now:
                if len(starts) >= self._workers.queue_frames_max:
                    self._drop(frame, "queue_full")
                    return
                starts.append(start)
            done = start + self._workers.service_time(self._rng)
            heapreplace(self._free_at, done)
            self._events.schedule(done, self._process, self._generation, port, frame)

    def call(self, verb: Callable[[M, Instant], object]) -> bool:
        """Calls `verb(machine, local time)`; returns False when the host is down."""
        if self._crashes:
            return False
        verb(self.machine, self.now)
        self._drain()
        return True

    def crash(self) -> None:
        """Loses the machine and its state; a host crashed twice must be restarted twice.

        Queued frames and frames in service are reported as dropped when their service would
        have ended.
        """
        self._crashes += 1
        self._generation += 1

    def restart(self) -> None:
        """Undoes one crash; after the last the machine starts with no state."""
        assert self._crashes, f"{self.name} is not down"
        self._crashes -= 1
        if not self._crashes:
            self._start()

    def step_clock(self, by_ns: Duration) -> None:
        """Steps the clock and re-arms the timer."""
        self.clock.step(by_ns, at=self._events.now)
        self._armed_for = None
        wakeup = None if self._crashes else self.machine.next_wakeup()
        if wakeup is not None:
            self._arm(wakeup)

    def sample(self) -> HostSample:
        """Sample of the input queue and the counters."""
        now = self._events.now
        waiting = sum(start > now for start in self._starts)
        dropped = sum(self.dropped.values())
        return HostSample(now, self.name, waiting, self.received_frames, dropped)

    def _start(self) -> None:
        now = self._events.now
        self._free_at = [now] * (self._workers.count if self._workers else 0)
        self._starts.clear()
        self._armed_at = self._armed_for = None
        self.machine = self._make(self.now)
        # Deferred: a new machine may send at once, while the world is still being built.
        self._events.schedule(now, self._first_drain, self._generation)

    def _first_drain(self, generation: int) -> None:
        if generation == self._generation:
            self._drain()

    def _process(self, generation: int, port: Port, frame: Frame) -> None:
        if generation != self._generation:
            self._drop(frame, "down")
            return
        self.received_frames += 1
        self.machine.receive(frame, via=port, now=self.clock.local(self._events.now))
        self._drain()

    def _drain(self) -> None:
        poll = self.machine.poll
        while (output := poll()) is not None:
            if type(output) is Send:
                frame = output.frame
                size_bytes = self._size_of(frame)
                if self._marking is not None:
                    frame = self._mark_if_congested(frame, output.port)
                if self._codec is not None:
                    frame = self._through_codec(frame, size_bytes)
                self.links[output.port].send(frame, size_bytes, self._is_urgent(frame))
            elif type(output) is Deliver:
                self._outlets.deliver(self, output)
            else:
                assert type(output) is Record, f"{self.name} put out {output!r}"
                self._outlets.record(self, output)
        wakeup = self.machine.next_wakeup()
        if wakeup is not None and (self._armed_for is None or wakeup < self._armed_for):
            self._arm(wakeup)

    def _mark_if_congested(self, frame: Frame, port: Port) -> Frame:
        assert self._marking is not None
        sink = self.links[port]
        # A replacement for a link has no queue.
        if not isinstance(sink, Link) or sink.queue_fill <= self._marking.threshold:
            return frame
        marked = self._marking.mark(frame)
        self.marked_frames += marked is not frame
        return marked

    def _through_codec(self, frame: Frame, size_bytes: int) -> Frame:
        assert self._codec is not None
        encode, decode = self._codec
        encoded = encode(frame)
        assert len(encoded) == size_bytes, f"{frame!r}: {len(encoded)} B, not {size_bytes}"
        return decode(encoded)

    def _arm(self, wakeup: Instant) -> None:
        """Keeps one timer: an early one re-arms itself, so only earlier deadlines cost events."""
        at = max(self._events.now, self.clock.global_at(wakeup))
        if self._armed_at is None or at < self._armed_at:
            self._armed_at, self._armed_for = at, wakeup
            self._events.schedule(at, self._on_timer, self._generation, at)

    def _on_timer(self, generation: int, at: Instant) -> None:
        if generation != self._generation or at != self._armed_at:
            return
        self._armed_at = self._armed_for = None
        now = self.now
        wakeup = self.machine.next_wakeup()
        if wakeup is None:
            return
        if wakeup > now:
            self._arm(wakeup)
            return
        self.machine.wake(now=now)
        self._drain()
        assert self._armed_at != at, f"{self.name} woke and is still due"

    def _drop(self, frame: Frame, reason: DropReason) -> None:
        self.dropped[reason] += 1
        if self.observer is not None:
            self.observer.on_drop(self.name, frame, reason, now=self._events.now)
