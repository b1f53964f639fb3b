"""Worlds of casts that the swarm knows, as fixed scenes: and what is counted in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.swarm.cast import CastSwarm
from penstock.sim.swarm.cast_options import WORLDS, CastOptions

BY_NAME = {world.name: world for world in WORLDS}
# Nothing fails, and one filter holds the whole tree.
CALM = CastOptions(
    seed=1,
    world=BY_NAME["star"],
    symbols=200,
    block_symbols=100,
    manifest_symbols=1,
    train_symbols=10,
    sending_ns=500 * MILLISECOND,
    loss=0.0,
    joins_ns=(0, 0, 0),
    knows_receivers=True,
    fault_time_ns=2 * SECOND,
    faults=0,
    fault_kinds=("cut",),
    mend_ns=5 * SECOND,
    filter_ones_max=99,
    is_controlled=False,
    with_codec=False,
)


def scene(**changes: Any) -> CastSwarm:
    """A swarm run that is driven step by step."""
    options = replace(CALM, **changes)
    if len(options.joins_ns) != len(options.world.receivers):
        options = replace(options, joins_ns=(0,) * len(options.world.receivers))
    return CastSwarm(options)


def begin(swarm: CastSwarm, *, without: tuple[str, ...] = ()) -> None:
    """Everybody is there; the object is offered and wanted."""
    swarm.network.run(1_500 * MILLISECOND)
    swarm.sender.publish()
    for receiver in swarm.receivers:
        if receiver.node not in without:
            receiver.subscribe()


def finish(swarm: CastSwarm, for_ns: Duration = 20 * SECOND) -> None:
    """Until all have it, and nothing is left."""
    swarm.network.run(for_ns)
    wrong = [line for checker in swarm.checkers for line in checker.wrong]
    assert not wrong, wrong


def sent(network: CastNetwork, name: str, *, sender: str, port: str | None = None) -> int:
    """Datagrams of a kind that a node has sent."""
    return sum(
        count
        for (node, via, kind), count in network.crossings.datagrams.items()
        if kind.name == name and node == sender and (port is None or via == port)
    )
