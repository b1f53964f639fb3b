"""A publishing application over the bare network: its own numbers, no transport.

Each departure makes one message, gives it the next number and hands it to the
client below. The next departure is scheduled when this one happens, so that a
long run needs no memory for its future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from penstock.content.message import Message
from penstock.kernel.instant import MICROSECOND, Instant
from penstock.overlay.client import Client
from penstock.sim.host import Host
from penstock.sim.world import World
from penstock.wire.frames.data import Data
from penstock.wire.quantise import STAMP_BITS

_STAMP_MASK: Final = 2**STAMP_BITS - 1


class Source:
    """Publishes on `host`, at the departures given, what `make` makes."""

    def __init__(
        self,
        world: World[Any],
        host: Host[Any, Client],
        number: int,
        departures: Iterator[Instant],
        make: Callable[[], Message],
        *,
        published: Callable[[Data], None],
    ) -> None:
        self._events: Final = world.events
        self._host: Final = host
        self._number: Final = number
        self._departures: Final = departures
        self._make: Final = make
        self._published: Final = published
        self._seq = 0
        self._wait()

    def _wait(self) -> None:
        at = next(self._departures, None)
        if at is not None:
            self._events.schedule(at, self._publish)

    def _publish(self) -> None:
        self._host.call(self._hand_over)
        self._wait()

    def _hand_over(self, client: Client, now: Instant) -> None:
        frame = Data(
            pub=self._number,
            epoch=0,
            seq=self._seq,
            send_ts_us=now // MICROSECOND & _STAMP_MASK,
            prev_delta_100us=0,
            send_rate_mps=0.0,
            r_max_code=0,
            fb_round=0,
            message=self._make(),
        )
        self._seq += 1
        self._published(frame)
        client.publish(frame, now=now)
