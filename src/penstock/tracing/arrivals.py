"""Rows about messages that arrive at a node, below its transport.

How many brokers a message crossed is not in its frame: the driver says how many there are
between two nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from penstock.kernel.instant import Instant
from penstock.trace.records import Arrival
from penstock.tracing.names import Names
from penstock.tracing.publication_times import PublicationTimes
from penstock.wire.frames.data import Data

# Number of brokers on the path from a publisher to a subscriber, by their names.
BrokersBetween: TypeAlias = Callable[[str, str], int]


class Arrivals:
    """Makes an `Arrival` of each message that the network delivers to a node."""

    __slots__ = ("_brokers_between", "_names", "_published_ns")

    def __init__(
        self, names: Names, times: PublicationTimes, brokers_between: BrokersBetween
    ) -> None:
        self._names: Final = names
        self._published_ns: Final = times.published_ns
        self._brokers_between: Final = brokers_between

    def row(self, subscriber: str, frame: Data, now: Instant) -> Arrival:
        """The arrival of `frame` at `subscriber` now."""
        publisher = self._names[frame.pub]
        return Arrival(
            subscriber,
            publisher,
            frame.epoch,
            frame.seq,
            self._published_ns(frame, now),
            now,
            self._brokers_between(publisher, subscriber),
            False,
        )
