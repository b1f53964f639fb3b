"""Numbers that are to be asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.detect.digest_state import Pending, Room

STEPS = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from(["add", "discard", "due", "clear"]), st.integers(0, 30)
    ),
    max_size=60,
)


@given(steps=STEPS)
def test_all_share_the_room_there_is(steps: list[tuple[int, str, int]]) -> None:
    room = Room(10)
    both = [Pending(8, room), Pending(8, room)]
    for now, (which, what, number) in enumerate(steps):
        pending = both[which]
        if what == "add":
            pending.add(range(number, number + 3), now + number % 4)
        elif what == "discard":
            pending.discard(number)
        elif what == "due":
            list(pending.due(1, now))
        else:
            pending.clear()
        assert len(both[0]) + len(both[1]) + room.left == 10
        assert max(map(len, both)) <= 8


def test_what_is_asked_for_in_vain_is_given_up_and_makes_room() -> None:
    room = Room(4)
    pending = Pending(4, room)
    pending.add(range(6), 0)
    assert pending.given_up == 2
    now = 0
    while (at := pending.next_at()) is not None:
        now = max(now, at)
        list(pending.due(1, now))
    assert (len(pending), room.left, pending.given_up) == (0, 4, 6)
