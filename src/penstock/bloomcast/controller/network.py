"""The network that trees are found in: nodes, and links that both of their ends name.

A value: what changes makes another one. Knows no time and no frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from penstock.wire.frames.cast.topology import CastRole, PortKind, PortState


class DirectedLink(NamedTuple):
    """What leaves a node by one of its ports; on a LAN it reaches many others, as one crossing."""

    node: int
    port: int


class Way(NamedTuple):
    """The cheapest port from one node to a neighbour."""

    port: int
    kind: PortKind
    cost: int


@dataclass(frozen=True, slots=True)
class Exit:
    """A port of a node, and whom it reaches."""

    port: int
    kind: PortKind
    secret: bytes
    reaches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """All mappings are in ascending order of nodes, neighbours and ports."""

    is_router: Mapping[int, bool]
    ways: Mapping[int, Mapping[int, Way]]
    exits: Mapping[int, Mapping[int, Exit]]

    def secret(self, link: DirectedLink) -> bytes:
        """What the tags of a link follow from."""
        return self.exits[link.node][link.port].secret


def network_of(nodes: Iterable[tuple[int, CastRole, tuple[PortState, ...]]]) -> Network:
    """The usable part of what each node says of itself: a link counts if both ends name it."""
    said = sorted(nodes)
    named = {node: dict.fromkeys(state.neighbour for state in ports) for node, _, ports in said}
    ways: dict[int, dict[int, Way]] = {}
    exits: dict[int, dict[int, Exit]] = {}
    for node, _, ports in said:
        cheapest: dict[int, Way] = {}
        reached: dict[int, list[PortState]] = {}
        for state in sorted(ports, key=_port_and_neighbour):
            there = state.neighbour
            if there == node or node not in named.get(there, ()):
                continue
            reached.setdefault(state.port, []).append(state)
            # Every hop adds to the distance, so that no path leads in a circle.
            cost = max(1, state.cost)
            known = cheapest.get(there)
            if known is None or cost < known.cost:
                cheapest[there] = Way(state.port, state.kind, cost)
        ways[node] = dict(sorted(cheapest.items()))
        exits[node] = {
            port: Exit(port, states[0].kind, states[0].secret, _neighbours(states))
            for port, states in reached.items()
        }
    is_router = {node: bool(roles & CastRole.ROUTER) for node, roles, _ in said}
    return Network(is_router=is_router, ways=ways, exits=exits)


def neighbourhood(network: Network, centre: int) -> Network:
    """A node and its neighbours alone, without the links between these."""
    ways: dict[int, Mapping[int, Way]] = {centre: network.ways.get(centre, {})}
    ways.update({node: {centre: network.ways[node][centre]} for node in ways[centre]})
    return Network(is_router=network.is_router, ways=ways, exits=network.exits)


def are_consistent(ports: Iterable[PortState]) -> bool:
    """Whether a port has one secret and kind, and more than one neighbour on a LAN alone."""
    first: dict[int, PortState] = {}
    for state in ports:
        other = first.setdefault(state.port, state)
        if (state.kind, state.secret) != (other.kind, other.secret):
            return False
        if state.kind is PortKind.POINT_TO_POINT and state.neighbour != other.neighbour:
            return False
    return True


def _port_and_neighbour(state: PortState) -> tuple[int, int]:
    return state.port, state.neighbour


def _neighbours(states: Iterable[PortState]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(state.neighbour for state in states))
