"""Small machines to drive."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Output, Port, Send
from penstock.sim.host import Framing

# Source route still to go, and a number.
Parcel: TypeAlias = tuple[tuple[str, ...], int]

SIZE_BYTES = 100


def encode(parcel: Parcel) -> bytes:
    return "/".join([*parcel[0], str(parcel[1])]).encode().ljust(SIZE_BYTES)


def decode(data: bytes) -> Parcel:
    *route, number = data.decode().rstrip().split("/")
    return tuple(route), int(number)


FRAMING: Framing[Parcel] = Framing(size_of=lambda _: SIZE_BYTES)


class Forwarder:
    """Sends a parcel along its route, delivers it at the end, and keeps alarms."""

    def __init__(self, now: Instant) -> None:
        self.born = now
        self.heard: list[tuple[Instant, Port]] = []
        self.alarms: list[Instant] = []
        self.woken: list[Instant] = []
        self._out: deque[Output[Parcel]] = deque()

    def receive(self, frame: Parcel, *, via: Port, now: Instant) -> None:
        self.heard.append((now, via))
        self.send(frame)

    def send(self, parcel: Parcel) -> None:
        route, number = parcel
        if route:
            self._out.append(Send(route[0], (route[1:], number)))
        else:
            self._out.append(Deliver(number))

    def wake(self, *, now: Instant) -> None:
        self.woken.append(now)
        self.alarms = [alarm for alarm in self.alarms if alarm > now]

    def next_wakeup(self) -> Instant | None:
        return min(self.alarms, default=None)

    def poll(self) -> Output[Parcel] | None:
        return self._out.popleft() if self._out else None
