"""A TCP connection beside messages: alone it fills the link, together they share it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.experiment import Experiment
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.experiment_runner import ExperimentPlan, run_experiment
from penstock.trace.records import Drop
from penstock.tracefile.reader import TraceReader
from tests.experiment_files import load

SHARED = """
id = "t"
title = "a connection and a publisher share a megabit"
source = "003 §5.3.4, made short"

[run]
duration_s = 10
warmup_s = 2
drain_s = 1
sample_s = 0.1

[network]
topology = { shape = "line", size = 2 }
link = { rate_mbps = 1, delay_ms = 10, queue_bytes = 15_000 }

[markets.all]
hot = 4
cold = 0
hot_share = 1
attributes = 2
payload_bytes = 150

[clients.publishers]
count = 1
at = ["B1"]
publish = { market = "all", rate = { kind = "constant", rate = 200 } }

[clients.subscribers]
count = 1
at = ["B2"]
subscribe = { all = 1 }

[tcp.beside]
between = ["B1", "B2"]
start_s = 2
stop_s = 8

[measure]
metrics = [
  "received", "false_negatives", "source_fates", "links", "bottleneck", "queues", "tcp_sharing",
]
phases = { before = [0, 2], both = [4, 8], after = [9, 10] }

[profiles.quick]
"""
ONE = 'between = ["B1", "B2"]'


@pytest.fixture
def source(tmp_path: Path) -> ExperimentFile:
    return load(tmp_path, SHARED)


def figures(source: ExperimentFile, *sets: str) -> dict[str, float]:
    result = run_experiment(source, ExperimentPlan(seeds=[1], overrides=sets, processes=1))
    return {name: figure.mean for name, figure in result.variants["off"].items()}


@pytest.mark.parametrize("algorithm", ["newreno", "cubic"])
def test_what_messages_leave_is_the_connections(source: ExperimentFile, algorithm: str) -> None:
    found = figures(source, f"tcp.beside.algorithm={algorithm}")
    assert found["tcp_kbps.beside.before"] == found["tcp_kbps.beside.after"] == 0
    # Messages are not slowed down; what they leave is used up to a tenth of the link.
    offered = found["content_kbps.before"]
    assert found["content_kbps.both"] == pytest.approx(offered, rel=0.1)
    assert 900 - offered < found["tcp_kbps.beside.both"] <= 1000 - 0.9 * offered
    ahead = found["tcp_kbps.beside.both"] - found["content_kbps.both"]
    assert found["share_difference.both"] == pytest.approx(ahead / 1000)
    assert found["tcp_risen_after.beside"] < 2


def test_alone_it_gets_the_link(source: ExperimentFile) -> None:
    found = figures(source, "clients.publishers.publish.rate.rate=0")
    assert found["tcp_kbps.beside.both"] > 950
    # Brokers go on telling one another that they are there.
    assert 0 < found["content_kbps.both"] < 20


def test_two_connections_share_the_link_evenly(source: ExperimentFile) -> None:
    second = 'tcp.other={ between = ["B1", "B2"], start_s = 2 }'
    found = figures(source, second, "clients.publishers.publish.rate.rate=0")
    rates = [found["tcp_kbps.beside.both"], found["tcp_kbps.other.both"]]
    assert sum(rates) > 950
    assert max(rates) < 2 * min(rates)
    assert found["tcp_kbps.other.after"] > 900


def test_the_other_way_it_meets_no_messages(source: ExperimentFile) -> None:
    found = figures(source, 'tcp.beside.between=["B2", "B1"]')
    assert found["tcp_kbps.beside.both"] > 950
    assert found["deliveries"] == found["expected"]


def test_the_same_again_and_with_the_codec_in_the_path(source: ExperimentFile) -> None:
    one, again, coded = [
        run_experiment(source, ExperimentPlan(seeds=[1], overrides=sets, processes=1)).trace_hash
        for sets in ((), (), ("network.codec=true",))
    ]
    assert one == again == coded


def test_messages_do_not_notice_one_that_has_not_begun(
    source: ExperimentFile, tmp_path: Path
) -> None:
    late = ("tcp.beside.start_s=9.5", "tcp.beside.stop_s=9.6")
    without = load(tmp_path, SHARED.replace("[tcp.beside]", "[tcp.none]"))
    quiet = figures(without, "tcp.none.start_s=9.5", "tcp.none.stop_s=9.6")
    assert figures(source, *late)["deliveries.both"] == quiet["deliveries.both"]


def test_dropped_segments_are_told_as_such(source: ExperimentFile, tmp_path: Path) -> None:
    run_experiment(source, ExperimentPlan(seeds=[1], processes=1, keep=tmp_path / "traces"))
    reader = TraceReader(tmp_path / "traces")
    drops = [d for d in reader.records(Drop, "t.quick.off.1") if d.traffic_class == "tcp"]
    assert {(drop.where, drop.size_bytes, drop.publisher) for drop in drops} == {
        ("B1-B2", 1500, None)
    }


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (ONE, 'between = ["B1", "B3"]', "there is no link between B1 and B3: name two neighbours"),
        (ONE, 'between = ["B1", "B1"]', "there is no link between B1 and B1: name two neighbours"),
        ("stop_s = 8", "stop_s = 1", "it begins at 2 s and ends at 1 s: let it begin before"),
        ("start_s = 2\nstop_s = 8", "start_s = 11", "it begins at 11 s and ends at 10 s"),
        (
            ONE,
            f'{ONE}\nalgorithm = "vegas"',
            "tcp.beside.algorithm = 'vegas': choose from newreno",
        ),
        (ONE, f"{ONE}\nmss = 1", "tcp.beside.mss is no key"),
        (ONE, f"{ONE}\nsegment_bytes = 7", "tcp.beside.segment_bytes = 7"),
        (ONE, "", "tcp.beside.between is missing"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, error: str
) -> None:
    assert old in SHARED
    with pytest.raises(UsageError, match=rf"t\.toml:\d+: {error}"):
        run_experiment(
            load(tmp_path, SHARED.replace(old, new)), ExperimentPlan(seeds=[1], processes=1)
        )


def test_a_channel_has_none(tmp_path: Path) -> None:
    assert "tcp" in Experiment.__struct_fields__
    text = SHARED[: SHARED.index("[network]")] + (
        '[channel]\nreceivers = 1\nrate = 10\n[orderings.off]\nkind = "off"\n'
    )
    text += SHARED[SHARED.index("[tcp.beside]") :].replace(', "links", "tcp"', "")
    with pytest.raises(UsageError, match="a channel has a workload of its own: leave tcp out"):
        run_experiment(load(tmp_path, text), ExperimentPlan(seeds=[1], processes=1))
