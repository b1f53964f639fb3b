"""PGM's NAK and NCF, and nothing else of PGM.

Whoever missed a packet sends a NAK to the element above it after a random time, unless it hears an
NCF for that packet before: the element answers the first NAK by an NCF to all of its segment, and
sends a NAK of its own upwards. Elements are the relay points of the paper's planner, so that the
two schemes differ in suppression alone. NAKs and NCFs are not lost here, which flatters PGM by
about the share that a link loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.bloomcast.baselines.loss_tree import LossTree
from penstock.bloomcast.coding.base import RandomSource
from penstock.kernel.instant import MILLISECOND, Duration

# As PGM calls it, NAK_BO_IVL.
BACKOFF_NS: Final[Duration] = 50 * MILLISECOND


@dataclass(frozen=True, slots=True)
class NcfSegment:
    """What one element sends NCFs into."""

    head: int
    links: int
    # By end, which is a subscriber, an element or both: hops from the head.
    hops: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class NcfSuppression:
    """Crossings of links."""

    nak_crossings: int
    ncf_crossings: int

    @property
    def crossings(self) -> int:
        """Of both."""
        return self.nak_crossings + self.ncf_crossings


def ncf_suppression(
    tree: LossTree,
    segments: Sequence[NcfSegment],
    rng: RandomSource,
    *,
    link_delay_ns: Duration,
    backoff_ns: Duration = BACKOFF_NS,
) -> NcfSuppression:
    """`segments` are ordered by their heads, those nearer to the root first."""
    lost = 0
    for node in tree.subscribers:
        lost |= tree.missed[node]
    naks = ncfs = 0
    while lost:
        packet = lost & -lost
        lost ^= packet
        # When a NAK for the packet is due, in the order in which subscribers notice the loss.
        due = {
            node: tree.hops[node] * link_delay_ns + rng.random() * backoff_ns
            for node in tree.subscribers
            if tree.missed[node] & packet
        }
        for segment in reversed(segments):
            crossings, heard_at = _suppressed(segment, due, link_delay_ns)
            if heard_at is not None:
                naks += crossings
                ncfs += segment.links
                due[segment.head] = min(due.get(segment.head, heard_at), heard_at)
    return NcfSuppression(naks, ncfs)


def _suppressed(
    segment: NcfSegment, due: Mapping[int, float], link_delay_ns: Duration
) -> tuple[int, float | None]:
    """The crossings of NAKs in a segment, and when the first of them arrives."""
    asking = [(due[end], hops) for end, hops in segment.hops.items() if end in due]
    if not asking:
        return 0, None
    heard_at = min(at + hops * link_delay_ns for at, hops in asking)
    sent = [hops for at, hops in asking if at < heard_at + hops * link_delay_ns]
    return sum(sent), heard_at
