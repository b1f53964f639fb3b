"""Who offers an item: several publishers may have the same object, and the nearest one sends it."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.wire.frames.cast.base import Origin
from penstock.wire.frames.cast.membership import Advertise

OFFERS_MAX: Final = 16


class Offered(NamedTuple):
    """An ADVERTISE that has come."""

    body: Advertise
    origin: Origin
    # Links from its publisher.
    hops: int

    @property
    def publisher(self) -> int:
        """Who offers."""
        return self.body.publisher


class Offers:
    """Of one item, all of the same object."""

    def __init__(self) -> None:
        self._offers: Final[dict[int, Offered]] = {}
        # The one that is sent, or will be.
        self.chosen: Offered | None = None

    def __len__(self) -> int:
        return len(self._offers)

    def of(self, publisher: int) -> Offered | None:
        """What a publisher offers."""
        return self._offers.get(publisher)

    def put(self, offered: Offered) -> None:
        """Notes an offer, in place of an earlier one of its publisher."""
        self._offers[offered.publisher] = offered
        if self.chosen is not None and self.chosen.publisher == offered.publisher:
            self.chosen = offered
            for other in list(self._offers.values()):
                if other.body.object_id != offered.body.object_id:
                    del self._offers[other.publisher]

    def choose(self) -> None:
        """Takes the nearest, of several the one with the lowest id."""
        self.chosen = min(
            self._offers.values(), key=lambda each: (each.hops, each.publisher), default=None
        )

    def remove(self, publisher: int) -> bool:
        """A publisher is gone; tells whether it was the one chosen, and chooses the next."""
        self._offers.pop(publisher, None)
        was_chosen = self.chosen is not None and self.chosen.publisher == publisher
        if was_chosen:
            self.choose()
        return was_chosen
