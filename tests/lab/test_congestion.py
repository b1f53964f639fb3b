"""A link that bears less than is published: what is lost with and without control."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.trace.records import Expected, Feedback, FlowSample, LinkSample, Publication
from penstock.tracefile.reader import TraceReader
from tests.experiment_files import load

DUMBBELL = """
id = "t"
title = "one publisher, one subscriber, half a megabit between them"
source = "003 §5.3.2, made short"

[run]
duration_s = 8
drain_s = 2

[network]
topology = { shape = "line", size = 2 }
link = { rate_mbps = 0.5, delay_ms = 10, queue_bytes = 15_000 }

[markets.all]
hot = 10
cold = 0
hot_share = 1
attributes = 3
payload_bytes = 150

[clients.publishers]
count = 1
at = ["B1"]
publish = { market = "all", rate = { kind = "constant", rate = 1000 } }

[clients.subscribers]
count = 1
at = ["B2"]
subscribe = { all = 0.5 }

[transport]
record = 2

[orderings.ordered]
kind = "default"

[measure]
metrics = ["received", "false_negatives", "source_fates", "links", "bottleneck", "queues"]
phases = { late = [4, 8] }

[variants.off]

[variants.default]
transport.congestion.kind = "default"

[variants.literal]
transport.congestion.kind = "literal"

[variants.window]
transport.congestion.kind = "window"

[variants.marked]
transport.congestion.kind = "default"
network.broker.mark_above = 0.5

[profiles.quick]
"""


@pytest.fixture
def source(tmp_path: Path) -> ExperimentFile:
    return load(tmp_path, DUMBBELL)


def test_much_less_is_lost_and_the_link_stays_busy(source: ExperimentFile) -> None:
    result = run_experiment(source, ExperimentPlan(seeds=[1]))
    lost = {
        name: result.variants[name]["false_negative_ratio.late"].mean
        for name in ("off", "default", "literal", "window", "marked")
    }
    assert lost["off"] > 0.2
    assert lost["default"] < lost["off"] / 20
    assert lost["literal"] < lost["off"]
    # The dissertation's takes every loss for an event, and long to recover from the first ones.
    assert result.variants["default"]["bottleneck_use.late"].mean > 0.9
    assert lost["window"] < lost["off"] / 10
    assert result.variants["window"]["bottleneck_use.late"].mean > 0.9
    # Marks come before losses do.
    assert lost["marked"] < lost["off"] / 50
    assert result.variants["marked"]["bottleneck_use.late"].mean > 0.85


@pytest.mark.parametrize("kind", ["default", "window", "marked"])
def test_the_same_again_and_with_the_codec_in_the_path(source: ExperimentFile, kind: str) -> None:
    sets = ["run.duration_s=4", "measure.phases.late=[2, 4]"]
    one, again, coded = [
        run_experiment(source, ExperimentPlan(seeds=[1], variants=[kind], overrides=[*sets, *more]))
        for more in ((), (), ("network.codec=true",))
    ]
    assert again.trace_hash == one.trace_hash
    assert coded.trace_hash == one.trace_hash


def test_a_link_changes_its_rate(tmp_path: Path) -> None:
    change = 'changes = [{ between = ["B1", "B2"], at_s = 4, rate_mbps = 5 }]\n'
    text = DUMBBELL.replace("[markets.all]", change + "\n[markets.all]")
    result = run_experiment(load(tmp_path, text), ExperimentPlan(seeds=[1], variants=["off"]))
    assert result.variants["off"]["false_negative_ratio.late"].mean < 0.05
    assert result.variants["off"]["false_negative_ratio"].mean > 0.1


def test_the_trace_tells_what_publishers_hold_back_and_links_bear(tmp_path: Path) -> None:
    change = 'changes = [{ between = ["B1", "B2"], at_s = 2, rate_mbps = 0.25 }]\n'
    text = DUMBBELL.replace("[markets.all]", change + "\n[markets.all]")
    sets = ["run.duration_s=4", "run.drain_s=0", "measure.phases.late=[2, 4]"]
    sets += ["transport.congestion.queue=100", 'measure.metrics=["source_fates", "fairness"]']
    keep = tmp_path / "traces"
    plan = ExperimentPlan(seeds=[1], variants=["default"], overrides=sets, keep=keep)
    result = run_experiment(load(tmp_path, text), plan)
    trace = TraceReader(keep)
    [run] = trace.run_ids()
    rows = list(trace.records(Publication, run))
    figures = {name: figure.mean for name, figure in result.variants["default"].items()}

    sent = [row for row in rows if row.published_ns is not None]
    assert [row.seq for row in sent] == list(range(len(sent)))
    held = [row for row in sent if row.fate == "rate_limited"]
    assert all((row.offered_ns < (row.published_ns or 0)) == (row in held) for row in sent[:500])
    dropped = [row for row in rows if row.fate == "dropped_at_source"]
    waiting = [row for row in rows if row.fate == "rate_limited" and row.published_ns is None]
    assert all(row.seq is None and row.published_ns is None for row in dropped)
    assert 0 < len(waiting) <= 100, "what still waits at the end"
    # Nothing is told twice, and nothing is forgotten: 1000 a second are published.
    assert len(rows) == pytest.approx(4000, abs=1)
    assert len(sent) + len(dropped) + len(waiting) == len(rows)
    told = [figures[name] for name in ("sent", "rate_limited", "dropped_at_source")]
    assert told == [len(sent), len(held), len(dropped)]
    assert min(told) > 0

    flows = list(trace.records(FlowSample, run))
    assert {row.publisher for row in flows} == {"publishers-1"}
    assert {row.limited_by for row in flows} <= {"subscribers-1", None}
    assert {row.flow for row in flows} == {row.flow for row in trace.records(Feedback, run)}
    assert any(row.queued_messages for row in flows)
    # What leaves of flows is what leaves for the subscriber, once all are controlled.
    last = max(row.sampled_ns for row in flows)
    wanted = [
        row for row in trace.records(Expected, run) if last - SECOND < row.published_ns <= last
    ]
    assert sum(row.sent_mps for row in flows if row.sampled_ns == last) == len(wanted)

    rates = [row.capacity_bps for row in trace.records(LinkSample, run) if row.link == "B1-B2"]
    changed = rates.index(250_000)
    assert set(rates[:changed]) == {500_000}
    samples = [row for row in trace.records(LinkSample, run) if row.link == "B1-B2"]
    # The first second at the new rate, by the clock of the run.
    began = samples[changed].sampled_ns - samples[changed].period_ns
    assert samples[-1].sampled_ns - began == 2 * SECOND
    assert figures["bottleneck_use.late"] <= 1.01


def test_a_link_that_is_not_there_is_refused(tmp_path: Path) -> None:
    change = 'changes = [{ between = ["B1", "B3"], at_s = 4, rate_mbps = 5 }]\n'
    text = DUMBBELL.replace("[markets.all]", change + "\n[markets.all]")
    with pytest.raises(UsageError, match=r"t\.toml:\d+: there is no link between B1 and B3"):
        run_experiment(load(tmp_path, text), ExperimentPlan(seeds=[1], variants=["off"]))
