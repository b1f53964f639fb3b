"""When to ask and when to answer, against the specification's numbers."""

from __future__ import annotations

import random
from math import log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.transport.recovery.request_timers import (
    AdaptiveTimer,
    RequestTimer,
    TimerSettings,
    hold_down_ns,
    is_much_farther,
    random_backoff,
)

UNIFORM = TimerSettings(law="uniform")
LAWS = [UNIFORM, TimerSettings()]
D = 100 * MILLISECOND


def bounds_s(adaptive: AdaptiveTimer, d_s: float, group: int, round_: int = 0) -> list[float]:
    """The shortest and the longest wait."""
    return [
        adaptive.wait_ns(round(d_s * SECOND), group_size=group, draw=draw, round_=round_) / SECOND
        for draw in (0, 1)
    ]


@pytest.mark.parametrize("settings", LAWS)
@pytest.mark.parametrize(("round_", "bounds"), [(0, [0.2, 0.4]), (1, [0.4, 0.8]), (2, [0.8, 1.6])])
def test_requests_wait_as_in_the_vectors(
    settings: TimerSettings, round_: int, bounds: list[float]
) -> None:
    assert bounds_s(AdaptiveTimer(settings), 0.1, 50, round_) == pytest.approx(bounds)


@pytest.mark.spec("R5")
@pytest.mark.parametrize("settings", LAWS)
def test_repairs_wait_as_in_the_vectors(settings: TimerSettings) -> None:
    adaptive = AdaptiveTimer(settings, for_repairs=True)
    assert bounds_s(adaptive, 0.08, 50) == pytest.approx([0.1359, 0.2718], abs=5e-5)
    # Nobody adapted yet, so the size of the group still decides; 2 is the least.
    for group in (2, 1, 0):
        assert bounds_s(adaptive, 0.08, group) == pytest.approx([0.04, 0.12])
    assert hold_down_ns(80 * MILLISECOND) == 240 * MILLISECOND


def test_a_uniform_wait_is_where_the_draw_is() -> None:
    assert AdaptiveTimer(UNIFORM).wait_ns(D, group_size=50, draw=0.5) == 300 * MILLISECOND


@pytest.mark.parametrize(
    ("draw", "wait_s"),
    [
        (0, 0),
        (0.01, 0.09352569908468161),
        (0.1, 0.2380058288841176),
        (0.5, 0.35079720233395084),
        (0.9, 0.39251035449356436),
        (1, 0.4),
    ],
)
def test_the_backoff_is_that_of_rfc_5401(draw: float, wait_s: float) -> None:
    assert random_backoff(0.4, 100, draw) == pytest.approx(wait_s, rel=1e-12)


def test_the_mean_wait_is_told_in_requests() -> None:
    for settings in LAWS:
        assert AdaptiveTimer(settings).mean_wait_ns(D, group_size=50) == 300 * MILLISECOND


def test_of_thousands_who_share_a_loss_few_ask() -> None:
    # All are as far from the publisher as from one another: who waits less than a distance
    # longer than the first asks too. Width 8 is what a dozen losses with duplicates lead to.
    def askers(settings: TimerSettings, cycles: int) -> int:
        rng, adaptive = random.Random(1), AdaptiveTimer(settings)
        for _ in range(cycles):
            adaptive.on_cycle(10, 0.5, is_closest=False, group_size=2_000)
        waits = [adaptive.wait_ns(D, group_size=2_000, draw=rng.random()) for _ in range(2_000)]
        heard_at = min(waits) + D
        return sum(wait < heard_at for wait in waits)

    exponential = TimerSettings()
    assert askers(UNIFORM, 0) > 900
    assert askers(exponential, 0) < 150
    assert askers(UNIFORM, 12) > 200
    assert askers(exponential, 12) < 10


