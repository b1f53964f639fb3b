"""Which controller is responsible for what, and which of two for the same stays."""

from __future__ import annotations

import pytest

from penstock.bloomcast.discovery.claims import (
    Claim,
    rendezvous_point,
    topology_managers,
    what_is_left,
)
from penstock.wire.frames.cast.topology import CONTROLLER, CastRole

RENDEZVOUS, TOPOLOGY = CastRole.RENDEZVOUS, CastRole.TOPOLOGY
NONE = CastRole(0)
A, B, C = 101, 102, 103


@pytest.mark.parametrize(
    ("claims", "scope", "expected"),
    [
        ([Claim(1, CONTROLLER)], A, 1),
        ([], A, None),
        # Who names a scope comes before who names none.
        ([Claim(1, CONTROLLER), Claim(2, CONTROLLER, (A, B))], A, 2),
        ([Claim(1, CONTROLLER), Claim(2, CONTROLLER, (A, B))], C, 1),
        ([Claim(2, CONTROLLER, (A,))], B, None),
        # All nodes turn to the same one of two.
        ([Claim(3, CONTROLLER), Claim(2, CONTROLLER)], A, 2),
        ([Claim(3, CONTROLLER, (A,)), Claim(2, CONTROLLER, (A,))], A, 2),
        # A topology manager alone takes no offers.
        ([Claim(1, TOPOLOGY), Claim(2, RENDEZVOUS)], A, 2),
        ([Claim(1, NONE)], A, None),
    ],
)
def test_a_scope_has_one_rendezvous_point(
    claims: list[Claim], scope: int, expected: int | None
) -> None:
    assert rendezvous_point(claims, scope) == expected
    assert rendezvous_point(claims[::-1], scope) == expected


def test_link_states_go_to_all_topology_managers() -> None:
    claims = [Claim(3, CONTROLLER, (A,)), Claim(1, TOPOLOGY), Claim(2, RENDEZVOUS)]
    assert topology_managers(claims) == [1, 3]


@pytest.mark.parametrize(
    ("own", "other", "left"),
    [
        # The lower id stays.
        (Claim(1, CONTROLLER), Claim(2, CONTROLLER), Claim(1, CONTROLLER)),
        (Claim(2, CONTROLLER), Claim(1, CONTROLLER), Claim(2, NONE)),
        (Claim(2, CONTROLLER, (A, B)), Claim(1, CONTROLLER, (B, A)), Claim(2, NONE)),
        # Other scopes are another responsibility.
        (Claim(2, CONTROLLER), Claim(1, CONTROLLER, (A,)), Claim(2, CONTROLLER)),
        (Claim(2, CONTROLLER, (A,)), Claim(1, CONTROLLER), Claim(2, CONTROLLER, (A,))),
        (Claim(2, CONTROLLER, (A, B)), Claim(1, CONTROLLER, (B, C)), Claim(2, CONTROLLER, (A,))),
        # So are other roles.
        (Claim(2, TOPOLOGY), Claim(1, RENDEZVOUS), Claim(2, TOPOLOGY)),
        (Claim(2, RENDEZVOUS), Claim(1, TOPOLOGY), Claim(2, RENDEZVOUS)),
        (Claim(2, TOPOLOGY), Claim(1, TOPOLOGY), Claim(2, NONE)),
        (Claim(2, TOPOLOGY), Claim(1, CONTROLLER), Claim(2, NONE)),
        (Claim(2, CONTROLLER), Claim(1, TOPOLOGY), Claim(2, CONTROLLER)),
        # Another rendezvous point may need its map.
        (Claim(2, CONTROLLER), Claim(1, RENDEZVOUS), Claim(2, TOPOLOGY)),
    ],
)
def test_of_two_for_the_same_the_lower_id_stays(own: Claim, other: Claim, left: Claim) -> None:
    assert what_is_left(own, other) == left


def test_who_has_stepped_down_claims_nothing() -> None:
    assert what_is_left(Claim(2, CONTROLLER), Claim(1, CONTROLLER)).is_void
    assert not Claim(2, TOPOLOGY).is_void
