"""Simulated publishing applications, on the bare overlay or on a transport endpoint.

Each departure makes one message and publishes it. On the bare overlay the application assigns
sequence numbers itself. Each departure schedules the next one, so that memory does not grow
with the length of a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic

from penstock.content.message import Message
from penstock.kernel.instant import MICROSECOND, Instant
from penstock.kernel.sequence import STAMP
from penstock.overlay.client import OverlayClient
from penstock.sim.host import Host, M
from penstock.sim.world import World
from penstock.transport.endpoint import Endpoint
from penstock.wire.frames.data import Data


class _ScheduledApp(ABC, Generic[M]):
    """Publishes on `host` at each of the given departure times."""

    def __init__(
        self, world: World[Any], host: Host[Any, M], departures: Iterator[Instant]
    ) -> None:
        self._events: Final = world.events
        self._host: Final = host
        self._departures: Final = departures
        self._schedule_next()

    @abstractmethod
    def _publish_next(self, machine: M, now: Instant) -> None:
        """Publishes one message."""

    def _schedule_next(self) -> None:
        at = next(self._departures, None)
        if at is not None:
            self._events.schedule(at, self._on_departure)

    def _on_departure(self) -> None:
        self._host.call(self._publish_next)
        self._schedule_next()


class PublishingApp(_ScheduledApp[OverlayClient]):
    """Publishes the messages of `make_message` on the bare overlay."""

    def __init__(
        self,
        world: World[Any],
        host: Host[Any, OverlayClient],
        publisher: int,
        departures: Iterator[Instant],
        make_message: Callable[[], Message],
        *,
        on_published: Callable[[Data], None],
    ) -> None:
        self._publisher: Final = publisher
        self._make_message: Final = make_message
        self._on_published: Final = on_published
        self._seq = 0
        super().__init__(world, host, departures)

    def _publish_next(self, machine: OverlayClient, now: Instant) -> None:
        frame = Data(
            pub=self._publisher,
            epoch=0,
            seq=self._seq,
            send_ts_us=now // MICROSECOND & STAMP.mask,
            since_previous_100us=0,
            send_rate_mps=0.0,
            max_round_trip_code=0,
            feedback_round=0,
            message=self._make_message(),
        )
        self._seq += 1
        self._on_published(frame)
        machine.publish(frame, now=now)


class EndpointPublishingApp(_ScheduledApp[Endpoint[Any]]):
    """Publishes the messages of `make_message` through the transport, which numbers them."""

    def __init__(
        self,
        world: World[Any],
        host: Host[Any, Endpoint[Any]],
        departures: Iterator[Instant],
        make_message: Callable[[], Message],
        *,
        on_published: Callable[[Data], None],
    ) -> None:
        self._make_message: Final = make_message
        self._on_published: Final = on_published
        super().__init__(world, host, departures)

    def _publish_next(self, machine: Endpoint[Any], now: Instant) -> None:
        if machine.congestion is None:
            self._on_published(machine.publish(self._make_message(), now=now))
        else:
            # `on_published` runs later, when the endpoint sends the message.
            machine.submit(self._make_message(), now=now)
