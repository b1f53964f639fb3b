"""The paper's law, literal and corrected, against the vectors of its errata."""

from __future__ import annotations

import pytest

from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.rate.corrected import CorrectedRate
from penstock.guaranteed.rate.literal import LiteralRate
from penstock.guaranteed.rate.steps import Steps
from penstock.kernel.instant import SECOND
from penstock.wire.frames.guaranteed.congestion import CongestionAlert

SETTINGS = RateSettings()
MUCH = 1e9


def alert(seq: int, rate: float, position: int = 0) -> CongestionAlert:
    return CongestionAlert(pubend=1, seq=seq, normal_rate=rate, position=position)


def walk(rate: float, after_decrease: float, moves: str) -> list[float]:
    """The rates behind each move: D is a decrease, I an increase."""
    steps = Steps(SETTINGS)
    steps.rate, steps._after_decrease = rate, after_decrease
    found = []
    for move in moves:
        (steps.decrease if move == "D" else steps.increase)(MUCH)
        assert steps.rate is not None
        found.append(steps.rate)
    return found


@pytest.mark.spec("G3")
@pytest.mark.parametrize(
    ("rate", "after_decrease", "moves", "expected"),
    [
        (500, 0, "DDDIIIIID", [250, 125, 62.5, 64.5, 66.5, 68.5, 70.5, 72.5, 65]),
        (
            125,
            125,
            "DIIIIDIIIDD",
            [62.5, 64.5, 66.5, 68.5, 70.5, 64.5, 66.5, 68.5, 70.5, 66, 33],
        ),
    ],
)
def test_steps_up_and_down(
    rate: float, after_decrease: float, moves: str, expected: list[float]
) -> None:
    assert walk(rate, after_decrease, moves) == pytest.approx(expected)


def test_steps_grow_only_far_above_the_last_decrease() -> None:
    found = walk(100, 100, "I" * 40)
    picked = [found[step - 1] for step in (1, 2, 20, 21, 22, 25, 30, 40)]
    expected = [102, 104, 140, 142, 144.1, 151.051, 165.156, 206.132]
    assert picked == pytest.approx(expected, abs=1e-3)


def test_from_250_to_500_it_takes_58_increases() -> None:
    steps = Steps(SETTINGS)
    steps.rate = steps._after_decrease = 250
    rates: list[float | None] = []
    for _ in range(58):
        steps.increase(500)
        rates.append(steps.rate)
    assert rates.index(None) == 57


def test_a_sawtooth_below_a_capacity_narrows() -> None:
    steps = Steps(SETTINGS)
    steps.rate = steps._after_decrease = 125
    lows = []
    for _ in range(10):
        steps.decrease(MUCH)
        assert steps.rate is not None
        lows.append(steps.rate)
        while steps.rate <= 100:
            steps.increase(MUCH)
    assert lows == pytest.approx([62.5, 72, 79.5, 85, 89, 92, 94.5, 96, 97.5, 98.5])


def test_an_alert_of_an_earlier_query_lowers_nothing_again() -> None:
    law = LiteralRate(SETTINGS)
    law.on_query(1, 100)
    law.on_alert(alert(1, 0.5), demand=500, now=0)
    assert law.rate == 250
    law.on_alert(alert(1, 0.4), demand=500, now=0)
    assert law.rate == 250
    law.on_query(2, 200)
    law.on_alert(alert(2, 0.4), demand=500, now=SECOND)
    assert law.rate == 125


@pytest.mark.spec("G9")
def test_while_things_get_better_nothing_is_lowered() -> None:
    law = LiteralRate(SETTINGS)
    for seq, rate in enumerate((0.3, 0.5, 0.6, 0.55), 1):
        law.on_query(seq, seq)
        law.on_alert(alert(seq, rate), demand=400, now=seq * SECOND)
    assert law.rate == 100


def test_without_alerts_the_rate_rises_to_what_publishers_want() -> None:
    law = LiteralRate(SETTINGS)
    law.on_query(1, 1)
    law.on_alert(CongestionAlert(pubend=1, seq=1, recovering_rate=1.5), demand=8, now=0)
    rates: list[float | None] = []
    for second in range(1, 9):
        law.wake(demand=8, now=second * SECOND, is_drained=True)
        rates.append(law.rate)
    assert rates == [4, 6, 6, None, None, None, None, None]


def test_the_corrected_law_waits_until_the_last_decrease_has_arrived() -> None:
    law = CorrectedRate(SETTINGS)
    law.on_query(1, 1_000)
    law.on_alert(alert(1, 0.5, 400), demand=500, now=0)
    assert law.rate == 250
    law.on_query(2, 2_000)
    law.on_alert(alert(2, 0.4, 999), demand=500, now=SECOND)
    assert law.rate == 250
    law.on_query(3, 3_000)
    law.on_alert(
        alert(3, 0.4, 1_000),
        demand=500,
        now=2 * SECOND,
    )
    assert law.rate == 125


def test_the_corrected_law_forgets_how_bad_it_was_long_ago() -> None:
    law = CorrectedRate(SETTINGS)
    law.on_alert(alert(1, 0.1), demand=500, now=0)
    law.on_alert(alert(2, 0.8), demand=500, now=SECOND)
    assert law.rate == 250
    law.on_alert(alert(5, 0.9), demand=500, now=5 * SECOND)
    assert law.rate == 125


def test_no_rate_is_ever_zero() -> None:
    steps = Steps(SETTINGS)
    for _ in range(20):
        steps.decrease(0)
    assert steps.rate == 1
