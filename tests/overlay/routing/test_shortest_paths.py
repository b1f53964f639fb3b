"""Shortest paths against a slow twin, and the tree they form."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from penstock.kernel.seeds import Seeds
from penstock.overlay.routing.shortest_paths import next_hops
from penstock.wire.frames.lsa import Lsa, Neighbour

Graph = dict[int, dict[int, int]]


def draw(rng: random.Random) -> Graph:
    """Some of the links are said to be there by one end only."""
    count = rng.randint(1, 8)
    graph: Graph = {i: {} for i in range(1, count + 1)}
    for left in graph:
        for right in graph:
            if left < right and rng.random() < 0.5:
                cost = rng.randrange(4)
                graph[left][right] = cost
                if rng.random() < 0.9:
                    graph[right][left] = cost
    return graph


def database(graph: Graph) -> dict[int, Lsa]:
    return {
        i: Lsa(
            origin=i, seq=1, neighbours=tuple([Neighbour(j, c) for j, c in sorted(links.items())])
        )
        for i, links in graph.items()
    }


def simple_paths(graph: Graph, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    yield path
    here = path[-1]
    for there in graph[here]:
        if there not in path and here in graph[there]:
            yield from simple_paths(graph, (*path, there))


def length(graph: Graph, path: tuple[int, ...]) -> int:
    return sum(max(1, graph[a][b]) for a, b in pairwise(path))


@pytest.mark.parametrize("seed", range(60))
def test_hops_are_those_of_the_first_of_all_shortest_paths(seed: int) -> None:
    graph = draw(Seeds(seed).rng("routes"))
    best: dict[int, tuple[int, tuple[int, ...]]] = {}
    for path in simple_paths(graph, (1,)):
        offer = (length(graph, path), path)
        best[path[-1]] = min(offer, best.get(path[-1], offer))
    expected = {there: path[1] for there, (_, path) in best.items() if there != 1}
    assert next_hops(1, database(graph)) == expected


@pytest.mark.parametrize("seed", range(60))
def test_the_ways_from_one_broker_form_a_tree(seed: int) -> None:
    lsas = database(draw(Seeds(seed).rng("routes")))
    hops = {broker: next_hops(broker, lsas) for broker in lsas}
    came_from: dict[int, int] = {}
    for there in hops[1]:
        here = 1
        while here != there:
            onward = hops[here][there]
            assert came_from.setdefault(onward, here) == here
            here = onward
    assert 1 not in came_from
