"""Instantaneous ideals: rates with all receivers active at once, without time.

Delays, joining and leaving times and amounts do not matter, and sessions may form cycles, as
long as there is only one path to each receiver. [E3] The load of a session on a link is the
highest rate below it: each receiver has its own rate.
"""

from __future__ import annotations

import numpy as np

from penstock.fairness.contention import contention_of
from penstock.fairness.effair import allocation_named
from penstock.fairness.network import Network
from penstock.fairness.routes import Plan, streams_of


def max_min(network: Network) -> dict[str, float]:
    """Rates by receiver: none can grow without reducing one that is no larger."""
    return instantaneous_rates(network, "maxmin")


def proportional(network: Network) -> dict[str, float]:
    """Rates by receiver: those whose logarithms have the largest sum."""
    return instantaneous_rates(network, "proportional")


def instantaneous_rates(network: Network, allocation: str) -> dict[str, float]:
    """Rates by receiver; infinite where nothing limits a rate."""
    chosen = allocation_named(allocation)
    receivers = network.receivers()
    streams = streams_of(network, Plan(network))
    contention = contention_of(network, streams, [True] * len(receivers))
    rates = contention.bound.copy()
    for block in contention.blocks():
        everybody = np.arange(len(block.receivers))
        rates[block.receivers] = chosen.on(block).rates(everybody)
    names = [receiver.id for receiver in receivers]
    return dict(zip(names, rates.tolist(), strict=True))
