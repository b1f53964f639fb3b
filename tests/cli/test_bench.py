"""Benchmarks on the command line: what they say while they run."""

from __future__ import annotations

import pytest

from penstock.bench import storm
from penstock.bench.storm.group import LITERAL, StormCase
from penstock.cli.bench import _Progress


def test_a_log_hears_at_once_and_then_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = 100.0
    progress = _Progress(lambda: now_s)
    for now_s in (100.0, 101.0, 109.0, 110.0, 111.0):
        progress(f"at {now_s:g}")
    assert capsys.readouterr().err.splitlines() == ["at 100 …", "at 110 …"]


def test_a_storm_tells_of_itself_before_its_first_loss_is_over() -> None:
    said: list[str] = []
    scene = StormCase(size=100, settings=LITERAL, publisher_answers=False, is_star=True)
    storm.measure(said.append, scene, 1, 1)
    first, *between, last = said
    assert first.endswith("group 1 of 1")
    assert between
    assert all("so far" in line for line in between)
    assert last.endswith("loss 1 of 1")
