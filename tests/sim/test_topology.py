"""Shapes of networks have what was asked of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.kernel.seeds import Seeds
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import Bernoulli, GilbertElliott
from penstock.sim.topology import (
    Edge,
    Topology,
    dumbbell,
    line,
    mesh,
    scale_free,
    star,
    tree,
)
from penstock.sim.topology_file import read_topology

ROOTS = st.integers(0, 1 << 32)


@given(st.integers(1, 40), st.integers(0, 20), st.none() | st.integers(2, 5), ROOTS)
def test_a_tree_has_its_size_diameter_and_degree_or_is_refused(
    size: int, diameter: int, degree_max: int | None, root: int
) -> None:
    try:
        made = tree(size, diameter, Seeds(root), degree_max=degree_max)
    except UsageError as refusal:
        # What the refusal says to write instead is possible, at both ends.
        said = str(refusal).rsplit("write ", 1)[1].split(" to ")
        for other in (said[0], said[-1]):
            assert tree(size, int(other), Seeds(root), degree_max=degree_max).nodes
            assert int(other) != diameter
        return
    assert (len(made.nodes), len(made.edges), made.diameter) == (size, size - 1, diameter)
    assert degree_max is None or made.degree <= degree_max


@pytest.mark.spec("C16")
def test_trees_of_8_nodes_whose_greatest_degree_is_3_have_diameters_4_to_6() -> None:
    """Every shape: each further node hangs on one of those before it."""
    names = [str(node) for node in range(8)]
    found = set[int]()
    for parents in product(*map(range, range(1, 8))):
        edges = [Edge(names[parent], names[i + 1]) for i, parent in enumerate(parents)]
        shape = Topology(tuple(names), tuple(edges))
        if shape.degree == 3:
            found.add(shape.diameter)
    assert found == {4, 5, 6}
    for diameter in (4, 5, 6):
        assert tree(8, diameter, Seeds(1), degree_max=3).diameter == diameter
    # A path has no node of 3 neighbours: it keeps the bound without meeting it.
    assert tree(8, 7, Seeds(1), degree_max=3).degree == 2
    with pytest.raises(
        UsageError, match="at most 3 neighbours a node and diameter 3: write 4 to 7"
    ):
        tree(8, 3, Seeds(1), degree_max=3)


@pytest.mark.parametrize(("size", "diameter"), [(8, 3), (46, 15), (12, 5), (46, 11), (8, 6)])
def test_the_trees_of_the_experiments_exist(size: int, diameter: int) -> None:
    made = {tree(size, diameter, Seeds(root)) for root in range(5)}
    assert {topology.diameter for topology in made} == {diameter}
    assert len(made) > 1


@given(st.integers(2, 40), st.integers(1, 4), ROOTS)
def test_a_scale_free_network_gains_its_edges_with_each_node(
    size: int, edges_per_node: int, root: int
) -> None:
    if edges_per_node >= size:
        with pytest.raises(UsageError, match="write 1 to"):
            scale_free(size, Seeds(root), edges_per_node=edges_per_node)
        return
    made = scale_free(size, Seeds(root), edges_per_node=edges_per_node)
    assert len(made.edges) == edges_per_node * (size - edges_per_node)


def test_a_scale_free_network_has_hubs() -> None:
    made = scale_free(500, Seeds(3))
    degrees = sorted(map(len, made.neighbours().values()))
    assert degrees[250] <= 4
    assert degrees[-1] > 25


@given(st.integers(1, 20), st.integers(0, 200), ROOTS)
def test_a_mesh_has_its_edges_or_is_refused(size: int, edge_count: int, root: int) -> None:
    if size - 1 <= edge_count <= size * (size - 1) // 2:
        made = mesh(size, edge_count, Seeds(root))
        assert (len(made.nodes), len(made.edges)) == (size, edge_count)
    else:
        with pytest.raises(UsageError, match=f"write {size - 1} to"):
            mesh(size, edge_count, Seeds(root))


def test_the_plain_shapes() -> None:
    assert (line(6).diameter, line(6).degree, line(1).diameter) == (5, 2, 0)
    assert (star(6).diameter, star(6).degree) == (2, 5)
    made = dumbbell(3)
    assert (len(made.nodes), made.diameter, made.distances("S1")["D3"]) == (8, 3, 3)


MAKERS: list[Callable[[Seeds], Topology]] = [
    lambda seeds: tree(20, 6, seeds),
    lambda seeds: scale_free(20, seeds),
    lambda seeds: mesh(20, 30, seeds),
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_topology(make: Callable[[Seeds], Topology]) -> None:
    assert make(Seeds(5)) == make(Seeds(5))
    assert all(make(Seeds(a)) != make(Seeds(b)) for a, b in combinations(range(4), 2))


@pytest.mark.parametrize(
    ("nodes", "edges", "text"),
    [
        ((), (), "at least one node"),
        (("A", "A"), (), "same name"),
        (("A",), (Edge("A", "B"),), "no node 'B'"),
        (("A",), (Edge("A", "A"),), "leads back"),
        (("A", "B"), (Edge("A", "B"), Edge("B", "A")), "twice"),
        (("A", "B", "C"), (Edge("A", "B"),), "no path leads from A to C"),
    ],
)
def test_what_is_no_network_is_refused(
    nodes: tuple[str, ...], edges: tuple[Edge, ...], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        Topology(nodes, edges)


TOML = """\
[link]
delay_ms = 50
jitter_ms = 5

