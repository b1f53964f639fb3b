"""Ids of flows, and claims to them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.flow_registry import FlowRegistry


def test_an_id_comes_again_as_late_as_possible() -> None:
    registry = FlowRegistry(range(10, 14), 1)
    assert [registry.new_id(()) for _ in range(6)] == [10, 11, 12, 13, 10, 11]
    assert [registry.new_id({12, 13}) for _ in range(3)] == [10, 11, 10]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60))
def test_claims_are_counted_by_owner(steps: list[tuple[int, bool]]) -> None:
    registry, owned = FlowRegistry(range(1), 3), Counter[int]()
    for owner, is_claim in steps:
        assert registry.has_room(owner) is (owned[owner] < 3)
        if is_claim and registry.has_room(owner):
            registry.claim(owner)
            owned[owner] += 1
        elif not is_claim and owned[owner]:
            registry.release(owner)
            owned[owner] -= 1
        assert [each in registry for each in range(3)] == [owned[each] > 0 for each in range(3)]


def test_who_claims_nothing_cannot_release() -> None:
    with pytest.raises(KeyError):
        FlowRegistry(range(1), 1).release(7)
