"""The header of a packet: where it goes, and which symbol of what it carries.

`links` is the in-packet Bloom filter: the union of one tag of each link that the packet takes.
Routers forward by it alone.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_unsigned
from penstock.wire.frames.cast.base import (
    FILTER_BITS,
    Item,
    check_choice,
    check_item,
    check_links,
)

TTL_MAX: Final = 255


class Flag(IntFlag):
    """What is true of a packet."""

    # The last bit of the epoch of its tags.
    TAG_EPOCH = 1
    # Answer at once: the sender gives up on those who do not.
    POLL = 2
    REPAIR = 4
    # In REPORT: every block is needed.
    ALL = 8
    # DATA is not encrypted.
    PLAIN = 16
    # In REPORT: the answer to FIRST, before generation 0.
    OPENING = 32
    # In REPORT: of what is listed the symbols themselves are needed, and no repair symbols.
    EXACT = 64


ALL_FLAGS: Final = Flag(127)
_FLAG_BITS: Final = 7


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Of a packet; relays replace `ttl`, `choice`, `links`, `segment` and `plan`, nothing else."""

    ttl: int
    # Which of a link's candidate tags are in `links`.
    choice: int
    links: int
    item: Item = Item(0, 0)
    flags: Flag = Flag(0)
    segment: int = 0
    # The version of the segment's links and ends.
    plan: int = 0
    generation: int = 0
    block: int = 0
    # The first of a train.
    symbol: int = 0
    # Microseconds at the publisher.
    stamp_us: int = 0

    def __post_init__(self) -> None:
        # One is made for every train on every link: the common case takes no calls.
        if self.choice >> 3 or self.links >> FILTER_BITS:
            check_choice(choice=self.choice)
            check_links(self.links)
        if self.item[0] >> 64 or self.item[1] >> 64:
            check_item(self.item)
        if self.flags.__index__() >> _FLAG_BITS:
            raise UsageError(f"flags {int(self.flags):#04x} are not all known")
        if (
            (self.ttl | self.generation) >> 8
            or (self.segment | self.plan) >> 16
            or self.block >> 24
            or (self.symbol | self.stamp_us) >> 32
        ):
            check_unsigned(8, ttl=self.ttl, generation=self.generation)
            check_unsigned(16, segment=self.segment, plan=self.plan)
            check_unsigned(24, block=self.block)
            check_unsigned(32, symbol=self.symbol, stamp_us=self.stamp_us)
