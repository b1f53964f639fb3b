"""What links sent and lost, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.kernel.instant import SECOND
from penstock.metrics.network.links import Links
from penstock.metrics.results import Results
from penstock.metrics.tally import Tally
from penstock.trace.records import Row
from tests.metrics.measured import TEN_SECONDS, measure_rows, measurement_of, series_of, values_of
from tests.metrics.network.samples import FULL_BYTES, link

TWO_SECONDS = replace(TEN_SECONDS, duration=2 * SECOND)


def found(rows: list[Row]) -> dict[str, float]:
    return values_of(measure_rows(rows, [Links], run=TWO_SECONDS, recorded=["links"]))


def test_packets_of_all_links_add_up_by_reason() -> None:
    rows: list[Row] = [
        link(0, packets=5, lost=1),
        link(0, packets=7, name="B2-B1", down=2, corrupt=3),
        link(1, packets=1, queue_full=4),
        # After the experiment.
        link(100, packets=10, lost=1),
    ]
    told = found(rows)
    assert told["link_packets"] == 23
    assert told["loss_packets"] == 2
    assert told["down_packets"] == 2
    assert told["corrupt_packets"] == 3
    assert told["queue_full_packets"] == 4


def test_a_table_without_rows_counts_nothing() -> None:
    told = found([])
    assert told.pop("overload_from") == 2
    assert len(told) == 5
    assert not any(told.values())


def test_nothing_is_reported_of_links_that_were_not_recorded() -> None:
    assert not measure_rows([], [Links]).values


def test_overload_begins_with_the_first_packet_dropped_by_a_full_queue() -> None:
    rows: list[Row] = [link(i, queue_full=int(i >= 2)) for i in range(8)]
    assert found(rows)["overload_from"] == 0.75
    later = replace(TWO_SECONDS, origin=SECOND)
    assert values_of(measure_rows(rows, [Links], run=later))["overload_from"] == 0


def test_the_use_of_a_link_is_bits_sent_by_bits_possible() -> None:
    """D3: a mean of the use in samples would be 0.75."""
    rows: list[Row] = [
        link(0, FULL_BYTES),
        link(1, FULL_BYTES, capacity_bps=2_000_000),
        # Before and after the experiment.
        link(-1, FULL_BYTES),
        link(8, FULL_BYTES),
    ]
    rows.sort(key=lambda row: getattr(row, "sampled_ns", 0))
    assert found(rows)["link_use.B1-B2"] == pytest.approx(2 / 3)


def test_a_link_without_a_limit_has_no_use() -> None:
    """D3: its capacity is not one bit a second."""
    rows: list[Row] = [link(0, FULL_BYTES, capacity_bps=None), link(0, 0, name="idle")]
    told = found(rows)
    assert "link_use.B1-B2" not in told
    assert told["link_use.idle"] == 0


def test_links_that_were_ever_half_used_have_series() -> None:
    rows: list[Row] = [
        row
        for i in range(8)
        for row in (
            link(i, FULL_BYTES // 2 if i < 4 else 0),
            link(i, FULL_BYTES // 2 - 1, name="quiet"),
        )
    ]
    results = measure_rows(rows, [Links], run=TWO_SECONDS)
    assert {key.flat for key in results.series} == {"link_kbps.B1-B2", "link_capacity_kbps.B1-B2"}
    assert series_of(results, "link_kbps.B1-B2") == pytest.approx([500, 0])
    assert series_of(results, "link_capacity_kbps.B1-B2") == [1000, 1000]


def test_seconds_without_a_sample_are_left_out_of_series() -> None:
    rows: list[Row] = [link(i, FULL_BYTES) for i in range(4, 8)]
    results = measure_rows(rows, [Links], run=TWO_SECONDS)
    (kbps,) = (series for key, series in results.series.items() if key.metric == "link_kbps")
    assert kbps.seconds.tolist() == [1]


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_batches_of_any_size_and_parts_without_links_change_nothing(batch_rows: int) -> None:
    rows: list[Row] = [
        link(i, FULL_BYTES * i // 8, name=f"B{i % 3}", queue_full=i // 5) for i in range(8)
    ]
    whole = measure_rows(rows, [Links], run=TWO_SECONDS)
    parts = [
        measurement_of(part, [Links], run=TWO_SECONDS, recorded=["links"], batch_rows=batch_rows)
        for part in ([], rows)
    ]
    tally = Tally()
    for part in parts:
        tally.merge(*part.tallies())
    out = Results("test", Links.OUTPUTS)
    Links.report(tally, parts[0].run, out)
    assert out.values == pytest.approx(whole.values)
    assert out.series.keys() == whole.series.keys()