def test_it_adapts_as_in_the_vectors_step_by_step() -> None:
    adaptive = AdaptiveTimer(TimerSettings())
    before: tuple[float, float] | None = None
    for duplicates, delay, is_closest, expected in (
        (2.0, 1.5, False, (2, 2.5)),
        (1.5, 1.5, False, (2, 3)),
        (0.95, 1.2, False, (2, 3)),
        (0.8, 1.2, False, (2, 2.9)),
        (0.2, 0.8, False, (1.95, 2.9)),
        (0.2, 1.4, False, (1.9, 2.8)),
        (0.5, 1.1, True, (1.9, 2.7)),
    ):
        # What must be seen now for the averages to be those of the vectors.
        old = before or (duplicates, delay)
        before = (duplicates, delay)
        seen = [4 * a - 3 * b for a, b in zip(before, old, strict=True)]
        adaptive.on_cycle(*seen, is_closest=is_closest, group_size=50)
        assert adaptive.interval(50) == pytest.approx(expected)


def test_one_good_loss_does_not_outweigh_the_bad_before_it() -> None:
    adaptive = AdaptiveTimer(TimerSettings())
    adaptive.on_cycle(4, 1, is_closest=False, group_size=50)
    adaptive.on_cycle(0, 1, is_closest=False, group_size=50)
    # On average there were 4, and then 3 …
    assert adaptive.interval(50) == pytest.approx((2, 3))
    for _ in range(4):
        adaptive.on_cycle(0, 1, is_closest=False, group_size=50)
    # … 2.25, 1.69, 1.27, and at last .95.
    assert adaptive.interval(50) == pytest.approx((2, 4.5))


def test_who_is_first_is_so_again_earlier() -> None:
    adaptive = AdaptiveTimer(TimerSettings())
    adaptive.on_sent_first(group_size=50)
    assert adaptive.interval(50) == pytest.approx((1.9, 2))
    for _ in range(100):
        adaptive.on_sent_first(group_size=50)
    assert adaptive.interval(50) == pytest.approx((0.5, 2))
    # It then narrows, even if there were duplicates: they came from far away.
    adaptive.on_cycle(4, 0, is_closest=True, group_size=50)
    assert adaptive.interval(50) == pytest.approx((0.5, 1.9))
    assert is_much_farther(151, 100)
    assert not is_much_farther(150, 100)


def test_answers_begin_at_the_size_of_the_group_when_they_first_adapt() -> None:
    adaptive = AdaptiveTimer(TimerSettings(), for_repairs=True)
    assert adaptive.interval(2) == (0.5, 1)
    assert adaptive.interval(1_000) == pytest.approx((3, 3))
    adaptive.on_cycle(2, 1, is_closest=False, group_size=1_000)
    # D1 is at its upper bound, and stays.
    assert adaptive.interval(1_000) == pytest.approx((3, 3.5))
    assert adaptive.interval(100) == pytest.approx((2, 3.5))
    assert adaptive.interval(2) == pytest.approx((0.5, 2))


EVENTS = st.lists(
    st.tuples(st.floats(0, 50), st.floats(0, 50), st.sampled_from("cfn"), st.integers(0, 5_000)),
    max_size=60,
)


@given(st.sampled_from(LAWS), st.booleans(), EVENTS, st.floats(0, 1), st.integers(0, 6))
def test_whatever_happens_the_bounds_hold(
    settings: TimerSettings,
    to_answer: bool,
    events: list[tuple[float, float, str, int]],
    draw: float,
    round_: int,
) -> None:
    adaptive = AdaptiveTimer(settings, for_repairs=to_answer)
    for duplicates, delay, kind, peers in events:
        if kind == "f":
            adaptive.on_sent_first(group_size=peers)
        else:
            adaptive.on_cycle(duplicates, delay, is_closest=kind == "c", group_size=peers)
        group = max(2, peers)
        first, width = adaptive.interval(peers)
        assert 0.5 <= first <= (max(0.5, log10(group)) if to_answer else 2)
        assert 1 <= width <= group
        wait = adaptive.wait_ns(D, group_size=peers, draw=draw, round_=round_)
        assert first * D - 1 <= wait / 2**round_ <= (first + width) * D + 1


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 100_000))
def test_a_higher_draw_never_waits_less(one: float, other: float, group: int) -> None:
    low, high = sorted((one, other))
    adaptive = AdaptiveTimer(TimerSettings())
    assert adaptive.wait_ns(D, group_size=group, draw=low) <= adaptive.wait_ns(
        D, group_size=group, draw=high
    )


# One lost message


QUICK = TimerSettings(law="uniform", ask_first=0.5, ask_width=1.0)


