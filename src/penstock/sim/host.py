"""A host: one machine, its clock, its workers and its ports.

The pump is receive → drain → re-arm one timer. Between the arrival of a frame
and its processing stand W workers with random service times: two frames that
arrive one after the other may be processed the other way round, and that is
where a network of in-order links gets its reordering from. Workers take frames
in order of arrival, so when one will be free is known on arrival, and a frame
costs one event, at the end of its service.

Knows no protocol: frames are opaque, and what a machine delivers, records or
appends goes to whoever was given to take it.
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
from penstock.kernel.machine import Append, Deliver, Machine, Port, Record, Send
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
    """The usual law of a busy server."""
    if mean_ns <= 0:
        raise UsageError(f"a mean service time must be above 0 ns, not {mean_ns}")
    pace = 1 / mean_ns
    return lambda rng: round(rng.expovariate(pace))


def constant(service_ns: Duration) -> ServiceTime:
    """Always the same."""
    if service_ns < 0:
        raise UsageError(f"a service time cannot be negative: {service_ns} ns")
    return lambda _rng: service_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """How a host gets through its input; `queue_frames_max` may wait for a worker."""

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
    """What the simulator must be told about frames.

    With a codec (encode, decode) every frame is written and read again when it
    is sent, so that a machine sees what it would see over a socket.
    """

    size_of: Callable[[Frame], int]
    is_urgent: Callable[[Frame], bool] | None = None
    codec: tuple[Callable[[Frame], bytes], Callable[[bytes], Frame]] | None = None


@dataclass(frozen=True, kw_only=True)
class Marking(Generic[Frame]):
    """How a host marks what it puts in a queue that is fuller than `above`, a share of it.

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
    """Who takes what a machine puts out, besides frames."""

    deliver: Callable[[Host[Any, Any], Deliver], None] = _ignore
    record: Callable[[Host[Any, Any], Record], None] = _ignore
    append: Callable[[Host[Any, Any], Append], None] = _ignore


class FrameSink(Protocol[Sent_contra]):
    """Where a port leads: a link, or what stands for one."""

    def send(self, frame: Sent_contra, size_bytes: int, urgent: bool = False) -> None:
        """Takes `frame` or drops it."""


class Host(Generic[Frame, M]):
    """Drives the machine that `make` makes, anew after each crash."""

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
        # A heap of when each worker is free, and when each frame that waits will be taken up.
        self._free_at: list[Instant] = []
        self._starts: deque[Instant] = deque()
        self._crashes = 0
        # What was scheduled for one life of the machine means nothing to the next.
        self._generation = 0
        self._armed_at: Instant | None = None
        # By the host's own clock, while it runs as it did then: what is not before it can wait.
        self._armed_for: Instant | None = None
        self.machine: M
        self._start()

    @property
    def is_up(self) -> bool:
        """Whether there is a machine to talk to."""
        return not self._crashes

    @property
    def now(self) -> Instant:
        """The time by this host's own clock."""
        return self.clock.local(self._events.now)

    def arrive(self, port: Port, frame: Frame) -> None:
        """Takes a frame from the link at `port`."""
        if self._crashes:
            self._drop(frame, "down")
        elif self._workers is None:
            # As in `_process`: a call less for every frame.
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
        """Says something to the machine that is no frame; False when the host is down."""
        if self._crashes:
            return False
        verb(self.machine, self.now)
        self._drain()
        return True

    def crash(self) -> None:
        """Loses the machine and all it had; a host crashed twice must be restarted twice.

        Frames that wait or are in service are told as dropped when their service would end.
        """
        self._crashes += 1
        self._generation += 1

    def restart(self) -> None:
        """Takes one crash back; the machine starts with nothing."""
        assert self._crashes, f"{self.name} is not down"
        self._crashes -= 1
        if not self._crashes:
            self._start()

    def step_clock(self, by_ns: Duration) -> None:
        """Moves the clock; timers follow it."""
        self.clock.step(by_ns, at=self._events.now)
        self._armed_for = None
        wakeup = None if self._crashes else self.machine.next_wakeup()
        if wakeup is not None:
            self._arm(wakeup)

    def sample(self) -> HostSample:
        """The input as it is now."""
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
        # Not at once: a machine may speak as soon as it exists, and the world may not be complete.
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
            elif type(output) is Record:
                self._outlets.record(self, output)
            else:
                assert type(output) is Append, f"{self.name} put out {output!r}"
                self._outlets.append(self, output)
        wakeup = self.machine.next_wakeup()
        if wakeup is not None and (self._armed_for is None or wakeup < self._armed_for):
            self._arm(wakeup)

    def _mark_if_congested(self, frame: Frame, port: Port) -> Frame:
        assert self._marking is not None
        sink = self.links[port]
        # What only stands for a link has no queue of its own.
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
        """One live timer: an event that comes too early looks again, so only moving up costs."""
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
