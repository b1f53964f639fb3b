"""Experiments on a channel: what a file asks for is what happens, and is measured."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.experiment_files import ExperimentFile, find_experiment
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.lab.result import Result
from penstock.metrics.laws.detection import detected_by_any
from tests.experiment_files import TINY, load

CHANNEL = """
id = "t"
title = "t"
source = "t"

[run]
duration_s = 2
warmup_s = 0
drain_s = 12

[channel]
receivers = 3
rate = 200
hops = 2
hop_ms = 4
fixed_ms = 50

[transport]
record = 12

[orderings]
default = { kind = "default", chance = 0.05 }
short = { kind = "constant", latch_ms = 1, record = 12 }
off = { kind = "off" }

[measure]
metrics = [
  "residual", "detection", "fifo_order", "inversions", "late_drops", "delays", "shared_losses",
]

[profiles.quick]
"""


@pytest.fixture
def source(tmp_path: Path) -> ExperimentFile:
    return load(tmp_path, CHANNEL)


def run(source: ExperimentFile, *sets: str) -> Result:
    return run_experiment(source, ExperimentPlan(seeds=[1], processes=1, overrides=sets))


def means(result: Result, name: str) -> dict[str, float]:
    return {metric: found.mean for metric, found in result.variants[name].items()}


def test_the_same_seed_gives_the_same_trace_with_and_without_the_codec(
    source: ExperimentFile,
) -> None:
    plain = run(source)
    assert run(source).trace_hash == plain.trace_hash
    assert run(source, "channel.codec=true").trace_hash == plain.trace_hash
    assert run(source, "channel.hop_ms=5").trace_hash != plain.trace_hash


def test_a_short_latch_lets_more_come_late_and_off_misses_nothing(source: ExperimentFile) -> None:
    result = run(source)
    default, short, off = (means(result, name) for name in ("default", "short", "off"))
    assert default["missing"] == default["missing_came"] > 100
    assert 0 < default["residual"] < 0.1
    assert short["residual"] > 0.5
    assert off["missing"] == 0
    assert "residual" not in off
    # What was overtaken before anything was heard of the publisher, nobody missed.
    late = round(short["residual"] * short["missing_came"])
    assert late <= short["violations"] <= late + 5


def test_losses_of_a_path_are_missed_and_declared(source: ExperimentFile) -> None:
    result = run(source, "channel.loss=0.05")
    missed = means(result, "off")["missed"]
    assert missed == pytest.approx(0.05 * 1200, rel=0.4)
    default = means(result, "default")
    assert default["loss_recall"] > 0.95
    assert default["loss_precision"] > 0.9
    assert default["missing"] == default["missing_came"] + default["losses_right"]


def test_duplicates_and_clocks_that_are_wrong_change_nothing_that_is_delivered(
    source: ExperimentFile,
) -> None:
    plain = means(run(source, "channel.hop_ms=0"), "default")
    for wrong in (
        "channel.duplicates=0.3",
        "channel.clock={offset_ms=-5000, drift_ppm=500}",
        "channel.clock={step_ms=500, step_every_s=0.5}",
    ):
        found = means(run(source, "channel.hop_ms=0", wrong), "default")
        assert found["violations"] == plain["violations"] == 0
        assert found["missing"] == plain["missing"] == 0


def test_receivers_match_as_often_as_they_are_to(source: ExperimentFile) -> None:
    published = 400
    found = means(run(source, "channel.match=0.25", "channel.loss=1"), "off")
    assert found["missed"] / published / 3 == pytest.approx(0.25, abs=4 * 0.43 / sqrt(published))


# Sharing ----------------------------------------------------------------------------------------


def test_nobody_gets_the_last_of_so_many_messages(source: ExperimentFile) -> None:
    result = run(source, "channel.hop_ms=0", "channel.lost_every=20")
    assert means(result, "off")["shared_losses"] == 20
    # All want everything, and the next message tells; after the very last there is none.
    assert means(result, "default")["detected.0"] == pytest.approx(19 / 20)
    assert means(result, "default")["detected.2"] == pytest.approx(19 / 20)


def test_the_curves_of_figure_4_2_are_those_of_the_formula() -> None:
    records = (1, 2, 5, 10, 25)
    names = [f"P05.R{record}" for record in records]
    result = run_experiment(
        find_experiment("M-4.2"), ExperimentPlan(seeds=[1], processes=1, variants=names)
    )
    lost = means(result, "P05")["shared_losses"]
    assert lost == 100
    for record, name in zip(records, names, strict=True):
        for others in (0, 1, 2, 4):
            law = detected_by_any(record, 0.05, 0.01, others=others)
            # The last loss of all is noticed by nobody.
            spread = 4 * sqrt(law * (1 - law) / lost) + 1 / lost
            assert means(result, name)[f"detected.{others}"] == pytest.approx(law, abs=spread)


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("channel.hops=16", "channel.hops = 16"),
        ("channel.correlation=1", "channel.correlation = 1"),
        ("channel.overlap=0.1", "same odds"),
        ("channel.hips=2", "did you mean hops"),
    ],
)
def test_what_is_no_channel_is_refused(source: ExperimentFile, wrong: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(source, wrong)


def test_a_file_has_a_network_or_a_channel_and_not_both(tmp_path: Path) -> None:
    channel = "\n[channel]\nreceivers = 1\nrate = 1\n"
    with pytest.raises(UsageError, match="one of them"):
        load(tmp_path, TINY + channel).experiment  # noqa: B018
    neither = CHANNEL.split("[channel]", maxsplit=1)[0] + "[measure]\nmetrics = []\n"
    with pytest.raises(UsageError, match="one of them"):
        load(tmp_path, neither).experiment  # noqa: B018


def test_a_channel_has_no_clients_of_its_own_and_is_there_for_orderings(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave clients out"):
        load(tmp_path, CHANNEL + "[clients.some]\ncount = 1\n").experiment  # noqa: B018
    bare = CHANNEL.split("[transport]", maxsplit=1)[0] + "[measure]\nmetrics = []\n"
    with pytest.raises(UsageError, match="is for orderings"):
        load(tmp_path, bare).experiment  # noqa: B018


def test_the_file_in_the_document_runs_as_it_stands(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "ordering.md"
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    plain = run(load(tmp_path, text))
    default, literal = means(plain, "default"), means(plain, "literal")
    assert default["residual"] < literal["residual"]
    assert default["loss_precision"] > literal["loss_precision"]
    # What is commented out is right too.
    everything = text.replace("\n# ", "\n")
    assert run(load(tmp_path, everything)).trace_hash != plain.trace_hash
