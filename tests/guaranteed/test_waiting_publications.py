"""Who is next when publishers have to wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.waiting_publications import WaitingPublications


def taken(waiting: WaitingPublications[int]) -> list[tuple[str, int]]:
    found = []
    while (each := waiting.take()) is not None:
        found.append(each)
    return found


def test_publishers_take_turns_however_much_each_has() -> None:
    waiting = WaitingPublications[int]()
    for number in range(4):
        waiting.add("a", number)
    waiting.add("b", 10)
    waiting.add("b", 11)
    assert taken(waiting) == [("a", 0), ("b", 10), ("a", 1), ("b", 11), ("a", 2), ("a", 3)]
    assert len(waiting) == 0


def test_without_turns_the_first_to_come_is_the_first_to_go() -> None:
    waiting = WaitingPublications[int](in_turn=False)
    for port, number in (("a", 0), ("a", 1), ("b", 10), ("a", 2)):
        waiting.add(port, number)
    assert taken(waiting) == [("a", 0), ("a", 1), ("b", 10), ("a", 2)]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from("abc"), st.integers()), st.sampled_from("abc"), st.none()
        )
    ),
    st.booleans(),
)
def test_each_connection_keeps_its_order_and_takes_what_it_had_with_it(
    steps: list[tuple[str, int] | str | None], in_turn: bool
) -> None:
    waiting = WaitingPublications[int](in_turn=in_turn)
    own: dict[str, list[int]] = {}
    for step in steps:
        if step is None:
            found = waiting.take()
            assert (found is None) == (not own)
            if found is not None:
                assert own[found[0]].pop(0) == found[1]
                own = {port: numbers for port, numbers in own.items() if numbers}
        elif isinstance(step, str):
            waiting.gone(step)
            own.pop(step, None)
        else:
            waiting.add(*step)
            own.setdefault(step[0], []).append(step[1])
        assert len(waiting) == sum(map(len, own.values()))
        assert all(port in waiting for port in own)
