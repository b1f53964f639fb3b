"""The map: found anew for all changes of a while together."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.bloomcast.controller.network import Network, network_of
from penstock.bloomcast.controller.network_map import NetworkMap
from penstock.bloomcast.controller.tree import Tree, shortest_path_tree
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.wire.frames.cast.topology import CastRole, LinkState, PortKind, PortState

ROUTER, HOSTS = 1, range(5, 45)


def port(neighbour: int, number: int = 0) -> PortState:
    return PortState(
        port=number,
        kind=PortKind.POINT_TO_POINT,
        neighbour=neighbour,
        secret=bytes([number & 255, neighbour & 255]) + bytes(14),
    )


def say(network_map: NetworkMap, node: int, ports: tuple[PortState, ...], now: Instant) -> None:
    state = LinkState(
        node=node, name=f"n{node}", roles=CastRole(node == ROUTER), number=1, page=0, pages=1,
        ports=ports,
    )  # fmt: skip
    network_map.on_link_state(state, 1, now)


def test_what_comes_together_is_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    found, trees = [0], [0]

    def counted_network(*args: Any) -> Network:
        found[0] += 1
        return network_of(*args)

    def counted_tree(*args: Any) -> Tree:
        trees[0] += 1
        return shortest_path_tree(*args)

    here = "penstock.bloomcast.controller"
    monkeypatch.setattr(f"{here}.topology.network_of", counted_network)
    monkeypatch.setattr(f"{here}.routes.shortest_path_tree", counted_tree)
    network_map = NetworkMap(ROUTER)
    say(network_map, ROUTER, tuple(port(node, node) for node in HOSTS), 0)
    assert network_map.has_changed(0)
    changes = 0
    for node in HOSTS:
        now = 4 * node * MILLISECOND
        say(network_map, node, (port(ROUTER),), now)
        changes += network_map.has_changed(now)
        network_map.route_to(node)
        network_map.reached([node])
    assert network_map.next_wakeup() == 200 * MILLISECOND
    assert network_map.has_changed(200 * MILLISECOND)
    assert all(network_map.route_to(node) for node in HOSTS)
    assert network_map.reached(HOSTS) == len(HOSTS)
    assert not network_map.has_changed(300 * MILLISECOND)
    assert changes == 1
    assert found[0] == trees[0] == 3


def test_one_change_counts_at_once() -> None:
    network_map = NetworkMap(ROUTER)
    say(network_map, ROUTER, (port(2),), 0)
    assert network_map.has_changed(0)
    say(network_map, 2, (port(ROUTER),), 100 * MILLISECOND)
    assert network_map.has_changed(100 * MILLISECOND)
    assert network_map.route_to(2) is not None
