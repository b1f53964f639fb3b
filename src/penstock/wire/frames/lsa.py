"""LSA: the links of one broker, flooded to all brokers."""

import msgspec

from penstock.wire.frames.base import OverlayFrame, check_ascending, check_count, check_unsigned
from penstock.wire.limits import NEIGHBOURS_MAX


class Neighbour(msgspec.Struct, frozen=True, gc=False):
    """A neighbour, and the cost of the link to it."""

    broker: int
    cost: int

    def __post_init__(self) -> None:
        check_unsigned(32, broker=self.broker)
        check_unsigned(16, cost=self.cost)


class Lsa(OverlayFrame, frozen=True, kw_only=True, gc=False):
    """Replaces LSAs of `origin` with an older `seq`; neighbours are sorted by broker."""

    origin: int
    seq: int
    neighbours: tuple[Neighbour, ...]

    def __post_init__(self) -> None:
        check_unsigned(32, origin=self.origin, seq=self.seq)
        check_count("neighbours", self.neighbours, NEIGHBOURS_MAX)
        check_ascending("neighbours", [neighbour.broker for neighbour in self.neighbours])
