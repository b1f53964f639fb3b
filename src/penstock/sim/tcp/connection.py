"""A TCP connection across one link: both its ends, and the way past the hosts of the link.

Segments wait in the same queue as all other frames on the link, and acknowledgements in that of
the reverse link. The hosts see none of them, because routers, not brokers, forward TCP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from penstock.kernel.instant import Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.events import EventQueue
from penstock.sim.host import Framing, Host
from penstock.sim.link import Link
from penstock.sim.tcp.cubic import Cubic
from penstock.sim.tcp.newreno import NewReno
from penstock.sim.tcp.receiver import TcpReceiver
from penstock.sim.tcp.segments import SEGMENT_BYTES, Ack, Segment, size_of
from penstock.sim.tcp.sender import RTO_MIN_NS, TcpSender
from penstock.sim.tcp.window import Window

Algorithm: TypeAlias = Literal["newreno", "cubic"]

_WINDOWS: Final[dict[Algorithm, type[NewReno | Cubic]]] = {"newreno": NewReno, "cubic": Cubic}
_PORT: Final = "path"
_FRAMING: Final = Framing[Segment | Ack](size_of=size_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpOptions:
    """Algorithm and parameters of a connection."""

    algorithm: Algorithm = "newreno"
    segment_bytes: int = SEGMENT_BYTES
    delayed_acks: bool = False
    limited_transmit: bool = False
    rto_min_ns: Duration = RTO_MIN_NS


class Passing(Struct, frozen=True):
    """A segment or acknowledgement that bypasses the host at the far end and goes to `take`."""

    frame: Segment | Ack
    take: Callable[[Segment | Ack], None]

    @property
    def size_bytes(self) -> int:
        """Size on a link."""
        return self.frame.size_bytes


class TcpCounts(NamedTuple):
    """Counts since the start; bytes are those on the link, headers included."""

    arrived_bytes: int = 0
    new_bytes: int = 0
    resent: int = 0
    timeouts: int = 0


class TcpConnection:
    """Sends all it can over `there` from `start` to `stop`; `back` carries acknowledgements."""

    def __init__(
        self,
        name: str,
        there: Link[Any],
        back: Link[Any],
        options: TcpOptions,
        *,
        events: EventQueue,
        seeds: Seeds,
    ) -> None:
        self.name: Final = name
        self.link_name: Final = there.name
        self._options: Final = options
        window: Window = _WINDOWS[options.algorithm]()
        self._sender: Final = Host[Segment | Ack, TcpSender](
            f"{name}.sender",
            lambda _now: TcpSender(
                _PORT,
                window,
                segment_bytes=options.segment_bytes,
                rto_min_ns=options.rto_min_ns,
                limited_transmit=options.limited_transmit,
            ),
            framing=_FRAMING,
            events=events,
            seeds=seeds,
        )
        self._receiver: Final = Host[Segment | Ack, TcpReceiver](
            f"{name}.receiver",
            lambda _now: TcpReceiver(delayed_acks=options.delayed_acks),
            framing=_FRAMING,
            events=events,
            seeds=seeds,
        )
        self._events: Final = events
        self._sender.links[_PORT] = _ConnectionPort(there, self._receiver)
        self._receiver.links[_PORT] = _ConnectionPort(back, self._sender)
        for link in (there, back):
            link.divert(Passing, _deliver)

    def plan(self, start: Instant, stop: Instant) -> None:
        """Schedules the start of the connection and the end of its sender."""
        self._events.schedule(start, self._sender.call, _start)
        self._events.schedule(stop, self._sender.crash)

    @property
    def sender(self) -> TcpSender:
        """The sending end."""
        return self._sender.machine

    def counts(self) -> TcpCounts:
        """Bytes that arrived at the receiver, and retransmissions and timeouts of the sender."""
        size_bytes = self._options.segment_bytes
        return TcpCounts(
            self._receiver.received_frames * size_bytes,
            self._receiver.machine.received * size_bytes,
            self.sender.resent,
            self.sender.timeouts,
        )


class _ConnectionPort:
    """The port of one end: sends over the link, which others use too, to the other end."""

    def __init__(self, link: Link[Any], end: Host[Segment | Ack, Any]) -> None:
        self._link: Final = link
        self._end: Final = end

    def send(self, frame: Segment | Ack, size_bytes: int, urgent: bool = False) -> None:
        self._link.send(Passing(frame, self._take), size_bytes, urgent)

    def _take(self, frame: Segment | Ack) -> None:
        self._end.arrive(_PORT, frame)


def _deliver(passing: Passing) -> None:
    passing.take(passing.frame)


def _start(sender: TcpSender, now: Instant) -> None:
    sender.start(now=now)
