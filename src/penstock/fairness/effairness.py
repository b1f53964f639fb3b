"""Effairness: how close actual service came to the effair ideal [001].

For a receiver, its ideal time divided by its actual time; for a session, the mean over its
receivers; for the network, the mean over sessions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.contention import contention_of
from penstock.fairness.effair import (
    Allocation,
    Changes,
    Progress,
    allocation_named,
    effair,
)
from penstock.fairness.network import Network
from penstock.fairness.routes import Plan, streams_of
from penstock.fairness.timescale import EffairGraph, Timescale, effair_graphs, timescales
from penstock.kernel.errors import UsageError


@dataclass(frozen=True)
class Outcome:
    """The result; arrays are in the order of `Network.receivers`."""

    network: Network
    # When each receiver would have had its data, by its own clock.
    finish: Floats
    # The index of each receiver, of each session, and of the network.
    by_receiver: Floats
    by_session: dict[str, float]
    overall: float
    _plan: Plan
    _scales: list[Timescale]
    _waited: Floats
    _changes: Changes

    @cached_property
    def graphs(self) -> list[EffairGraph]:
        """The components, each on its own timescale."""
        return effair_graphs(self.network, self._plan, self._scales)

    @property
    def has_rates(self) -> bool:
        """Whether `rates` is available: too many changes are not kept."""
        return self._changes.is_complete

    def rates(self, receiver: int) -> list[tuple[float, float]]:
        """Changes of a receiver's ideal rate (time by its own clock, rate); the last is to 0.

        Empty for a receiver that needs no time: it has no demand, or no limit.
        """
        starts, times, rates = self._steps
        part = slice(starts[receiver], starts[receiver + 1])
        if part.start == part.stop:
            return []
        join = self._joins[receiver]
        own = join + (times[part] - self._waited[receiver])
        steps = list(zip(own.tolist(), rates[part].tolist(), strict=True))
        return [*steps, (float(self.finish[receiver]), 0.0)]

    @cached_property
    def _joins(self) -> Floats:
        return np.array([receiver.join for receiver in self.network.receivers()], dtype=float)

    @cached_property
    def _steps(self) -> tuple[Ints, Floats, Floats]:
        if not self.has_rates:
            raise UsageError("rates changed too often to be kept: judge fewer receivers at a time")
        return self._changes.by_receiver(len(self.finish))


def effairness(
    network: Network,
    allocation: str | Allocation = "maxmin",
    progress: Progress = lambda _count: None,
) -> Outcome:
    """Compares every receiver with an ideal, `maxmin` or `proportional`."""
    chosen = allocation_named(allocation) if isinstance(allocation, str) else allocation
    plan = Plan(network)
    streams = streams_of(network, plan)
    receivers = network.receivers()
    waited = np.zeros(len(receivers))
    scales = timescales(network, plan, streams)
    for scale in scales:
        waited[scale.receivers] = scale.waited
    data = np.array([receiver.data for receiver in receivers], dtype=float)
    contention = contention_of(network, streams, [receiver.data > 0 for receiver in receivers])
    _check_rates(network, contention.bound)
    ideal = effair(contention, waited, data, chosen, progress)
    index = _indices(network, ideal.spent)
    sessions = _means(network, index)
    return Outcome(
        network=network,
        finish=np.array([receiver.join for receiver in receivers], dtype=float) + ideal.spent,
        by_receiver=index,
        by_session=sessions,
        overall=sum(sessions.values()) / len(sessions),
        _plan=plan,
        _scales=scales,
        _waited=waited,
        _changes=ideal.changes,
    )


def _check_rates(network: Network, bound: Floats) -> None:
    """Raises `UsageError` for a receiver with demand and a path of capacity 0."""
    for receiver, limit in zip(network.receivers(), bound.tolist(), strict=True):
        if receiver.data > 0 and limit == 0:
            raise UsageError(
                f"receiver {receiver.id!r} would never finish: something on its way has a capacity"
                " of 0; correct that, or its data"
            )


def _indices(network: Network, spent: Floats) -> Floats:
    """[001, eq 12] The index is 1 for a receiver whose actual and ideal times are both 0."""
    index = np.ones(len(spent))
    for number, (receiver, ideal) in enumerate(
        zip(network.receivers(), spent.tolist(), strict=True)
    ):
        took = receiver.leave - receiver.join
        if took > 0:
            index[number] = ideal / took
        elif ideal > 0:
            raise UsageError(
                f"receiver {receiver.id!r} leaves as it joins, at {receiver.leave:g}, and yet has"
                f" {receiver.data:g} of data: correct either"
            )
    return index


def _means(network: Network, index: Floats) -> dict[str, float]:
    means, first = {}, 0
    for session in network.sessions:
        last = first + len(session.receivers)
        means[session.id] = float(index[first:last].mean())
        first = last
    return means
