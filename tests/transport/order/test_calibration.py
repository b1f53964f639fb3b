"""Lateness that follows the model is left alone; any other says what it follows."""

from __future__ import annotations

from random import Random

import pytest

from penstock.transport.order.calibration import Calibration


def test_a_model_that_fits_is_kept() -> None:
    rng = Random(1)
    rejections = 0
    for _ in range(50):
        calibration = Calibration()
        for _ in range(1000):
            calibration.on_arrival(rng.random())
        rejections += calibration.law_is_rejected
        if not calibration.law_is_rejected:
            assert calibration.corrected_probability(0.01) == 0.01
    assert rejections == 0


@pytest.mark.parametrize("power", [0.2, 5.0])
def test_a_model_that_does_not_fit_is_corrected(power: float) -> None:
    # u = v^power for even v: P(u < t) = t^(1/power).
    rng = Random(2)
    calibration = Calibration()
    for _ in range(2000):
        calibration.on_arrival(rng.random() ** power)
    assert calibration.law_is_rejected
    for chance in (0.2, 0.05, 0.01):
        share = calibration.corrected_probability(chance) ** (1 / power)
        assert share == pytest.approx(chance, rel=0.5)
    # Below all that was seen, in proportion.
    assert calibration.corrected_probability(1e-5) == pytest.approx(
        calibration.corrected_probability(1e-4) / 10
    )


def test_nothing_is_judged_too_early() -> None:
    calibration = Calibration()
    for _ in range(299):
        calibration.on_arrival(0.001)
    assert not calibration.law_is_rejected
    calibration.on_arrival(0.001)
    assert calibration.law_is_rejected
