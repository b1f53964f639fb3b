"""Timers against the naive twin: a dictionary of deadlines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.timers import Timers

Step = tuple[str, str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["set", "cancel", "due"]), st.sampled_from("abcdef"), st.integers(0, 50)
    ),
    max_size=60,
)


@given(STEPS)
def test_timers_agree_with_a_dictionary(steps: list[Step]) -> None:
    timers: Timers[str] = Timers()
    naive: dict[str, tuple[int, int]] = {}
    for serial, (verb, key, at) in enumerate(steps):
        if verb == "set":
            timers.set(key, at)
            naive[key] = (at, serial)
        elif verb == "cancel":
            timers.cancel(key)
            naive.pop(key, None)
        else:
            due = sorted((k for k in naive if naive[k][0] <= at), key=naive.__getitem__)
            assert list(timers.due(at)) == due
            for k in due:
                del naive[k]
        assert len(timers) == len(naive)
        assert timers.next_wakeup() == min((at for at, _ in naive.values()), default=None)
        assert all(timers.deadline(k) == naive.get(k, (None, 0))[0] for k in "abcdef")


def test_a_timer_set_while_others_fire_fires_in_the_same_pass() -> None:
    timers: Timers[str] = Timers()
    timers.set("first", 1)
    fired = []
    for key in timers.due(10):
        fired.append(key)
        if key == "first":
            timers.set("second", 5)
            timers.set("later", 11)
    assert fired == ["first", "second"]
    assert timers.next_wakeup() == 11


def test_moving_a_timer_often_does_not_grow_memory() -> None:
    timers: Timers[str] = Timers()
    for at in range(10_000):
        timers.set("one", at)
    assert len(timers._heap) <= 65
    assert list(timers.due(10_000)) == ["one"]


def test_cancelling_gives_memory_back() -> None:
    timers: Timers[int] = Timers()
    for at in range(10_000):
        timers.set(at, at)
    for key in range(1, 10_000):
        timers.cancel(key)
    assert len(timers._heap) <= 65
    assert timers.next_wakeup() == 0
