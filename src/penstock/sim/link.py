"""A one-way link: a drop-tail queue, a transmitter and a wire.

A packet that enters a first-in first-out queue already has a departure time: the end of the
transmissions before it, plus its own. So the link computes that time at once and schedules one
event per packet, its arrival at the far end; the packets in flight form one lane of the event
queue. This is the *plain* path.

Two things change departure times already computed: an urgent packet, which overtakes queued
ordinary ones, and a change of rate. The link then removes the packets whose transmission has
not begun from the lane and serves them one by one, with an event at each departure, until the
queue is empty: the *served* path. Both paths give the same packets the same times;
`tests/sim/test_link.py` compares them with a naive twin.

1. A packet is accepted if the unsent rest of the packet in transmission, the queued packets of
   its own class, and the packet itself are together at most `queue_bytes_max`; otherwise it is
   dropped, `queue_full`.
2. Impairments are drawn when a packet is accepted, each kind from its own generator. A lost
   packet still uses the transmitter.
3. A transmission is never interrupted. A packet whose transmission ends at an instant has left
   before a packet that arrives at that instant.
4. Packets arrive in the order of transmission, and no closer than the rate allows: if jitter
   would let a packet overtake, it arrives one transmission time after the packet before it.
5. A link that goes down drops its queue and the packets in flight.

Knows nothing of hosts or ports; frames are opaque.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappush
from itertools import chain
from typing import Any, Final, Generic, TypeAlias, TypeVar

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue, Lane
from penstock.sim.impairments import Impairments
from penstock.sim.link_spec import BYTE_NS_BPS, LinkSpec, TransmitTimes, check_rate
from penstock.sim.observer import DROP_REASONS, DropReason, LinkSample, Observer

Frame = TypeVar("Frame")
FrameReceiver: TypeAlias = Callable[[Frame], object]
# Returns what a corrupted frame decodes to at the far end; None when it cannot be decoded.
Garble: TypeAlias = Callable[[Frame], Frame | None]

_FOREVER: Final = 1_000_000 * SECOND
# Fields of a lane entry after the event queue's own, which the served path needs.
_START, _SIZE, _EXTRA, _URGENT = 5, 6, 7, 8


class Link(Generic[Frame]):
    """One direction of a connection; counters are since the start."""

    __slots__ = (
        "_actions",
        "_cuts",
        "_events",
        "_free_at",
        "_garble",
        "_is_observed",
        "_is_served",
        "_is_special",
        "_last_at",
        "_observer",
        "_queue_bytes_max",
        "_rate_bps",
        "_receiver",
        "_room_ns",
        "_transmit_ns",
        "_waiting",
        "_waiting_ns",
        "_wire",
        "delay_ns",
        "dropped",
        "impairments",
        "name",
        "sent_bytes",
        "sent_frames",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        spec: LinkSpec,
        receiver: FrameReceiver[Frame],
        *,
        events: EventQueue,
        seeds: Seeds,
        garble: Garble[Frame] | None = None,
    ) -> None:
        self.name: Final = name
        self.sent_frames = 0
        self.sent_bytes = 0
        self.dropped: Final[dict[DropReason, int]] = dict.fromkeys(DROP_REASONS, 0)
        self.impairments: Final = Impairments(spec, seeds.child("link", name))
        self._events: Final = events
        self._receiver = receiver
        self._garble: Final = garble
        self._observer: Observer | None = None
        # What to do with a packet at the far end, indexed by `Impairment`.
        self._actions = (receiver, self._lose, self._duplicate, self._corrupt)

        # Without jitter.
        self.delay_ns: Final = spec.delay_ns
        self._queue_bytes_max: Final = spec.queue_bytes_max
        self._rate_bps = spec.rate_bps
        self._transmit_ns = TransmitTimes(spec.rate_bps)
        self._cuts = 0
        self._room_ns: Duration
        self._update_room()

        # Packets in flight (on the plain path also the queued ones), the end of the last
        # transmission, and the last arrival time so far.
        self._wire: Lane = deque()
        self._free_at: Instant = 0
        self._last_at: Instant = 0
        # Served path only: queued packets, ordinary and urgent, and their transmission times.
        self._is_served = False
        self._waiting: Final[tuple[deque[Any], deque[Any]]] = (deque(), deque())
        self._waiting_ns: Final = [0, 0]
        # Served or observed: one test per packet instead of two.
        self._is_observed = False
        self._is_special = False

    def send(self, frame: Frame, size_bytes: int, urgent: bool = False) -> None:
        """Accepts `frame` or drops it."""
        events = self._events
        now = events.now
        if urgent or self._is_special:
            if self._is_observed:
                assert self._observer is not None
                self._observer.on_send(self, frame, size_bytes, now=now)
            if urgent or self._is_served:
                self._send_served(frame, size_bytes, urgent)
                return
        start = self._free_at if self._free_at > now else now
        own_ns = self._transmit_ns[size_bytes]
        free_at = start + own_ns
        if free_at - now > self._room_ns:
            self._drop(frame, "down" if self._cuts else "queue_full")
            return
        self._free_at = free_at
        self.sent_frames += 1
        self.sent_bytes += size_bytes
        at = free_at + self.delay_ns
        impairment = extra_ns = 0
        if self.impairments.are_possible:
            impairment, extra_ns = self.impairments.draw()
            at += extra_ns
            # Not `max`: this runs for every packet, and a call costs more than the rest of it.
            earliest = self._last_at + own_ns
            self._last_at = at = at if at > earliest else earliest
        wire = self._wire
        entry = (
            at, events.next_serial(), wire, self._actions[impairment], frame,
            start, size_bytes, extra_ns, False,
        )  # fmt: skip
        if not wire:
            heappush(events.heap, entry)
        wire.append(entry)

    # The served path.

    def _send_served(self, frame: Frame, size_bytes: int, urgent: bool) -> None:
        now = self._events.now
        if self._is_served:
            self._serve()
        if not self._is_served:
            self._unschedule_waiting()
        rest_ns = max(0, self._free_at - now)
        own_ns = self._transmit_ns[size_bytes]
        if rest_ns + self._waiting_ns[urgent] + own_ns > self._room_ns:
            self._drop(frame, "down" if self._cuts else "queue_full")
            return
        self.sent_frames += 1
        self.sent_bytes += size_bytes
        impairment, extra_ns = self.impairments.draw()
        self._waiting[urgent].append(
            (self._actions[impairment], frame, size_bytes, extra_ns, urgent)
        )
        self._waiting_ns[urgent] += own_ns
        self._serve()

    def _unschedule_waiting(self) -> None:
        """Leaves the plain path: packets whose transmission has not begun are queued again."""
        now, wire = self._events.now, self._wire
        while wire and wire[-1][_START] > now:
            entry = wire.pop()
            self._free_at, size_bytes, urgent = entry[_START], entry[_SIZE], entry[_URGENT]
            self._waiting[urgent].appendleft((*entry[3:5], size_bytes, entry[_EXTRA], urgent))
            self._waiting_ns[urgent] += self._transmit_ns[size_bytes]
        self._last_at = wire[-1][0] if wire else now
        self._set_served(True)
        if self._free_at > now:
            self._events.schedule(self._free_at, self._serve)

    def _serve(self) -> None:
        """Starts each transmission that is due; called at each departure, and early by senders."""
        events, wire = self._events, self._wire
        ordinary, urgents = self._waiting
        while self._free_at <= events.now and (ordinary or urgents):
            action, frame, size_bytes, extra_ns, urgent = (urgents or ordinary).popleft()
            own_ns = self._transmit_ns[size_bytes]
            self._waiting_ns[urgent] -= own_ns
            # A transmitter that is free before now was idle: transmission starts now.
            start = events.now
            self._free_at = start + own_ns
            at = max(self._last_at + own_ns, self._free_at + self.delay_ns + extra_ns)
            self._last_at = at
            entry = (
                at, events.next_serial(), wire, action, frame,
                start, size_bytes, extra_ns, urgent,
            )  # fmt: skip
            if not wire:
                heappush(events.heap, entry)
            wire.append(entry)
            if ordinary or urgents:
                events.schedule(self._free_at, self._serve)
        self._set_served(bool(ordinary or urgents))

    def _set_served(self, is_served: bool) -> None:
        self._is_served = is_served
        self._is_special = is_served or self._is_observed

    # Impairments on the wire.

    def _lose(self, frame: Frame) -> None:
        self._drop(frame, "loss")

    def _duplicate(self, frame: Frame) -> None:
        self._actions[0](frame)
        self._actions[0](frame)

    def _corrupt(self, frame: Frame) -> None:
        garbled = None if self._garble is None else self._garble(frame)
        if garbled is None:
            self._drop(frame, "corrupt")
        else:
            self._actions[0](garbled)

    def _arrive_observed(self, frame: Frame) -> None:
        assert self._observer is not None
        self._observer.on_arrive(self, frame, now=self._events.now)
        self._receiver(frame)

    def _drop(self, frame: Frame, reason: DropReason) -> None:
        self.dropped[reason] += 1
        if self._observer is not None:
            self._observer.on_drop(self.name, frame, reason, now=self._events.now)

    # Changes by the world and its faults.

    def observe(self, observer: Observer) -> None:
        """Reports to `observer` from the next packet on."""
        self._observer = observer
        if not observer.drops_only:
            self._is_observed = self._is_special = True
            self._actions = (self._arrive_observed, *self._actions[1:])

    def divert(self, kind: type, receiver: Callable[[Any], object]) -> None:
        """Redirects frames of this type to `receiver` from the next packet on."""
        onward = self._receiver

        def receive(frame: Any) -> None:
            (receiver if type(frame) is kind else onward)(frame)

        self._receiver = receive
        if not self._is_observed:
            self._actions = (receive, *self._actions[1:])

    @property
    def rate_bps(self) -> int | None:
        """Rate in bit/s; None for a wire without limit."""
        return self._rate_bps

    @property
    def is_up(self) -> bool:
        """Whether packets can pass."""
        return not self._cuts

    def cut(self) -> None:
        """Takes the link down; a link cut twice must be mended twice."""
        self._cuts += 1
        self._room_ns = -1
        lost = [entry[4] for entry in self._wire]
        lost += [waiting[1] for waiting in chain(*self._waiting)]
        # The lane's first entry is in the heap, which skips it when it finds the lane empty.
        self._wire.clear()
        self._wire = deque()
        for waiting in self._waiting:
            waiting.clear()
        self._waiting_ns[:] = [0, 0]
        self._set_served(False)
        self._free_at = self._last_at = self._events.now
        for frame in lost:
            self._drop(frame, "down")

    def mend(self) -> None:
        """Undoes one cut."""
        assert self._cuts, f"{self.name} is not down"
        self._cuts -= 1
        self._update_room()

    def set_rate(self, rate_bps: int | None) -> None:
        """Changes the rate; the packet in transmission ends at the old rate."""
        check_rate(rate_bps)
        if self._is_served:
            self._serve()
        if not self._is_served:
            self._unschedule_waiting()
        self._rate_bps = rate_bps
        self._transmit_ns = TransmitTimes(rate_bps)
        for urgent, waiting in enumerate(self._waiting):
            self._waiting_ns[urgent] = sum(self._transmit_ns[w[2]] for w in waiting)
        self._update_room()
        self._serve()

    def _update_room(self) -> None:
        """Without a rate every packet fits; while the link is down none does."""
        self._room_ns = -1 if self._cuts else self._transmit_ns[self._queue_bytes_max] or _FOREVER

    # State for samples.

    @property
    def queue_fill(self) -> float:
        """Share of the queue in use; 0 without a rate or while the link is down."""
        if self._rate_bps is None or self._cuts:
            return 0.0
        unsent_ns = max(0, self._free_at - self._events.now) + sum(self._waiting_ns)
        return unsent_ns / self._room_ns

    def sample(self) -> LinkSample:
        """Sample of the queue and the counters."""
        now = self._events.now
        frames = sum(entry[_START] > now for entry in self._wire)
        unsent_ns = max(0, self._free_at - now) + sum(self._waiting_ns)
        return LinkSample(
            now,
            self.name,
            -(-unsent_ns * (self._rate_bps or 0) // BYTE_NS_BPS),
            frames + sum(map(len, self._waiting)),
            self.sent_frames,
            self.sent_bytes,
            sum(self.dropped.values()),
        )
