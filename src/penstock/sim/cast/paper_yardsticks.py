"""What others would take for the losses of a run: other ways to recover, and bounds."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.bloomcast.baselines.bounds import (
    caches_bound,
    publisher_only_bound,
    uncoded_bound,
)
from penstock.bloomcast.baselines.exact_bitmaps import exact_bitmaps
from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.baselines.ncf import NcfSegment, ncf_suppression
from penstock.bloomcast.baselines.unicast_recovery import unicast_recovery
from penstock.bloomcast.controller.segment_plan import TransferPlan
from penstock.bloomcast.controller.tree import Tree
from penstock.kernel.seeds import Seeds
from penstock.sim.cast.paper_scene import LINK_DELAY_NS
from penstock.trace.cast_words import Yardstick
from penstock.trace.records import CastYardstick


def yardsticks(
    losses: LossTree, seeds: Seeds, plan: TransferPlan | None, tree: Tree
) -> Iterator[CastYardstick]:
    """Without a plan, all but PGM, whose elements are the relays of the run."""
    unicast = unicast_recovery(losses, seeds.rng("unicast"))
    # A repair goes to one subscriber, so that every node sends it by one link.
    yield CastYardstick(
        Yardstick.UNICAST,
        unicast.nak_crossings,
        unicast.repair_crossings,
        unicast.repair_crossings,
    )
    if plan is not None:
        ncf = ncf_suppression(
            losses, _ncf_segments(plan, tree), seeds.rng("ncf"), link_delay_ns=LINK_DELAY_NS
        )
        yield CastYardstick(Yardstick.PGM, ncf.crossings, None, None)
    exact = exact_bitmaps(losses, seeds.rng("exact bitmaps"))
    yield CastYardstick(
        Yardstick.EXACT_BITMAPS,
        exact.report_crossings,
        exact.repair_crossings,
        exact.repair_nodes,
    )
    for word, bound in (
        (Yardstick.PUBLISHER_ONLY, publisher_only_bound(losses)),
        (Yardstick.UNCODED, uncoded_bound(losses)),
        (Yardstick.CACHES, caches_bound(losses)),
    ):
        yield CastYardstick(word, None, bound.links, bound.nodes)


def _ncf_segments(plan: TransferPlan, tree: Tree) -> list[NcfSegment]:
    return [
        NcfSegment(
            head,
            len(plan.segments[number].links),
            {end.node: len(tree.path(head, end.node)) for end in plan.segments[number].ends},
        )
        for head in plan.heads
        for number in plan.heads[head].segments
    ]
