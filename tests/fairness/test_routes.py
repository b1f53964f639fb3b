"""Which links data take, and what is said where that cannot be told."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.fairness.effairness import effairness
from penstock.fairness.network import Network
from penstock.fairness.routes import NONE, Plan, streams_of
from penstock.kernel.errors import UsageError
from tests.fairness.examples import network
from tests.fairness.oracle import ways


def links_to(net: Network) -> dict[str, list[str]]:
    """The hosts on the way to each receiver."""
    streams = streams_of(net, Plan(net))
    found = {}
    for receiver, last in zip(net.receivers(), streams.last, strict=True):
        hosts, use = [receiver.host], last
        while use != NONE:
            hosts.append(net.links[streams.link[use]].start)
            use = streams.above[use]
        found[receiver.id] = hosts[::-1]
    return found


def between(edges: list[tuple[str, str]], pairs: list[tuple[str, str]]) -> Network:
    """Links without limit or delay, and a session for each pair."""
    return network(
        [(start, end, 1, 0) for start, end in edges],
        {f"s{i}": (start, {f"r{i}": (end, 0, 1, 1)}) for i, (start, end) in enumerate(pairs)},
    )


def complaint(net: Network) -> str:
    with pytest.raises(UsageError) as caught:
        effairness(net)
    return str(caught.value)


HOSTS = "abcde"
edges = st.lists(st.sampled_from(list(permutations(HOSTS, 2))), unique=True, max_size=8)
pairs = st.lists(st.tuples(st.sampled_from(HOSTS), st.sampled_from(HOSTS)), min_size=1, max_size=3)


@given(edges, pairs)
@settings(max_examples=300, deadline=None)
def test_the_only_way_is_found_and_no_other_taken(
    given_edges: list[tuple[str, str]], given_pairs: list[tuple[str, str]]
) -> None:
    net = between(given_edges, given_pairs)
    expected = [ways(given_edges, start, end) for start, end in given_pairs]
    if all(len(found) == 1 for found in expected):
        for way, hosts in zip(expected, links_to(net).values(), strict=True):
            assert hosts[1:] == [end for _, end in way[0]]
    else:
        with pytest.raises(UsageError, match=r"cannot be reached|two ways lead"):
            streams_of(net, Plan(net))


def test_a_session_branches_only_where_its_ways_part() -> None:
    net = network(
        [("a", "b", 1, 0), ("b", "c", 1, 0), ("b", "d", 1, 0)],
        {"s": ("a", {"r": ("c", 0, 1, 1), "q": ("d", 0, 1, 1), "p": ("b", 0, 1, 1)})},
    )
    streams = streams_of(net, Plan(net))
    assert (streams.link, streams.above, streams.last) == ([0, 1, 2], [NONE, 0, 0], [1, 2, 0])


def test_who_cannot_be_reached_is_named() -> None:
    # The only link points the other way.
    assert complaint(between([("b", "a")], [("a", "b")])) == (
        "receiver 'r0' of session 's0' cannot be reached: no links lead from a to b;"
        " add them, or leave it out"
    )
    assert "from a to x" in complaint(between([("a", "b")], [("a", "x")]))


def test_two_ways_are_named() -> None:
    diamond = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")]
    said = complaint(between(diamond, [("a", "d")]))
    assert said.startswith("the links form a cycle: two ways lead from a to d,")
    assert "a → b → d" in said
    assert "a → c → d" in said


def test_a_cycle_that_no_session_closes_does_no_harm() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    assert links_to(between(ring, [("a", "c")])) == {"r0": ["a", "b", "c"]}
    effairness(between(ring, [("a", "c")]))


def test_a_cycle_of_sessions_that_share_links_is_named() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    said = complaint(between(ring, [("a", "c"), ("b", "a")]))
    assert said.startswith("sessions that share links form a cycle, ")
    around = said.split("cycle, ")[1].split(":")[0].split(" - ")
    assert around[0] == around[-1]
    assert sorted(around[1:]) == ["a", "b", "c"]


def test_both_ways_of_a_link_are_a_cycle_if_one_component_uses_them() -> None:
    both = [("a", "b"), ("b", "a"), ("b", "c")]
    net = network(
        [(start, end, 1, 1) for start, end in both],
        {
            "to": ("a", {"r": ("c", 0, 1, 1)}),
            "fro": ("b", {"q": ("a", 0, 1, 1), "p": ("c", 0, 1, 1)}),
        },
    )
    assert "form a cycle, b - a - b:" in complaint(net)


def test_a_long_chain_is_no_trouble() -> None:
    count = 3_000
    chain = [(f"h{i}", f"h{i + 1}") for i in range(count)]
    net = between(chain, [("h0", f"h{count}"), ("h0", "h1")])
    assert effairness(net).finish.tolist() == [2.0, 2.0]
