"""Experiments on guaranteed streams: what a file asks for is what happens, and is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.builders.streams import broker_settings, parents_of
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from penstock.lab.result import Result
from penstock.lab.schema.guaranteed import StreamControl, StreamsPart
from penstock.lab.single_run import check_buildable
from penstock.trace.records import (
    CrossingSample,
    Edge,
    Host,
    LinkSample,
    QueueSample,
    StreamAlert,
    StreamSample,
)
from penstock.tracefile.reader import TraceReader
from tests.experiment_files import load

STREAMS = """\
id = "t"
title = "t"
source = "t"
[run]
duration_s = 12
warmup_s = 3
drain_s = 0
[streams]
edges = [["PB", "IB"], ["IB", "SB1"], ["IB", "SB2"]]
pubends = { PB = 2 }
hosts = { SB1 = 1, SB2 = 0.4 }
workload = { rate = 20 }
[measure]
metrics = ["stream_rates", "doubt_horizon", "crossings", "links", "queues"]
phases = { early = [0, 6], late = [6, 12] }
[profiles.quick]
"""
LIMITS = """
[[streams.limits]]
link = ["IB", "SB1"]
kb_per_s = 6
to_s = 6
"""
FAILURES = """
[[streams.failures]]
link = ["SB1", "IB"]
from_s = 2
to_s = 5
"""
# Of one direction: DATA of 345 bytes, 40 a second.
FULL_KB = 345 * 40 / 1024


def run(tmp_path: Path, text: str = STREAMS, **options: object) -> Result:
    return run_experiment(load(tmp_path, text), ExperimentPlan(processes=1, **options))  # type: ignore[arg-type]


def build(tmp_path: Path, text: str) -> None:
    (job,) = plan_jobs(load(tmp_path, text), ExperimentPlan())
    check_buildable(job)


def figures(result: Result) -> dict[str, float]:
    return {name: each.mean for name, each in result.variants["off"].items()}


def test_everything_that_is_published_comes_to_those_that_want_it(tmp_path: Path) -> None:
    found = figures(run(tmp_path))
    assert found["publish_rate"] == found["publish_rate.PB"] == pytest.approx(40, abs=1)
    assert found["reading_share.SB1"] == pytest.approx(1, abs=0.01)
    assert found["reading_share.SB2"] == pytest.approx(1, abs=0.02)
    assert found["reading_rate.SB2"] == pytest.approx(0.4 * found["reading_rate.SB1"], rel=0.02)
    assert found["doubt_rate.SB1"] == pytest.approx(1, abs=0.02)
    assert found["crossings_wasted.PB-IB"] == found["crossings_repair.PB-IB"] == 0
    assert found["crossings_first.IB-SB2"] < found["crossings_first.IB-SB1"]


def test_a_limit_holds_for_its_time(tmp_path: Path) -> None:
    found = figures(run(tmp_path, STREAMS + LIMITS))
    assert found["reading_share.SB1.early"] == pytest.approx(6 / FULL_KB, abs=0.05)
    # What has waited comes after it.
    assert found["reading_share.SB1.late"] > 1.4
    assert found["reading_share.SB2.early"] > 0.97
    assert found["queue_peak.IB-SB1"] > 30_000


def test_one_limit_may_follow_another(tmp_path: Path) -> None:
    later = LIMITS.replace("to_s = 6", "from_s = 6").replace("kb_per_s = 6", "kb_per_s = 3")
    # The order in which they are written is of no consequence.
    found = figures(run(tmp_path, STREAMS + later + LIMITS))
    assert found["reading_share.SB1.early"] == pytest.approx(6 / FULL_KB, abs=0.05)
    assert found["reading_share.SB1.late"] == pytest.approx(3 / FULL_KB, abs=0.05)


def test_a_link_that_fails_comes_back_and_what_was_missed_comes(tmp_path: Path) -> None:
    result = run(tmp_path, STREAMS + FAILURES)
    assert result.series["off"]["reading_rate.SB1"][3:5] == [0, 0]
    assert figures(result)["reading_share.SB1"] == pytest.approx(1, abs=0.02)
    assert max(result.series["off"]["doubt_behind.SB1"]) > 2


def test_the_trace_has_hosts_edges_and_samples(tmp_path: Path) -> None:
    run(tmp_path, STREAMS + FAILURES, keep=tmp_path)
    reader = TraceReader(tmp_path)
    name = "t.quick.off.1"
    hosts = {row.host: (row.group, row.role, row.broker) for row in reader.records(Host, name)}
    assert hosts["IB"] == ("", "broker", None)
    assert hosts["writer-PB-2"] == ("writers", "publisher", "PB")
    assert hosts["reader-SB2"] == ("readers", "subscriber", "SB2")
    edges = [(row.start, row.end, row.capacity_bps) for row in reader.records(Edge, name)]
    assert ("PB", "IB", 10**8) in edges
    assert len(edges) == 6
    samples = list(reader.records(StreamSample, name))
    assert {(row.broker, row.pubend) for row in samples} == {
        (broker, pubend) for broker in ("PB", "SB1", "SB2") for pubend in ("PB-1", "PB-2")
    }
    assert len(samples) == 6 * 15
    assert {row.behind_ns is None for row in samples if row.broker == "PB"} == {True}
    links = {row.link for row in reader.records(LinkSample, name)}
    assert links == {row.queue for row in reader.records(QueueSample, name)}
    crossings = list(reader.records(CrossingSample, name))
    assert {row.link for row in crossings} == {"PB-IB", "IB-SB1", "IB-SB2"}
    assert sum(row.necessary_bytes for row in crossings) > 100_000
    alerts = list(reader.records(StreamAlert, name))
    assert {row.broker for row in alerts} <= {"PB"}


def test_the_same_seed_gives_the_same_trace_through_the_codec_too(tmp_path: Path) -> None:
    plain = run(tmp_path, STREAMS + FAILURES)
    assert run(tmp_path, STREAMS + FAILURES).trace_hash == plain.trace_hash
    coded = run(tmp_path, STREAMS + FAILURES, overrides=["streams.codec=true"])
    assert coded.trace_hash == plain.trace_hash
    assert run(tmp_path, STREAMS + FAILURES, seeds=[2]).trace_hash != plain.trace_hash


@pytest.mark.parametrize(
    ("old", "new", "line", "advice"),
    [
        ("{ PB = 2 }", "{ PX = 2 }", 10, "there is no broker 'PX' in streams.edges: choose from"),
        ("SB2 = 0.4", "SB3 = 0.4", 11, "there is no broker 'SB3'"),
        ("SB2 = 0.4", "SB2 = 0.45", 11, "0.45 is no number of tenths"),
        ('["IB", "SB2"]]', '["SB1", "IB"]]', 9, "above themselves"),
        ('["IB", "SB2"]]', '["SB2", "SB2"]]', 9, "its own parent"),
        ('["IB", "SB2"]]', '["IB", "SB1"]]', 9, "there twice"),
        ('["IB", "SB2"]]', '["IB"]]', 9, "length >= 2"),
        ("{ rate = 20 }", "{ rate = 20, message_bytes = 9 }", 12, "takes at least"),
        ("{ rate = 20 }", "{ rat = 20 }", 12, "did you mean rate"),
        ('"IB", "SB1"]\nkb', '"PB", "SB1"]\nkb', 18, "there is no link between PB and SB1"),
        ("to_s = 6", "from_s = 6\nto_s = 6", 18, "it begins at 6 s and ends at 6 s"),
        ("[run]", "[network]\n[run]", None, "write"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, old: str, new: str, line: int | None, advice: str
) -> None:
    text = STREAMS + LIMITS
    assert old in text
    with pytest.raises(UsageError) as failure:
        build(tmp_path, text.replace(old, new))
    assert advice in str(failure.value)
    where = "" if line is None else f"{line}: "
    assert str(failure.value).startswith(f"{tmp_path}/t.toml:{where}")


def test_there_may_be_several_tops(tmp_path: Path) -> None:
    build(tmp_path, STREAMS.replace('["IB", "SB2"]]', '["SB2", "IB"]]').replace("SB1 = 1, ", ""))


def test_streams_have_no_clients_of_a_network(tmp_path: Path) -> None:
    source = load(tmp_path, STREAMS + "[markets.all]\n")
    with pytest.raises(UsageError, match="leave markets out"):
        plan_jobs(source, ExperimentPlan())


def test_parents_come_before_their_children() -> None:
    edges = [["B", "C"], ["A", "B"], ["A", "C"]]
    assert list(parents_of(edges)) == ["A", "B", "C"]
    assert parents_of(edges)["C"] == ["B", "A"]


def test_a_window_or_none_and_both_timers() -> None:
    def host(**control: object) -> object:
        part = StreamsPart(
            edges=[["A", "B"]],
            pubends={"A": 1},
            hosts={"B": 1},
            control=StreamControl(**control),  # type: ignore[arg-type]
        )
        found = broker_settings(part)
        return found.host.nack_window_ns, found.congestion.retry_ns, found.congestion.window_law

    second = 10**9
    assert host() == (60 * second, None, "fixed")
    assert host(window="fixed", window_s=2, retry=6) == (2 * second, 6 * second, "fixed")
    assert host(window="vegas") == (1 * second, None, "vegas")
