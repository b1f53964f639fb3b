"""In-packet filters: unions of tags, what they hold, and how full they may be.

A filter is an integer of 248 bits. One that holds the tag of a link sends the packet over it, meant
or not: the fuller it is, the more links it holds by chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import or_
from typing import Final

from penstock.bloomcast.filters.link_tags import ByChoice
from penstock.wire.frames.cast.base import CHOICES, FILTER_BITS

# 40 %: routers drop packets whose filters have more.
ONES_MAX: Final = 99
# 50 %: what `literal` allows on the way back, where some filters exceed 40 %.
LITERAL_UP_ONES_MAX: Final = 124

NO_LINKS: Final = 0
NO_LINKS_BY_CHOICE: Final[ByChoice] = (NO_LINKS,) * CHOICES


def holds(links: int, tag: int) -> bool:
    """Whether a packet with this filter takes the link with this tag."""
    return links & tag == tag


def union(filters: Iterable[int]) -> int:
    """What takes every link that one of these takes."""
    links = NO_LINKS
    for each in filters:
        links |= each
    return links


def union_by_choice(several: Iterable[ByChoice]) -> ByChoice:
    """The union for each candidate tag."""
    links = NO_LINKS_BY_CHOICE
    for each in several:
        links = tuple(map(or_, links, each))
    return links


def ones(links: int) -> int:
    """The bits that are set."""
    return links.bit_count()


def fewest_ones(links: ByChoice) -> int:
    """Those of the emptiest candidate."""
    return min(map(int.bit_count, links))


def fill(links: int) -> float:
    """The share of bits that are set."""
    return links.bit_count() / FILTER_BITS


def is_too_full(links: int, *, ones_max: int = ONES_MAX) -> bool:
    """Whether a router drops it."""
    return links.bit_count() > ones_max
