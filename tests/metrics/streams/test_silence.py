"""For how long hosts get nothing, by hand."""

from __future__ import annotations

import pytest

from penstock.metrics.streams.silence import StreamSilence, longest_silence_ns
from tests.metrics.measured import measure_rows, values_of
from tests.metrics.streams.made import run_of, stream


@pytest.mark.parametrize(
    ("wanted", "delivered", "longest"),
    [
        ([5, 5, 5], [5, 5, 5], 0),
        # Nothing was wanted.
        ([5, 0, 0, 5], [5, 0, 0, 5], 0),
        # It was wanted once, and comes much later.
        ([5, 5, 0, 0, 0], [5, 0, 0, 0, 5], 3),
        ([0, 0, 5, 5], [0, 0, 0, 0], 2),
        ([5, 5, 5, 5, 5], [0, 1, 0, 0, 1], 2),
    ],
)
def test_it_begins_with_a_wanted_message_and_ends_with_one_that_comes(
    wanted: list[int], delivered: list[int], longest: int
) -> None:
    assert longest_silence_ns([1] * len(wanted), wanted, delivered) == longest


def test_the_worst_pubend_of_a_host_counts_in_each_phase() -> None:
    rows = [
        stream(second, "SB1", wanted=5, delivered=0 if second in silent else 5, pubend=pubend)
        for second in range(11)
        for pubend, silent in (("PB-1", {0, 3}), ("PB-2", {5, 6, 7, 8}))
    ]
    rows += [stream(1, "PB", published=5), stream(11, "SB1", wanted=5)]
    phases = {"early": [0, 4], "middle": [4, 7], "late": [8, 10]}
    assert values_of(measure_rows(rows, [StreamSilence], run=run_of(10, phases=phases))) == {
        "stream_silence.SB1": 4,
        "stream_silence.SB1.early": 1,
        "stream_silence.SB1.middle": 3,
        "stream_silence.SB1.late": 0,
    }


def test_without_readers_there_is_nothing() -> None:
    assert not measure_rows([stream(1, "PB", published=5)], [StreamSilence]).values
    assert not measure_rows([], [StreamSilence], recorded=["streams"]).values
