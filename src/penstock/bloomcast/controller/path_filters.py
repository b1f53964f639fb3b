"""The filters of a segment: which candidate tags, and the path filter of each end.

Of the tags that make filters empty enough, those are taken whose packets take the fewest links
beside those of the segment: that depends on the network as it is, not only on how full they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.bloomcast.controller.draft import DraftSegment, FilterLimits
from penstock.bloomcast.controller.network import DirectedLink
from penstock.bloomcast.controller.segment_plan import PathEnd, Segment
from penstock.bloomcast.controller.tagged_network import TaggedNetwork
from penstock.bloomcast.controller.tree import Tree
from penstock.bloomcast.filters.link_tags import ByChoice
from penstock.bloomcast.filters.packet_filter import ones, union


def filled_segment(
    draft: DraftSegment,
    tree: Tree,
    tagged: TaggedNetwork,
    limits: FilterLimits,
    *,
    number: int,
    plan: int,
) -> Segment:
    """The segment of a draft, under the number and in the version given."""
    bundle, head = draft.bundle, draft.head
    ends = tuple(sorted(bundle.ends))
    paths = {end: tree.path(head, end) for end in ends}
    depth = max(map(len, paths.values()))
    choice = _best_choice(
        tagged, bundle.down, limits.ones_max, starts=(head,), own=len(bundle.links), hops=depth
    )
    # Each end sends a report of its own, on a LAN straight to the node that sends there.
    steps = [tree.steps[end] for end in ends]
    starts = [step.parent if step.is_lan else step.node for step in steps]
    own = sum(map(len, paths.values())) - sum(step.is_lan for step in steps)
    up_choice = _best_choice(
        tagged, bundle.up, limits.up_ones_max, starts=starts, own=own, hops=depth
    )
    return Segment(
        number=number,
        plan=plan,
        head=head,
        links=tuple(sorted(bundle.links)),
        choice=choice,
        down=bundle.down[choice],
        depth=depth,
        up_links=tuple(sorted(bundle.up_links)),
        up_choice=up_choice,
        up=bundle.up[up_choice],
        ends=path_ends(draft, tree, tagged, choice),
    )


def is_unchanged(old: Segment, draft: DraftSegment, tree: Tree, tagged: TaggedNetwork) -> bool:
    """Whether a draft is what a segment has been until now: links, ends, and their tags."""
    bundle = draft.bundle
    return (
        old.head == draft.head
        and old.links == tuple(sorted(bundle.links))
        and old.up_links == tuple(sorted(bundle.up_links))
        and old.down == bundle.down[old.choice]
        and old.up == bundle.up[old.up_choice]
        and old.ends == path_ends(draft, tree, tagged, old.choice)
    )


def path_ends(
    draft: DraftSegment, tree: Tree, tagged: TaggedNetwork, choice: int
) -> tuple[PathEnd, ...]:
    """The ends in ascending order; a path is the union of the tags from the head to its end."""
    paths: dict[DirectedLink, int] = {}
    found = []
    for end in sorted(draft.bundle.ends):
        # Ends on a LAN come by one link, and share the path.
        last = tree.steps[end].down
        path = paths.get(last)
        if path is None:
            steps = tree.path(draft.head, end)
            path = paths[last] = union(tagged.tags(step.down)[choice] for step in steps)
        found.append(PathEnd(end, path))
    return tuple(found)


def _best_choice(
    tagged: TaggedNetwork,
    links: ByChoice,
    ones_max: int,
    *,
    starts: Sequence[int],
    own: int,
    hops: int,
) -> int:
    """Fewest false crossings, then fewest ones; a link that is crossed twice is false as well."""
    best: tuple[int, int, int] | None = None
    # The emptiest first: it is likely to be best, and lets others be given up early.
    for count, choice in sorted((ones(each), choice) for choice, each in enumerate(links)):
        if count > ones_max:
            break
        false = -own + tagged.crossings(
            starts,
            links[choice],
            choice,
            hops=hops,
            give_up=None if best is None else own + best[0] + 1,
        )
        if best is None or (false, count, choice) < best:
            best = (false, count, choice)
        if not best[0]:
            break
    assert best is not None, "a draft has filters that fit"
    return best[2]