def asking() -> RequestTimer:
    """At 100 ms; drawn in the middle, so waits are 300, 600, 1200 ms and so on."""
    return RequestTimer(AdaptiveTimer(UNIFORM), D, group_size=50, draw=0.5, now=0)


def hear(it: RequestTimer, now: int, *, by_other: bool = True) -> bool:
    return it.on_request(by_other=by_other, group_size=50, draw=0.5, now=now)


def test_it_asks_six_times_each_later_and_then_gives_up() -> None:
    it = asking()
    waits, now = [], 0
    while not it.is_expired:
        waits.append((it.due_at - now) // MILLISECOND)
        now = it.due_at
        assert hear(it, now, by_other=False)
    assert waits == [300, 600, 1_200, 2_400, 4_800, 9_600]
    # For the last answer it waits as long as before the last request.
    assert it.due_at - now == 9_600 * MILLISECOND


@pytest.mark.spec("R6")
def test_requests_at_about_the_same_time_put_it_off_once() -> None:
    it = asking()
    assert hear(it, 50 * MILLISECOND)
    assert (it.round_, it.due_at) == (1, 650 * MILLISECOND)
    for at in (51, 200, 350):
        assert not hear(it, at * MILLISECOND)
    assert (it.round_, it.due_at) == (1, 650 * MILLISECOND)
    assert hear(it, 350 * MILLISECOND + 1)
    assert (it.round_, it.due_at) == (2, 1_550 * MILLISECOND + 1)


@pytest.mark.spec("R6")
def test_one_that_crosses_our_own_request_puts_it_off_no_further() -> None:
    it = asking()
    now = it.due_at
    assert hear(it, now, by_other=False)
    assert not hear(it, now + 20 * MILLISECOND)
    assert (it.round_, it.due_at) == (1, now + 600 * MILLISECOND)


def test_who_named_one_asks_again_as_soon_as_the_answer_could_be_here() -> None:
    it, now, waits = asking(), 0, []
    for _ in range(3):
        now = it.due_at
        it.on_request(by_other=False, group_size=50, draw=0.5, now=now, is_designated=True)
        waits.append((it.due_at - now) // MILLISECOND)
    # There and back are 200 ms; without a name it would be 600 ms and more.
    assert waits == [250, 500, 1_000]


def test_others_leave_it_to_who_named_one() -> None:
    it = RequestTimer(AdaptiveTimer(UNIFORM), D, group_size=50, draw=0.5, now=0)
    it.on_request(by_other=True, group_size=50, draw=0.0, now=0, is_designated=True)
    # Drawn as low as can be it would be 400 ms already: no less than the answer takes.
    assert it.due_at == 400 * MILLISECOND
    quick = RequestTimer(AdaptiveTimer(QUICK), D, group_size=50, draw=0.5, now=0)
    quick.on_request(by_other=True, group_size=50, draw=0.0, now=0, is_designated=True)
    assert quick.due_at == 250 * MILLISECOND


def test_a_small_crowd_draws_evenly() -> None:
    adaptive = AdaptiveTimer(TimerSettings(ask_first=1.0, ask_width=4.0))
    adaptive.effective_group_size = 0.5
    waits = [adaptive.wait_ns(D, group_size=50, draw=draw / 4) // MILLISECOND for draw in range(5)]
    assert waits == [100, 200, 300, 400, 500]
    adaptive.effective_group_size = 100
    assert adaptive.wait_ns(D, group_size=50, draw=0.5) > 400 * MILLISECOND


@given(st.lists(st.tuples(st.integers(0, 10 * SECOND), st.booleans()), max_size=40))
def test_rounds_grow_by_one_at_most_and_end(steps: list[tuple[int, bool]]) -> None:
    it, now = asking(), 0
    for step, by_other in steps:
        before, due_at, now = it.round_, it.due_at, now + step
        if hear(it, now, by_other=by_other):
            assert it.round_ == min(before + 1, 6)
            assert it.due_at > now
        else:
            assert by_other
            assert (it.round_, it.due_at) == (before, due_at)
    assert it.is_expired == (it.round_ == 6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"law": "normal"},
        {"ask_first": 3.0},
        {"first_min": 0.0},
        {"ask_width": 0.5},
        {"rounds_max": 0},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        TimerSettings(**wrong)  # type: ignore[arg-type]
