"""A loss that thousands share makes few of them ask, and few of the others answer.

The group, its network and the cases are those of `penstock bench storm`; the machines
are the real ones.
"""

from __future__ import annotations

from statistics import fmean

import pytest

from bench import BENCHES, repair_storm
from bench.repair_storm import WARM_AFTER, storm_cases
from bench.repair_storm.group import DEFAULT, LITERAL, Delays, Outcome, StormCase, StormGroup
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds

REQUESTS, REPAIRS = 10, 5


def first_losses(scene: StormCase, groups: int) -> list[Outcome]:
    """Of new groups each."""
    return [StormGroup(scene, Seeds(seed)).lose() for seed in range(groups)]


def means(outcomes: list[Outcome]) -> tuple[float, float]:
    assert not any(outcome.given_up for outcome in outcomes)
    return fmean(o.requests for o in outcomes), fmean(o.repairs for o in outcomes)


@pytest.mark.parametrize("is_star", [False, True], ids=["tree", "star"])
def test_the_first_loss_that_a_thousand_share_is_asked_for_by_few(is_star: bool) -> None:
    """Fails with SRM's uniform law, or if the group is not thought to be large at first."""
    requests, repairs = means(first_losses(StormCase(size=1_000, is_star=is_star), 10))
    assert requests < REQUESTS
    assert repairs < REPAIRS


@pytest.mark.parametrize("is_star", [False, True], ids=["tree", "star"])
def test_hundreds_who_could_answer_for_a_publisher_that_is_gone_hold_their_peace(
    is_star: bool,
) -> None:
    """It is asked for twice: of the publisher, and then of all.

    Fails if those who answer think the group small, or begin with SRM's width, or if
    requests of a later round are ignored as those of the same round are [R6].
    """
    scene = StormCase(size=1_000, publisher_answers=False, is_star=is_star)
    requests, repairs = means(first_losses(scene, 8))
    assert requests < REQUESTS
    assert repairs < REPAIRS


@pytest.mark.parametrize("answers", [True, False], ids=["publisher answers", "publisher gone"])
def test_after_twenty_losses_no_more_ask_than_at_first(answers: bool) -> None:
    """Of the last twenty as well as of the one after them: they adapt, and do not swing."""
    outcomes = list(
        StormGroup(StormCase(size=1_000, publisher_answers=answers), Seeds(1)).losses(
            1 + WARM_AFTER
        )
    )
    requests, repairs = means(outcomes[1:])
    assert requests < REQUESTS
    assert repairs < REPAIRS
    assert outcomes[-1].requests < REQUESTS
    assert outcomes[-1].repairs < REPAIRS


def test_a_group_whose_publisher_is_gone_gets_all_from_one_another() -> None:
    """Where everyone names the publisher in turn, all give up before anyone else is asked."""
    scene = StormCase(size=100, publisher_answers=False, is_star=True)
    for seed in range(4):
        for outcome in StormGroup(scene, Seeds(seed)).losses(5):
            assert not outcome.given_up
            assert outcome.spent_ns < 10 * SECOND


def test_srm_as_it_is_printed_does_storm_on_a_star() -> None:
    """So that it is not the model that keeps everyone silent."""
    scene = StormCase(size=200, settings=LITERAL, publisher_answers=False, is_star=True)
    requests, repairs = means(first_losses(scene, 1))
    assert requests > 50
    assert repairs > 50


@pytest.mark.soak
@pytest.mark.parametrize("answers", [True, False], ids=["publisher answers", "publisher gone"])
def test_ten_thousand_ask_hardly_more_often_than_a_thousand(answers: bool) -> None:
    """Ten times as many are ten times what the law takes the group for: not ten times the cost."""
    many = first_losses(StormCase(size=10_000, publisher_answers=answers), 3)
    few = first_losses(StormCase(size=1_000, publisher_answers=answers), 12)
    assert means(many)[0] < 5 * means(few)[0]
    assert means(many)[1] < 3 * REPAIRS


# The model ---------------------------------------------------------------------------------------


def test_delays_on_the_tree_are_those_that_are_said() -> None:
    delays = Delays(500, Seeds(3), is_star=False)
    rows = [dict(zip(*delays.in_order(me), strict=True)) for me in range(500)]
    flat = [delay for row in rows for delay in row.values()]
    assert 5 * MILLISECOND <= min(flat) < 10 * MILLISECOND
    assert 150 * MILLISECOND < max(flat) <= 200 * MILLISECOND
    assert all(rows[a][b] == rows[b][a] for a in range(20) for b in range(20) if a != b)


def test_all_of_a_star_are_equally_far_away() -> None:
    assert {*Delays(50, Seeds(1), is_star=True).in_order(7)[1]} == {100 * MILLISECOND}


def test_the_same_seed_gives_the_same_storm() -> None:
    scene = StormCase(size=50, publisher_answers=False)
    one, other = (list(StormGroup(scene, Seeds(5)).losses(3)) for _ in range(2))
    assert one == other
    assert one != list(StormGroup(scene, Seeds(6)).losses(3))


def test_it_is_listed_with_all_sizes_both_timers_and_with_and_without_the_publisher() -> None:
    assert "storm" in BENCHES
    listed = {(s.size, s.settings is DEFAULT, s.publisher_answers) for s in storm_cases()}
    assert len(listed) == 16
    assert {size for size, _, _ in listed} == {10, 100, 1_000, 10_000}


def test_the_benchmark_prints_means_and_the_most_cold_and_warm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repair_storm, "SIZES", (10,))
    monkeypatch.setattr(repair_storm, "STAR_SIZES", ())
    monkeypatch.setattr(repair_storm, "RUNS", {10: 2})
    notes: list[str] = []
    result = repair_storm.run(notes.append)
    assert notes[:2] == [
        "10, default, publisher answers: group 1 of 2",
        "10, default, publisher answers: group 1 of 2, loss 1 of 21",
    ]
    # Four scenes, cold and warm, five figures of each.
    assert len(result.cases) == 4 * 2 * 5
    metrics = {case.metric for case in result.cases}
    assert metrics == {
        "requests, mean", "requests, most", "repairs, mean", "repairs, most", "last repaired",
    }  # fmt: skip
