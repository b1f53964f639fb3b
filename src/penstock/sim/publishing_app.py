"""A publishing application: over the bare network, or over a transport.

Each departure makes one message and hands it to what is below. Over the bare
network the application gives the numbers itself. The next departure is scheduled
when this one happens, so that a long run needs no memory for its future.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic

from penstock.content.message import Message
from penstock.kernel.instant import MICROSECOND, Instant
from penstock.overlay.client import OverlayClient
from penstock.sim.host import Host, M
from penstock.sim.world import World
from penstock.transport.endpoint import Endpoint
from penstock.wire.frames.data import Data
from penstock.wire.quantise import STAMP_BITS

_STAMP_MASK: Final = 2**STAMP_BITS - 1


class _Paced(ABC, Generic[M]):
    """Does something on `host` at the departures given."""

    def __init__(
        self, world: World[Any], host: Host[Any, M], departures: Iterator[Instant]
    ) -> None:
        self._events: Final = world.events
        self._host: Final = host
        self._departures: Final = departures
        self._wait()

    @abstractmethod
    def _hand_over(self, machine: M, now: Instant) -> None:
        """One message leaves."""

    def _wait(self) -> None:
        at = next(self._departures, None)
        if at is not None:
            self._events.schedule(at, self._publish)

    def _publish(self) -> None:
        self._host.call(self._hand_over)
        self._wait()


class Source(_Paced[OverlayClient]):
    """Publishes over the bare network what `make` makes."""

    def __init__(
        self,
        world: World[Any],
        host: Host[Any, OverlayClient],
        number: int,
        departures: Iterator[Instant],
        make: Callable[[], Message],
        *,
        published: Callable[[Data], None],
    ) -> None:
        self._number: Final = number
        self._make: Final = make
        self._published: Final = published
        self._seq = 0
        super().__init__(world, host, departures)

    def _hand_over(self, machine: OverlayClient, now: Instant) -> None:
        frame = Data(
            pub=self._number,
            epoch=0,
            seq=self._seq,
            send_ts_us=now // MICROSECOND & _STAMP_MASK,
            since_previous_100us=0,
            send_rate_mps=0.0,
            max_round_trip_code=0,
            feedback_round=0,
            message=self._make(),
        )
        self._seq += 1
        self._published(frame)
        machine.publish(frame, now=now)


class Application(_Paced[Endpoint[Any]]):
    """Publishes through the transport, which numbers and dates, what `make` makes."""

    def __init__(
        self,
        world: World[Any],
        host: Host[Any, Endpoint[Any]],
        departures: Iterator[Instant],
        make: Callable[[], Message],
        *,
        published: Callable[[Data], None],
    ) -> None:
        self._make: Final = make
        self._published: Final = published
        super().__init__(world, host, departures)

    def _hand_over(self, machine: Endpoint[Any], now: Instant) -> None:
        if machine.congestion is None:
            self._published(machine.publish(self._make(), now=now))
        else:
            # It is told of when it leaves.
            machine.submit(self._make(), now=now)
