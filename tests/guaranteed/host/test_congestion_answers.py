"""What a host answers when it is asked how it is."""

from __future__ import annotations

from math import inf

import pytest

from penstock.guaranteed.host.congestion_answers import Standing, congestion_answers
from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.rate.laws import RateLawName
from penstock.guaranteed.settings import CongestionSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Progress,
)

S = duration_ticks(SECOND)


def query(newest: int, seq: int = 1) -> CongestionQuery:
    return CongestionQuery(pubend=1, seq=seq, newest=newest)


def standing(
    upto: int,
    rate: float = 1.0,
    *,
    is_recovering: bool = False,
    is_attached: bool = True,
    is_linked: bool = True,
) -> Standing:
    return Standing(
        upto=upto,
        is_recovering=is_recovering,
        rate=rate,
        is_attached=is_attached,
        is_linked=is_linked,
    )


@pytest.mark.parametrize("law", ["literal", "corrected"])
@pytest.mark.parametrize(
    ("rate", "is_recovering", "lag_s", "complains"),
    [
        (1.0, False, 0, False),
        (0.96, False, 4, False),
        (0.94, False, 0, True),
        # [G2] Slowly falling behind, without ever being slow.
        (1.0, False, 4.1, True),
        (1.9, True, 100, True),
        (2.0, True, 100, False),
    ],
)
def test_a_host_complains_while_it_is_too_slow(
    law: RateLawName, rate: float, is_recovering: bool, lag_s: float, complains: bool
) -> None:
    answers = congestion_answers(CongestionSettings(rate_law=law), "h")
    upto = 1_000 * S
    newest = upto + round(lag_s * S)
    alert = answers.answer(query(newest), standing(upto, rate, is_recovering=is_recovering), now=0)
    rates = {"recovering_rate" if is_recovering else "normal_rate": rate}
    expected = CongestionAlert(pubend=1, seq=1, position=upto, **rates)
    assert alert == (expected if complains else None)
    assert not complains or min(expected.normal_rate, expected.recovering_rate) < inf


def test_the_gain_that_is_asked_of_a_recovery_can_be_set() -> None:
    settings = CongestionSettings(rate_law="literal", rate=RateSettings(recovery_gain=0.5))
    answers = congestion_answers(settings, "h")
    assert answers.answer(query(0), standing(0, 1.4, is_recovering=True), now=0)
    assert not answers.answer(query(0), standing(0, 1.5, is_recovering=True), now=0)


@pytest.mark.parametrize("law", ["off", "literal", "corrected", "model"])
def test_a_host_at_which_nobody_reads_answers_nothing(law: RateLawName) -> None:
    answers = congestion_answers(CongestionSettings(rate_law=law), "h")
    answers.begin(0, now=0)
    assert answers.answer(query(99 * S), standing(0, 0.1, is_attached=False), now=SECOND) is None


def test_without_a_law_nothing_is_answered() -> None:
    answers = congestion_answers(CongestionSettings(rate_law="off"), "h")
    assert answers.answer(query(99 * S), standing(0, 0.1), now=SECOND) is None


@pytest.mark.parametrize(
    ("law", "answers_at_once"), [("literal", True), ("corrected", False), ("model", False)]
)
def test_a_link_that_is_up_has_to_speak_before_a_host_says_how_it_is(
    law: RateLawName, answers_at_once: bool
) -> None:
    """DCQ overtakes the data: before that comes, a host does not know that it recovers."""
    answers = congestion_answers(CongestionSettings(rate_law=law), "h")
    answers.begin(0, now=0)
    answer = answers.answer(query(99 * S), standing(0, is_linked=False), now=SECOND)
    assert (answer is not None) == answers_at_once


def test_a_report_says_what_was_got_since_the_last() -> None:
    answers = congestion_answers(CongestionSettings(), "h")
    answers.begin(10 * S, now=0)
    answer = answers.answer(query(11 * S), standing(11 * S - 5), now=SECOND)
    assert isinstance(answer, CongestionReport)
    assert answer.normal == Progress(host="h", start=10 * S, stop=11 * S - 5, elapsed_ns=SECOND)
    answer = answers.answer(query(13 * S), standing(12 * S, is_recovering=True), now=3 * SECOND)
    assert isinstance(answer, CongestionReport)
    assert answer.normal is None
    assert answer.recovering == Progress(
        host="h", start=11 * S - 5, stop=12 * S, elapsed_ns=2 * SECOND
    )


def test_a_lag_counts_as_far_as_it_is_above_the_smallest_of_the_last_minutes() -> None:
    answers = congestion_answers(CongestionSettings(), "h")
    answers.begin(0, now=0)

    def over_lag_ms(at_s: int, lag_ms: int, *, is_recovering: bool = False) -> float:
        newest = (at_s + 1_000) * S
        upto = newest - duration_ticks(lag_ms * MILLISECOND)
        how = standing(upto, is_recovering=is_recovering)
        answer = answers.answer(query(newest), how, now=at_s * SECOND)
        assert isinstance(answer, CongestionReport)
        progress = answer.recovering if is_recovering else answer.normal
        assert progress is not None
        return progress.over_lag_ns / MILLISECOND

    assert [over_lag_ms(at, lag) for at, lag in [(1, 300), (2, 250), (3, 700)]] == [0, 0, 450]
    # A recovery is no way to measure the way.
    assert over_lag_ms(4, 5, is_recovering=True) == 0
    assert over_lag_ms(5, 260) == 10
    # The way may be another one in a while.
    assert over_lag_ms(400, 900) == 0


def test_queries_that_come_together_are_answered_once() -> None:
    answers = congestion_answers(CongestionSettings(), "h")
    answers.begin(0, now=0)
    assert answers.answer(query(S, 1), standing(S), now=SECOND) is not None
    assert answers.answer(query(S, 2), standing(S + 5), now=SECOND + MILLISECOND) is None
    answer = answers.answer(query(2 * S, 3), standing(2 * S), now=2 * SECOND)
    assert isinstance(answer, CongestionReport)
    assert answer.normal == Progress(host="h", start=S, stop=2 * S, elapsed_ns=SECOND)


def test_what_is_passed_while_nobody_reads_is_no_part_of_the_next_report() -> None:
    answers = congestion_answers(CongestionSettings(), "h")
    answers.begin(0, now=0)
    assert answers.answer(query(S), standing(S, is_attached=False), now=SECOND) is None
    answer = answers.answer(query(2 * S), standing(2 * S), now=2 * SECOND)
    assert isinstance(answer, CongestionReport)
    assert answer.normal == Progress(host="h", start=S, stop=2 * S, elapsed_ns=SECOND)
