"""A link that bears less than is published: what is lost with and without control."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.lab.load import Source
from penstock.lab.perform import Plan, perform
from tests.lab.test_load import load

DUMBBELL = """
id = "t"
title = "one publisher, one subscriber, half a megabit between them"
source = "003 §5.3.2, made short"

[run]
duration_s = 12
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
metrics = ["rates", "links"]
phases = { late = [6, 12] }

[variants.off]

[variants.default]
transport.congestion.kind = "default"

[variants.literal]
transport.congestion.kind = "literal"

[variants.window]
transport.congestion.kind = "window"

[profiles.quick]
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return load(tmp_path, DUMBBELL)


def test_much_less_is_lost_and_the_link_stays_busy(source: Source) -> None:
    result = perform(source, Plan(seeds=[1]))
    lost = {
        name: result.variants[name]["false_negative_ratio.late"].mean
        for name in ("off", "default", "literal", "window")
    }
    assert lost["off"] > 0.2
    assert lost["default"] < lost["off"] / 20
    assert lost["literal"] < lost["off"]
    # The dissertation's takes every loss for an event, and long to recover from the first ones.
    assert result.variants["default"]["bottleneck_use.late"].mean > 0.9
    assert lost["window"] < lost["off"] / 10
    assert result.variants["window"]["bottleneck_use.late"].mean > 0.9


@pytest.mark.parametrize("kind", ["default", "window"])
def test_the_same_again_and_with_the_codec_in_the_path(source: Source, kind: str) -> None:
    sets = ["run.duration_s=4", "measure.phases.late=[2, 4]"]
    one, again, coded = [
        perform(source, Plan(seeds=[1], variants=[kind], sets=[*sets, *more]))
        for more in ((), (), ("network.codec=true",))
    ]
    assert again.trace_hash == one.trace_hash
    assert coded.trace_hash == one.trace_hash


def test_a_link_changes_its_rate(tmp_path: Path) -> None:
    change = 'changes = [{ between = ["B1", "B2"], at_s = 6, rate_mbps = 5 }]\n'
    text = DUMBBELL.replace("[markets.all]", change + "\n[markets.all]")
    result = perform(load(tmp_path, text), Plan(seeds=[1], variants=["off"]))
    assert result.variants["off"]["false_negative_ratio.late"].mean < 0.05
    assert result.variants["off"]["false_negative_ratio"].mean > 0.1


def test_a_link_that_is_not_there_is_refused(tmp_path: Path) -> None:
    change = 'changes = [{ between = ["B1", "B3"], at_s = 6, rate_mbps = 5 }]\n'
    text = DUMBBELL.replace("[markets.all]", change + "\n[markets.all]")
    with pytest.raises(UsageError, match=r"t\.toml:\d+: there is no link between B1 and B3"):
        perform(load(tmp_path, text), Plan(seeds=[1], variants=["off"]))
