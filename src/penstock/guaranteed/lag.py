"""How far readers are behind: asks pubends, here or at other brokers, what lies behind a place.

A pubend has its log count the messages, from its index: nothing is counted while they pass. What
is not answered in time stays unknown, since a broker on the way may be away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from penstock.kernel.instant import SECOND, Duration, Instant, earliest
from penstock.wire.frames.guaranteed.base import Serial
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest

if TYPE_CHECKING:
    from penstock.guaranteed.broker import Broker

TIMEOUT_NS: Final[Duration] = 2 * SECOND


class Place(NamedTuple):
    """All up to and including this tick of a pubend has been read."""

    pubend: int
    tick: int


class Behind(msgspec.Struct, frozen=True, gc=False):
    """What lies behind a place."""

    messages: int
    size_bytes: int
    # The age of the oldest of these messages.
    seconds: float
    # Of what the log may keep.
    retention_share: float
    # Some of the messages have been given up: those may still come from a cache, or be a gap.
    is_upper_bound: bool = False


# Without places whose pubend has not answered.
Lags: TypeAlias = Mapping[Place, Behind]
OnMeasured: TypeAlias = Callable[[Lags, Instant], None]


class _Measurement(msgspec.Struct):
    """Several places that were asked for together."""

    waiting: dict[Serial, Place]
    found: dict[Place, Behind]
    gives_up_at: Instant
    then: OnMeasured


class LagRequests:
    """The measurements of one broker that are under way."""

    def __init__(self, broker: Broker) -> None:
        self._broker: Final = broker
        self._last_number = 0
        self._by_serial: Final[dict[Serial, _Measurement]] = {}

    def measure(self, places: Iterable[Place], then: OnMeasured, *, now: Instant) -> None:
        """Finds what lies behind each of these places; `then` is called once, perhaps at once."""
        broker = self._broker
        measurement = _Measurement({}, {}, now + TIMEOUT_NS, then)
        for place in dict.fromkeys(places):
            relay = broker.relays.get(place.pubend)
            if relay is None or relay.parent is None:
                continue
            self._last_number = (self._last_number + 1) % (1 << 32)
            serial = Serial(broker.life, self._last_number)
            measurement.waiting[serial] = place
            self._by_serial[serial] = measurement
        if not measurement.waiting:
            then(measurement.found, now)
        for serial, place in measurement.waiting.items():
            broker.router.ask(
                LagRequest(pubend=place.pubend, host=broker.name, serial=serial, tick=place.tick)
            )

    def on_answer(self, frame: LagAnswer, *, now: Instant) -> None:
        """A pubend has counted; an answer that nobody waits for is ignored."""
        measurement = self._by_serial.pop(frame.serial, None)
        if measurement is None:
            return
        place = measurement.waiting.pop(frame.serial)
        measurement.found[place] = Behind(
            frame.messages,
            frame.size_bytes,
            frame.age_us / 1e6,
            frame.size_bytes / frame.limit_bytes if frame.limit_bytes else 0.0,
            frame.is_upper_bound,
        )
        if not measurement.waiting:
            measurement.then(measurement.found, now)

    def wake(self, *, now: Instant) -> None:
        """Goes on without what has not been answered."""
        # The oldest stand first.
        while self._by_serial:
            measurement = next(iter(self._by_serial.values()))
            if measurement.gives_up_at > now:
                return
            for serial in measurement.waiting:
                del self._by_serial[serial]
            measurement.then(measurement.found, now)

    def next_wakeup(self) -> Instant | None:
        """When the oldest measurement is given up."""
        measurement = next(iter(self._by_serial.values()), None)
        return earliest(None if measurement is None else measurement.gives_up_at)
