"""The part of a network where sessions are in one another's way, cut into blocks.

A receiver gets no more than the narrowest link on its way lets through: its bound.
A link that could carry all bounds at once never fills up, so nobody is held back by
it beyond that. What remains are the *contended* links. Receivers that no chain of
them joins do not touch one another: each block of them is allocated alone, and most
networks fall into many. The allowed rates stay the same, and so does every ideal.

Contended links that a session uses one after another for the same receivers carry the
same of it: such a stretch of links is one branch of the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.groups import grouped, joined
from penstock.fairness.network import Network
from penstock.fairness.routes import NONE, Streams


@dataclass(frozen=True, slots=True)
class Block:
    """Receivers that share contended links, all that feeds them, and the links' capacities."""

    # Numbers in the network, in the order of their bounds, and the branch that feeds each.
    receivers: Ints
    bound: Floats
    leaf: Ints
    # The branch that feeds each branch, and comes before it, or none.
    above: Ints
    # The links of all branches; those of branch b stand from first[b] to first[b + 1].
    first: Ints
    link: Ints
    capacity: Floats


@dataclass(frozen=True, slots=True)
class Contention:
    """The bound of every receiver, and the contended links on the way of those not free."""

    bound: Floats
    # The nearest use of a contended link above each receiver, none for the free.
    leaf: Ints
    # Uses of contended links, each by one session: the use that feeds it, or none; its link.
    above: Ints
    link: Ints
    capacity: Floats

    def blocks(self) -> Iterator[Block]:
        """Each holds at least one link and one receiver."""
        if not len(self.link):
            return
        branch, above, leaf = self._branches()
        fed = self.above != NONE
        block = joined(len(self.capacity), self.link[fed], self.link[self.above[fed]])
        count = int(block.max()) + 1
        uses = grouped(block[self.link], count)
        links = grouped(block, count)
        # A stable order, so that uses of one branch stay together, and above comes before below.
        branches = grouped(block[self.link[np.unique(branch, return_index=True)[1]]], count)
        held = np.flatnonzero(leaf != NONE)
        held = held[np.argsort(self.bound[held], kind="stable")]
        receivers = grouped(block[self.link[self.leaf[held]]], count)
        place, link_place = _places(branches.first, branches.member), _places(*links)
        for number in range(count):
            members = held[receivers.of(number)]
            used, parts = uses.of(number), branches.of(number)
            own = place[branch[used]]
            order = np.argsort(own, kind="stable")
            up = above[parts]
            yield Block(
                receivers=members,
                bound=self.bound[members],
                leaf=place[leaf[members]],
                above=np.where(up == NONE, NONE, place[up]),
                first=np.searchsorted(own[order], np.arange(len(parts) + 1)).astype(np.int64),
                link=link_place[self.link[used[order]]],
                capacity=self.capacity[links.of(number)],
            )

    def _branches(self) -> tuple[Ints, Ints, Ints]:
        """The branch of each use; what feeds each branch; and what feeds each receiver."""
        fed = np.bincount(self.above[self.above != NONE], minlength=len(self.above))
        fed += np.bincount(self.leaf[self.leaf != NONE], minlength=len(self.above))
        feeds_one = (fed == 1).tolist()
        branch: list[int] = []
        above: list[int] = []
        for use in self.above.tolist():
            if use != NONE and feeds_one[use]:
                branch.append(branch[use])
            else:
                branch.append(len(above))
                above.append(NONE if use == NONE else branch[use])
        of_use = np.array(branch, np.int64)
        leaf = np.where(self.leaf == NONE, NONE, of_use[self.leaf])
        return of_use, np.array(above, np.int64), leaf


def contention_of(network: Network, streams: Streams, wanting: list[bool]) -> Contention:
    """What is in the way of the receivers that want anything."""
    capacity = np.array([link.capacity for link in network.links], dtype=float)
    bound = _bounds(network, streams, capacity.tolist())
    # Who can get nothing needs no share of anything.
    wanted = [limit if wants else 0.0 for limit, wants in zip(bound, wanting, strict=True)]
    most = np.array(_most(streams, wanted), dtype=float)
    link = np.array(streams.link, dtype=np.int64)
    is_contended = np.bincount(link, most, len(capacity)) > capacity
    is_kept = is_contended[link] & (most > 0)
    above, leaf = _linked(streams, is_kept.tolist(), wanted)
    links, numbers = np.unique(link[is_kept], return_inverse=True)
    return Contention(
        bound=np.array(bound, dtype=float),
        leaf=leaf,
        above=above,
        link=numbers.astype(np.int64),
        capacity=capacity[links],
    )


def _bounds(network: Network, streams: Streams, capacity: list[float]) -> list[float]:
    """The narrowest place on the way to each receiver."""
    widest = [float(session.sender.capacity) for session in network.sessions]
    width: list[float] = []
    for link, above, session in zip(streams.link, streams.above, streams.session, strict=True):
        upstream = widest[session] if above == NONE else width[above]
        here = capacity[link]
        width.append(here if here < upstream else upstream)
    bound = []
    last = iter(streams.last)
    for session_width, one in zip(widest, network.sessions, strict=True):
        for receiver, use in zip(one.receivers, last, strict=False):
            upstream = session_width if use == NONE else width[use]
            bound.append(min(float(receiver.capacity), upstream))
    return bound


def _most(streams: Streams, wanted: list[float]) -> list[float]:
    """What each use of a link could have to carry: the most that anyone below wants [E3]."""
    most = [0.0] * len(streams.link)
    for use, rate in zip(streams.last, wanted, strict=True):
        if use != NONE and rate > most[use]:
            most[use] = rate
    for use in reversed(range(len(most))):
        above = streams.above[use]
        if above != NONE and most[use] > most[above]:
            most[above] = most[use]
    return most


def _linked(streams: Streams, is_kept: list[bool], wanted: list[float]) -> tuple[Ints, Ints]:
    """The kept use nearest above each that is kept, and above each receiver."""
    nearest: list[int] = []
    above: list[int] = []
    for use, keep in zip(streams.above, is_kept, strict=True):
        feeder = NONE if use == NONE else nearest[use]
        nearest.append(len(above) if keep else feeder)
        if keep:
            above.append(feeder)
    leaf = [
        NONE if use == NONE or not rate else nearest[use]
        for use, rate in zip(streams.last, wanted, strict=True)
    ]
    return np.array(above, np.int64), np.array(leaf, np.int64)


def _places(first: Ints, member: Ints) -> Ints:
    """Of each member of any group its place within it."""
    place = np.empty(len(member), dtype=np.int64)
    place[member] = np.arange(len(member)) - np.repeat(first[:-1], np.diff(first))
    return place
