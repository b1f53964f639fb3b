"""The contended part of a network, cut into independent blocks.

A receiver gets at most the capacity of the narrowest link on its path: its bound. A link that
can carry all bounds at once never fills up, so it limits nobody further. The remaining links
are *contended*. Receivers that no chain of contended links connects are independent: each block
of them is allocated separately, and most networks fall into many blocks. The feasible rates
stay the same, and so does every ideal.

Contended links that a session uses in sequence for the same receivers carry the same traffic of
it: such a sequence of links is one branch of the session.
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
    """Receivers that share contended links, the branches that feed them, and the capacities."""

    # Indices in the network, ordered by bound, and the branch that feeds each receiver.
    receivers: Ints
    bound: Floats
    leaf: Ints
    # The branch that feeds each branch, and precedes it, or `NONE`.
    above: Ints
    # The links of all branches; those of branch b are first[b] to first[b + 1].
    first: Ints
    link: Ints
    capacity: Floats


@dataclass(frozen=True, slots=True)
class Contention:
    """The bound of every receiver, and the contended links on the paths to receivers."""

    bound: Floats
    # The nearest use of a contended link above each receiver; `NONE` if there is none.
    leaf: Ints
    # Uses of contended links, each by one session: the use that feeds it, or `NONE`; its link.
    above: Ints
    link: Ints
    capacity: Floats

    def blocks(self) -> Iterator[Block]:
        """The blocks, each with at least one link and one receiver."""
        if not len(self.link):
            return
        branch, above, leaf = self._branches()
        fed = self.above != NONE
        block = joined(len(self.capacity), self.link[fed], self.link[self.above[fed]])
        count = int(block.max()) + 1
        uses = grouped(block[self.link], count)
        links = grouped(block, count)
        # A stable order keeps the uses of one branch together, and feeding branches first.
        branches = grouped(block[self.link[np.unique(branch, return_index=True)[1]]], count)
        held = np.flatnonzero(leaf != NONE)
        held = held[np.argsort(self.bound[held], kind="stable")]
        receivers = grouped(block[self.link[self.leaf[held]]], count)
        position, link_position = _positions(branches.first, branches.member), _positions(*links)
        for block_id in range(count):
            members = held[receivers.of(block_id)]
            used, parts = uses.of(block_id), branches.of(block_id)
            own = position[branch[used]]
            order = np.argsort(own, kind="stable")
            up = above[parts]
            yield Block(
                receivers=members,
                bound=self.bound[members],
                leaf=position[leaf[members]],
                above=np.where(up == NONE, NONE, position[up]),
                first=np.searchsorted(own[order], np.arange(len(parts) + 1)).astype(np.int64),
                link=link_position[self.link[used[order]]],
                capacity=self.capacity[links.of(block_id)],
            )

    def _branches(self) -> tuple[Ints, Ints, Ints]:
        """The branch of each use, the branch above each branch, and that of each receiver."""
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
    """Finds the contended links of the receivers that have any demand."""
    capacity = np.array([link.capacity for link in network.links], dtype=float)
    bound = _bounds(network, streams, capacity.tolist())
    # Without demand a receiver needs no share.
    demand = [limit if wants else 0.0 for limit, wants in zip(bound, wanting, strict=True)]
    max_load = np.array(_max_loads(streams, demand), dtype=float)
    link = np.array(streams.link, dtype=np.int64)
    is_contended = np.bincount(link, max_load, len(capacity)) > capacity
    is_kept = is_contended[link] & (max_load > 0)
    above, leaf = _nearest_kept(streams, is_kept.tolist(), demand)
    links, numbers = np.unique(link[is_kept], return_inverse=True)
    return Contention(
        bound=np.array(bound, dtype=float),
        leaf=leaf,
        above=above,
        link=numbers.astype(np.int64),
        capacity=capacity[links],
    )


def _bounds(network: Network, streams: Streams, capacity: list[float]) -> list[float]:
    """The narrowest capacity on the path to each receiver."""
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


def _max_loads(streams: Streams, demand: list[float]) -> list[float]:
    """The highest load of each use of a link: the highest demand below it [E3]."""
    max_load = [0.0] * len(streams.link)
    for use, rate in zip(streams.last, demand, strict=True):
        if use != NONE and rate > max_load[use]:
            max_load[use] = rate
    for use in reversed(range(len(max_load))):
        above = streams.above[use]
        if above != NONE and max_load[use] > max_load[above]:
            max_load[above] = max_load[use]
    return max_load


def _nearest_kept(streams: Streams, is_kept: list[bool], demand: list[float]) -> tuple[Ints, Ints]:
    """The nearest kept use above each kept use, and above each receiver."""
    nearest: list[int] = []
    above: list[int] = []
    for use, keep in zip(streams.above, is_kept, strict=True):
        feeder = NONE if use == NONE else nearest[use]
        nearest.append(len(above) if keep else feeder)
        if keep:
            above.append(feeder)
    leaf = [
        NONE if use == NONE or not rate else nearest[use]
        for use, rate in zip(streams.last, demand, strict=True)
    ]
    return np.array(above, np.int64), np.array(leaf, np.int64)


def _positions(first: Ints, member: Ints) -> Ints:
    """The position of each member within its group."""
    position = np.empty(len(member), dtype=np.int64)
    position[member] = np.arange(len(member)) - np.repeat(first[:-1], np.diff(first))
    return position
