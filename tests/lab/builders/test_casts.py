"""Experiments on casts: what a file asks for is what happens, and is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from penstock.lab.single_run import check_buildable
from penstock.trace.cast_words import CastPart
from penstock.trace.records import CastNodeTotal, CastReport, CastTransfer, Edge, Host
from penstock.tracefile.reader import TraceReader
from tests.experiment_files import load

CASTS = """\
id = "t"
title = "t"
source = "t"
[run]
duration_s = 20
warmup_s = 3
drain_s = 0
[casts]
routers = 12
subscribers = 5
packets = 400
packets_per_s = 400
loss.reported = 0.2
[measure]
metrics = ["cast_completion", "cast_nodes"]
[profiles.quick]
"""


def build(tmp_path: Path, text: str) -> None:
    (job,) = plan_jobs(load(tmp_path, text), ExperimentPlan())
    check_buildable(job)


def kept(tmp_path: Path, text: str = CASTS, seed: int = 1) -> TraceReader:
    plan = ExperimentPlan(processes=1, seeds=[seed], keep=tmp_path / "traces")
    run_experiment(load(tmp_path, text), plan)
    return TraceReader(tmp_path / "traces")


def transfers(reader: TraceReader) -> list[CastTransfer]:
    (run_id,) = reader.run_ids()
    return list(reader.records(CastTransfer, run_id))


def test_everybody_gets_everything_and_it_is_recorded(tmp_path: Path) -> None:
    reader = kept(tmp_path)
    (run_id,) = reader.run_ids()
    rows = transfers(reader)
    assert sorted(row.subscriber for row in rows) == [f"host{i}" for i in range(5)]
    assert all(row.sent_packets == 400 and row.publisher == "publisher" for row in rows)
    assert all(row.completed_ns is not None for row in rows)
    assert {row.asked_ns for row in rows} == {3 * 10**9}
    nodes = list(reader.records(CastNodeTotal, run_id))
    assert len(nodes) == len(list(reader.records(Host, run_id))) == 12 + 5 + 1
    assert [row.part for row in nodes].count(CastPart.SUBSCRIBER) == 5
    assert {row.delay_ns for row in reader.records(Edge, run_id)} == {5_000_000}
    assert list(reader.records(CastReport, run_id))


def test_a_run_that_is_too_short_says_who_has_not_finished(tmp_path: Path) -> None:
    rows = transfers(kept(tmp_path, CASTS.replace("duration_s = 20", "duration_s = 0.7")))
    assert [row.completed_ns for row in rows] == [None] * 5
    assert all(0 < row.missed_packets < 400 for row in rows)


def test_one_graph_moves_the_publisher_alone(tmp_path: Path) -> None:
    text = CASTS.replace("[casts]", "[casts]\ngraph_seed = 3")
    edges = []
    for seed in (1, 2):
        place = tmp_path / str(seed)
        place.mkdir()
        reader = kept(place, text, seed)
        (run_id,) = reader.run_ids()
        edges.append({(row.start, row.end) for row in reader.records(Edge, run_id)})
    differ = edges[0] ^ edges[1]
    assert differ
    assert all("publisher" in link for link in differ)


def test_those_who_are_late_ask_half_way(tmp_path: Path) -> None:
    rows = transfers(
        kept(tmp_path, CASTS.replace("[measure]", "[casts.late]\nshare = 0.4\n[measure]"))
    )
    late = [row for row in rows if row.asked_ns > row.began_ns]
    assert [row.subscriber for row in late] == ["host3", "host4"]
    assert all(abs(row.asked_ns - row.began_ns - 500_000_000) < 1_000 for row in late)
    assert all(row.completed_ns is not None for row in rows)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loss.reported = 0.2", "loss = { reported = 0.2, path = 0.1 }", "leave one out"),
        ("loss.reported = 0.2", "late = { share = 0.01 }", "0 of 5"),
        ("loss.reported = 0.2", "late = { share = 1 }", "5 of 5"),
        ("loss.reported = 0.2", "failure = { after_s = 20 }", "let the relay die before"),
        ("packets = 400", "packets = 1.5", "packets = 1.5: write a whole number$"),
        ("subscribers = 5", "subscribers = 0", "subscribers"),
        ("[measure]", "[channel]\nreceivers = 1\nrate = 1\n[measure]", "write one of them"),
        ("[measure]", "[clients.c]\ncount = 1\n[measure]", "leave clients out"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(tmp_path, CASTS.replace(old, new))