[[edge]]
between = ["B1", "B2"]
rate_mbps = 1.5
loss = 0.01

[[edge]]
between = ["B2", "B3"]
delay_ms = 20
loss = 0.1
loss_burst = 4
queue_bytes = 15000
"""


def test_a_file_says_what_its_links_are_like(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(TOML)
    made = read_topology(path)
    ms = MILLISECOND
    assert made.nodes == ("B1", "B2", "B3")
    assert [edge.spec for edge in made.edges] == [
        LinkSpec(rate_bps=1_500_000, delay_ns=50 * ms, jitter_ns=5 * ms, loss=Bernoulli(0.01)),
        LinkSpec(
            delay_ns=20 * ms,
            jitter_ns=5 * ms,
            loss=GilbertElliott.of(loss=0.1, burst=4),
            queue_bytes_max=15_000,
        ),
    ]


def test_a_file_may_be_json_and_leave_the_links_open(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text('{"nodes": ["B2", "B1"], "edge": [{"between": ["B1", "B2"]}]}')
    assert read_topology(path) == Topology(("B2", "B1"), (Edge("B1", "B2"),))


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("a.toml", TOML.replace("rate_mbps", "rate"), ":5", "unknown field `rate`"),
        ("a.toml", TOML.replace("1.5", "-1.5"), ":5", "above 0 bit/s"),
        ("a.toml", TOML.replace("delay_ms = 20", "delay_ms = 2"), ":10", "0 up to the delay"),
        ("a.toml", TOML.replace("loss = 0.1\n", ""), ":10", "write loss too"),
        ("a.toml", TOML.replace('["B2", "B3"]', '["B2"]'), ":10", "length 2"),
        ("a.toml", TOML.replace("= 5\n", "= \n"), ":3", "Invalid value"),
        ("a.toml", TOML.replace('"B2", "B3"', '"B3", "B4"'), "", "no path leads"),
        ("a.toml", "", "", r"write \[\[edge\]\]"),
        ("a.json", '{"edge": [\n{"between": [1, "B2"]}]}', ":2", "Expected `str`"),
        ("a.json", "{", "", "truncated"),
    ],
)
def test_a_bad_file_is_told_its_place(
    tmp_path: Path, name: str, text: str, line: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=f"{name}{line}: .*{says}"):
        read_topology(tmp_path / name)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*gone.toml: No such file"):
        read_topology(tmp_path / "gone.toml")
