"""The busiest link of runs small enough to see which it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.kernel.instant import SECOND
from penstock.metrics.network.bottleneck import Bottleneck, filled_after
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, values_of
from tests.metrics.network.samples import FULL_BYTES, link

FOUR_SECONDS = replace(
    TEN_SECONDS,
    duration=4 * SECOND,
    measure={"phases": {"first": (0.0, 1.5), "second": (1.5, 4.0), "beyond": (9.0, 10.0)}},
)


def found(rows: list[Row]) -> dict[str, float]:
    return values_of(measure_rows(rows, [Bottleneck], run=FOUR_SECONDS))


def test_the_busiest_link_used_the_largest_part_of_its_bits() -> None:
    rows: list[Row] = []
    for i in range(16):
        rows += [link(i, FULL_BYTES // 2), link(i, FULL_BYTES, name="wide", capacity_bps=10**8)]
        rows.append(link(i, FULL_BYTES, name="unlimited", capacity_bps=None))
    assert found(rows)["bottleneck_use"] == pytest.approx(0.5)


def test_use_counts_bits_when_the_capacity_changes() -> None:
    """D3: the mean of the use in samples would be 0.75."""
    rows: list[Row] = [
        link(i, FULL_BYTES, capacity_bps=1_000_000 if i < 8 else 2_000_000) for i in range(16)
    ]
    told = found(rows)
    assert told["bottleneck_use"] == pytest.approx(16 / 24)
    assert told["bottleneck_use.first"] == pytest.approx(1)
    assert told["bottleneck_use.second"] == pytest.approx(10 / 18)


def test_phases_are_of_the_link_that_is_busiest_in_all() -> None:
    """The other link is full in the first phase, and empty in the second."""
    rows: list[Row] = []
    for i in range(16):
        rows.append(link(i, FULL_BYTES // 2))
        rows.append(link(i, FULL_BYTES if i < 6 else 0, name="other"))
    told = found(rows)
    assert told["bottleneck_use.first"] == pytest.approx(0.5)
    assert told["filled_after.first"] == 1.5
    assert "bottleneck_use.beyond" not in told
    assert "filled_after" not in told


def test_a_link_is_filled_when_half_a_second_is_used_to_95_percent() -> None:
    """It is full from the third sample on: two of them make half a second."""
    rows: list[Row] = [link(i, FULL_BYTES if i >= 2 else 0) for i in range(16)]
    told = found(rows)
    assert told["filled_after.first"] == pytest.approx(1)
    assert told["filled_after.second"] == pytest.approx(0.5)


def test_a_phase_too_short_for_half_a_second_of_samples_uses_all_it_has() -> None:
    assert filled_after(np.ones(1), 0.25) == 0.25
    assert filled_after(np.array([0.9]), 0.25) == 0.25


def test_there_is_no_bottleneck_without_a_limit() -> None:
    assert not found([link(i, FULL_BYTES, capacity_bps=None) for i in range(16)])
    assert not found([])


def test_a_link_that_can_send_nothing_is_not_used() -> None:
    rows: list[Row] = [link(i, capacity_bps=0 if i < 6 else 1_000_000) for i in range(16)]
    told = found(rows)
    assert told["bottleneck_use.first"] == 0
    assert told["filled_after.first"] == 1.5
