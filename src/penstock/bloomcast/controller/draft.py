"""Parts of a tree that may become a segment, and whether one filter holds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.bloomcast.controller.network import DirectedLink
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.tree import Branch, Step, Tree
from penstock.bloomcast.filters.link_tags import ByChoice
from penstock.bloomcast.filters.packet_filter import (
    LITERAL_UP_ONES_MAX,
    NO_LINKS_BY_CHOICE,
    ONES_MAX,
    fewest_ones,
    union_by_choice,
)

ENDS_MAX: Final = 1_024


class Bundle(NamedTuple):
    """Links of a tree, the links back, the ends that they lead to, and the filters of both."""

    links: tuple[DirectedLink, ...]
    up_links: tuple[DirectedLink, ...]
    ends: tuple[int, ...]
    down: ByChoice
    up: ByChoice


EMPTY: Final = Bundle((), (), (), NO_LINKS_BY_CHOICE, NO_LINKS_BY_CHOICE)


@dataclass(frozen=True, slots=True)
class DraftSegment:
    """What one filter is to reach from a head; it has no number yet."""

    head: int
    bundle: Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterLimits:
    """What a segment may be at most."""

    ones_max: int = ONES_MAX
    up_ones_max: int = ONES_MAX
    ends_max: int = ENDS_MAX

    def fits(self, bundle: Bundle) -> bool:
        """Whether some candidate tags make filters that are empty enough."""
        return (
            len(bundle.ends) <= self.ends_max
            and fewest_ones(bundle.down) <= self.ones_max
            and fewest_ones(bundle.up) <= self.up_ones_max
        )


HUB_LIMITS: Final = FilterLimits()
LITERAL_LIMITS: Final = FilterLimits(up_ones_max=LITERAL_UP_ONES_MAX)


def joined(bundles: Iterable[Bundle]) -> Bundle:
    """All of them as one."""
    whole = EMPTY
    for each in bundles:
        if whole is EMPTY:
            whole = each
        elif each is not EMPTY:
            whole = Bundle(
                whole.links + each.links,
                whole.up_links + each.up_links,
                whole.ends + each.ends,
                union_by_choice((whole.down, each.down)),
                union_by_choice((whole.up, each.up)),
            )
    return whole


def bundle_of(tagged: TaggedNetwork, branch: Branch, ends: tuple[int, ...]) -> Bundle:
    """The link of a branch alone, and those back that ends themselves send by."""
    way_back = way_back_of(tagged, (step for step in branch.steps if not step.is_lan))
    return way_back._replace(links=(branch.link,), ends=ends, down=tagged.tags(branch.link))


def way_back_of(tagged: TaggedNetwork, steps: Iterable[Step]) -> Bundle:
    """The links back of these steps alone.

    On a LAN only nodes that pass on what others send need theirs. An end there has one way to its
    head; a hundred of them would fill a filter with links that nobody else takes.
    """
    up_links = tuple(step.up for step in steps)
    return EMPTY._replace(up_links=up_links, up=union_by_choice(map(tagged.tags, up_links)))


def crowded_out(tree: Tree, ends_max: int = ENDS_MAX) -> list[int]:
    """Ends on a LAN, or behind it, that no segment has room for: one link is never in two."""
    surplus = [
        step.node
        for branches in tree.branches.values()
        for branch in branches
        for step in branch.steps[ends_max:]
    ]
    if not surplus:
        return []
    left_out = dict.fromkeys(surplus)
    for node, step in tree.steps.items():
        if step.parent in left_out:
            left_out[node] = None
    return [end for end in tree.ends if end in left_out]
