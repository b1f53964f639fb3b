"""What only shows on larger networks: compiled loops, many blocks, many links."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.fairness.contention import Contention, contention_of
from penstock.fairness.effairness import effairness
from penstock.fairness.groups import grouped, joined
from penstock.fairness.instantaneous import max_min, proportional
from penstock.fairness.maxmin import MaxMin
from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.fairness.proportional import Proportional
from penstock.fairness.routes import Plan, streams_of
from penstock.kernel.seeds import Seeds


def tree(*, hosts: int, sessions: int, receivers: int) -> Network:
    """A random tree that all sessions enter by its one link at the root."""
    chance = Seeds(7).rng("tree", str(hosts), str(sessions), str(receivers))
    links = tuple(
        Link(
            start=f"h{0 if host == 1 else chance.randrange(1, host)}",
            end=f"h{host}",
            capacity=chance.uniform(0.2, 2) * sessions,
            delay=chance.randrange(9),
        )
        for host in range(1, hosts)
    )

    def one(number: int) -> Session:
        members = []
        for place in range(receivers):
            join = chance.randrange(50)
            host = f"h{chance.randrange(1, hosts)}"
            data, leave = chance.uniform(1, 50), join + 100
            name = f"r{number}.{place}"
            members.append(Receiver(id=name, host=host, join=join, leave=leave, data=data))
        return Session(id=f"s{number}", sender=Sender(host="h0"), receivers=tuple(members))

    return Network(links, tuple(one(number) for number in range(sessions)))


def contention(net: Network) -> Contention:
    return contention_of(net, streams_of(net, Plan(net)), [True] * len(net.receivers()))


@pytest.mark.parametrize("allocation", [MaxMin, Proportional])
def test_compiled_and_plain_loops_agree_to_the_last_bit(
    allocation: type[MaxMin] | type[Proportional],
) -> None:
    pytest.importorskip("numba")
    net = tree(hosts=40, sessions=30, receivers=6)
    plain, compiled = (effairness(net, allocation(work)) for work in (np.inf, 0))
    assert plain.finish.tolist() == compiled.finish.tolist()


def test_a_loop_is_compiled_in_the_middle_if_it_comes_to_pay() -> None:
    pytest.importorskip("numba")
    net = tree(hosts=40, sessions=30, receivers=6)
    early, late = (effairness(net, MaxMin(work)) for work in (0, 5_000))
    assert early.finish.tolist() == late.finish.tolist()


def test_rates_of_many_links_are_found_as_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """More links than a dense matrix is made for."""
    net = tree(hosts=80, sessions=60, receivers=5)
    dense = proportional(net)
    monkeypatch.setattr("penstock.fairness.proportional._DENSE_MAX", 0)
    assert proportional(net) == pytest.approx(dense, rel=1e-9)


def test_what_is_left_out_holds_nobody_back() -> None:
    """A link is contended only if bounds do not fit; blocks share no receiver and no link."""
    net = tree(hosts=60, sessions=12, receivers=5)
    found = contention(net)
    blocks = list(found.blocks())
    held = np.concatenate([block.receivers for block in blocks])
    assert len(set(held.tolist())) == len(held)
    assert sorted(held.tolist()) == np.flatnonzero(found.leaf >= 0).tolist()
    assert sum(len(block.capacity) for block in blocks) == len(found.capacity)
    for block in blocks:
        assert (np.diff(block.bound) >= 0).all()
        assert (block.above < np.arange(len(block.above))).all()
        assert (np.diff(block.first) > 0).all()
        assert set(block.link.tolist()) == set(range(len(block.capacity)))
    free = np.flatnonzero(found.leaf < 0)
    rates = list(max_min(net).values())
    assert [rates[k] for k in free] == found.bound[free].tolist()


def test_sessions_that_do_not_meet_are_judged_as_if_alone() -> None:
    pairs = 300
    links, sessions = [], []
    for i in range(pairs):
        links.append(Link(start=f"a{i}", end=f"b{i}", capacity=1.0 + i % 7))
        sessions += [
            Session(
                id=f"s{i}.{j}",
                sender=Sender(host=f"a{i}"),
                receivers=(Receiver(id=f"r{i}.{j}", host=f"b{i}", join=j, leave=99, data=5),),
            )
            for j in (0, 1)
        ]
    outcome = effairness(Network(tuple(links), tuple(sessions)))
    assert len(outcome.graphs) == pairs
    for i in (0, 1, 6, 299):
        alone = effairness(Network((links[i],), tuple(sessions[2 * i : 2 * i + 2])))
        assert outcome.finish[2 * i : 2 * i + 2].tolist() == alone.finish.tolist()


def test_things_are_grouped_in_order() -> None:
    found = grouped(np.array([2, 0, -1, 2, 0]), 4)
    assert [found.of(group).tolist() for group in range(4)] == [[1, 4], [], [0, 3], []]


def test_chains_of_pairs_join() -> None:
    one, other = np.array([4, 1, 2, 4]), np.array([2, 0, 5, 2])
    assert joined(6, one, other).tolist() == [0, 0, 1, 2, 1, 1]
    assert joined(0, np.array([], np.int64), np.array([], np.int64)).tolist() == []
