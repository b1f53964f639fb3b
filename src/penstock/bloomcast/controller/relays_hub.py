"""The default planner: as few relays as possible, at the nodes where most of a tree branches off.

From the ends upwards, a node gathers what hangs below it. Where that does not fit one filter, the
node becomes a relay, and packs its branches into several filters whose copies leave by different
links; above it the relay is an end like any other. Most trees need only a few relays at hubs.

What is planned anew for a running transfer keeps old relays and the segment of each branch as long
as it fits, so that a join changes the segment that it falls into and no other.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.controller.draft import (
    EMPTY,
    HUB_LIMITS,
    Bundle,
    DraftSegment,
    FilterLimits,
    bundle_of,
    joined,
    way_back_of,
)
from penstock.bloomcast.controller.network import DirectedLink
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.tree import Branch, Tree
from penstock.bloomcast.filters.packet_filter import ONES_MAX, fewest_ones

# An old relay, or the old segments of a head, are given up when all of it would fill half a filter:
# a few joins do not bring them back at once.
GIVE_UP_ONES: Final = ONES_MAX // 2


def hub_segments(
    tree: Tree,
    tagged: TaggedNetwork,
    *,
    limits: FilterLimits = HUB_LIMITS,
    previous: TransferPlan | None = None,
) -> list[DraftSegment]:
    """The segments, those of heads nearer to the root first."""
    return _HubPlanner(tree, tagged, limits, previous).plan()


class _HubPlanner:
    def __init__(
        self,
        tree: Tree,
        tagged: TaggedNetwork,
        limits: FilterLimits,
        previous: TransferPlan | None,
    ) -> None:
        self._tree: Final = tree
        self._tagged: Final = tagged
        self._limits: Final = limits
        self._is_end: Final = dict.fromkeys(tree.ends)
        # What hangs below a node, up to relays, and goes into a segment of a head above it.
        self._below: Final[dict[int, Bundle]] = {}
        self._segments: Final[dict[int, list[Bundle]]] = {}
        self._old_segment: Final[dict[DirectedLink, int]] = {}
        self._old_heads: Final = {} if previous is None else previous.heads
        if previous is not None:
            for number, segment in previous.segments.items():
                for link in segment.links:
                    if link.node == segment.head:
                        self._old_segment[link] = number

    def plan(self) -> list[DraftSegment]:
        """From the farthest nodes to the root."""
        order = [self._tree.root, *self._tree.steps]
        for node in reversed(order):
            branches = [self._branch(each) for each in self._tree.branches.get(node, ())]
            self._below[node] = self._gather(node, branches)
        return [
            DraftSegment(head, bundle) for head in order for bundle in self._segments.get(head, ())
        ]

    def _branch(self, branch: Branch) -> Bundle:
        """A link and all below it; what does not fit together with that link stays behind it."""
        while True:
            nodes = [step.node for step in branch.steps]
            ends = tuple(node for node in nodes if node in self._is_end or node in self._segments)
            passing_on = [
                step for step in branch.steps if step.is_lan and self._below[step.node] is not EMPTY
            ]
            whole = joined(
                [
                    bundle_of(self._tagged, branch, ends),
                    way_back_of(self._tagged, passing_on),
                    *[self._below[node] for node in nodes],
                ]
            )
            if self._limits.fits(whole):
                return whole
            largest = max(nodes, key=self._links_below)
            assert self._below[largest] is not EMPTY, f"{branch.link} does not fit a filter"
            self._segments[largest] = [self._below[largest]]
            self._below[largest] = EMPTY

    def _links_below(self, node: int) -> int:
        return len(self._below[node].links)

    def _gather(self, node: int, branches: list[Bundle]) -> Bundle:
        """What remains for a head above; nothing, if the node is a head itself."""
        whole = joined(branches)
        is_head = (
            node == self._tree.root
            or not self._limits.fits(whole)
            or (node in self._old_heads and not self._is_small(whole))
        )
        if not is_head or whole is EMPTY:
            return whole
        self._segments[node] = self._packed(branches, whole)
        return EMPTY

    def _packed(self, branches: list[Bundle], whole: Bundle) -> list[Bundle]:
        """First fit, largest first; branches that had a segment go there if they can."""
        old: dict[int, Bundle] = {}
        rest: list[Bundle] = []
        keeps_old = not self._is_small(whole)
        for branch in sorted(branches, key=_largest_first):
            number = self._old_segment.get(branch.links[0]) if keeps_old else None
            if number is not None:
                both = joined([old.get(number, EMPTY), branch])
                if self._limits.fits(both):
                    old[number] = both
                    continue
            rest.append(branch)
        packed = [bundle for _, bundle in sorted(old.items())]
        for branch in rest:
            for at, bundle in enumerate(packed):
                both = joined([bundle, branch])
                if self._limits.fits(both):
                    packed[at] = both
                    break
            else:
                packed.append(branch)
        return packed

    def _is_small(self, whole: Bundle) -> bool:
        return self._limits.fits(whole) and fewest_ones(whole.down) <= GIVE_UP_ONES


def _largest_first(branch: Bundle) -> tuple[int, DirectedLink]:
    return -len(branch.links), branch.links[0]
