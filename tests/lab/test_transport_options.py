"""Several orderings in one run: what they are set to, what they see, what results call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.lab.experiment import Experiment
from penstock.lab.experiment_files import ExperimentFile
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs, run_experiment
from penstock.lab.result_names import orderings_by_variant, result_names, with_only_orderings
from penstock.lab.schema.transport import Ordering, TransportPart
from penstock.lab.transport_options import endpoint_settings, ordering_settings
from penstock.trace.records import Arrival, Delivery, Loss
from penstock.tracefile.reader import TraceReader
from penstock.transport.order.latch import ConditionalLatch, ConstantLatch, LiteralLatch
from penstock.transport.settings import DEFAULT, OFF
from tests.experiment_files import TINY, load
from tests.lab.test_experiment_files import stage

# Four messages at a time, each for 4 ms: at 200 a second many overtake others, and some are lost.
ORDERED = (
    TINY.replace("delay_ms = 5 }", "delay_ms = 5, loss = 0.02 }\n"
                 "broker = { workers = 4, service_ms = 4 }")
    .replace("rate = 10 }", "rate = 200 }")
    .replace('["received"]', '["received", "fifo_order", "late_drops", "detection"]')
    + """
[transport]
record = 8
[orderings]
off = { kind = "off" }
CST-30 = { kind = "constant", latch_ms = 30 }
"P-.05-8" = { kind = "literal", record = 8 }
default = { kind = "default" }
tidy = { kind = "default", late = "drop", max_delay_ms = 20 }
"""
)  # fmt: skip
EXPECTING = """
[[expect]]
metric = "violations_removed"
variant = "default"
op = ">="
value = 0.9
mutation = "it orders nothing"
fails_with = { orderings.default.kind = "off" }
[[expect]]
metric = "extra_delay_mean"
variant = "default"
op = "<="
value = 1
ratio_to = "CST-30"
mutation = "it waits for ever"
fails_with = { orderings.CST-30.latch_ms = 0.01 }
"""


@pytest.fixture
def source(tmp_path: Path) -> ExperimentFile:
    return load(tmp_path, ORDERED + EXPECTING)


def ordering(text: str) -> Ordering:
    return msgspec.toml.decode(text.encode(), type=Ordering)  # type: ignore[no-any-return]


def test_every_kind_becomes_what_the_transport_calls_it() -> None:
    assert ordering_settings(ordering('kind = "off"')) == OFF
    assert ordering_settings(ordering('kind = "default"')) == DEFAULT
    plain = ordering_settings(ordering('kind = "constant"\nlatch_ms = 2.5'))
    assert plain.latch == ConstantLatch(2_500_000)
    assert plain.record_used == 0
    recorded = ordering_settings(ordering('kind = "constant"\nlatch_ms = 3\nrecord = 25'))
    assert recorded.record_used == 25
    literal = ordering_settings(ordering('kind = "literal"\nchance = 0.2\nrecord = 5'))
    assert (literal.latch, literal.record_used) == (LiteralLatch(0.2), 5)
    printed = ordering_settings(ordering('kind = "literal"\nas_printed = true'))
    assert printed.latch == LiteralLatch(0.05, as_printed=True)
    said = 'kind = "default"\nchance = 0.01\nempirical = false\nlate = "drop"\nmax_delay_ms = 9'
    default = ordering_settings(ordering(said))
    assert default.latch == ConditionalLatch(0.01)
    assert not default.empirical
    assert (default.late, default.max_delay_ns) == ("drop", 9 * MILLISECOND)


def test_what_publishers_say_is_set_for_all() -> None:
    record = endpoint_settings(
        TransportPart(record=7, cover_ms=50, numbers=["price"], bloom_bits=128)
    ).record
    assert (record.size, record.cover_ns, record.numbers) == (7, 50 * MILLISECOND, ("price",))
    assert record.bloom is not None
    assert (record.bloom.m, record.bloom.k) == (128, 3)
    assert endpoint_settings(None).record.size == TransportPart().record


def test_all_orderings_see_the_same_arrivals(source: ExperimentFile, tmp_path: Path) -> None:
    result = run_experiment(source, ExperimentPlan(seeds=[1], keep=tmp_path / "traces"))
    assert list(result.variants) == ["off", "CST-30", "P-.05-8", "default", "tidy"]
    reader = TraceReader(tmp_path / "traces")
    (run,) = reader.run_ids()
    arrivals = sorted((a.subscriber, a.seq, a.arrived_ns) for a in reader.records(Arrival, run))
    rows: list[Any] = list(reader.records(Delivery, run))
    for name in result.variants:
        seen = sorted((d.subscriber, d.seq, d.arrived_ns) for d in rows if d.ordering == name)
        assert seen == arrivals
    off = [d for d in rows if d.ordering == "off"]
    assert all(d.delivered_ns == d.arrived_ns and d.latch_ns is None for d in off)
    held = [d for d in rows if d.latch_ns is not None]
    assert all(d.arrived_ns < d.delivered_ns <= d.arrived_ns + 2_000 * MILLISECOND for d in held)
    for tidy in (d for d in rows if d.ordering == "tidy"):
        assert (tidy.delivered_ns is None) == (tidy.fate == "dropped_late")
        assert tidy.delivered_ns is None or tidy.delivered_ns - tidy.arrived_ns <= 20 * MILLISECOND
    losses: list[Any] = list(reader.records(Loss, run))
    assert {loss.ordering for loss in losses} >= {"default", "P-.05-8"}
    assert all(loss.detected_ns <= loss.resolved_ns for loss in losses)
    figures = result.variants
    assert figures["off"]["violations"].mean > 20
    assert figures["off"]["deliveries"].mean == len(arrivals)
    assert "deliveries" not in figures["default"]
    assert figures["tidy"]["violations"].mean == 0 < figures["tidy"]["late_drops"].mean
    assert figures["default"]["loss_precision"].mean > 0.8
    assert len(result.quantiles["default"]["extra_delay_pairs_ms"]) == 101
    assert result.ok


def test_an_ordering_is_the_same_whoever_else_is_there(source: ExperimentFile) -> None:
    together = run_experiment(source, ExperimentPlan(seeds=[1]))
    alone = run_experiment(source, ExperimentPlan(seeds=[1], variants=["default"]))
    assert list(alone.variants) == ["off", "default"]
    assert alone.variants["default"] == together.variants["default"]
    assert alone.variants["off"]["deliveries"] == together.variants["off"]["deliveries"]


def test_a_mutation_can_change_one_ordering(source: ExperimentFile) -> None:
    for expectation in source.experiment.expect:
        mutation = (expectation.mutation, expectation.fails_with)
        names = [name for name in (expectation.variant, expectation.ratio_to) if name]
        result = run_experiment(
            source, ExperimentPlan(seeds=[1], mutation=mutation, variants=names)
        )
        verdicts = {verdict.metric: verdict for verdict in result.expect}
        assert not verdicts[expectation.metric].ok


def test_the_codec_in_the_path_changes_nothing(source: ExperimentFile) -> None:
    plain = run_experiment(source, ExperimentPlan(seeds=[1]))
    assert run_experiment(
        source, ExperimentPlan(seeds=[1], overrides=["network.codec=true"])
    ).trace_hash == (plain.trace_hash)


def test_with_several_variants_results_are_called_after_both(tmp_path: Path) -> None:
    busy = "[variants.calm]\n[variants.busy]\nclients.talker.publish.rate = { rate = 300 }\n"
    source = load(tmp_path, ORDERED + busy)
    names = result_names(source.experiment)
    assert names[:3] == ["calm", "calm.off", "calm.CST-30"]
    assert names[6:8] == ["busy", "busy.off"]
    assert orderings_by_variant(source.experiment, ["busy.default", "calm"]) == {
        "calm": [],
        "busy": ["default"],
    }
    plan = ExperimentPlan(seeds=[1], variants=["busy.default", "calm"])
    calm, noisy = plan_jobs(source, plan)
    # Without any ordering the network would carry other messages.
    assert list(calm.experiment.orderings) == ["off"]
    assert list(noisy.experiment.orderings) == ["default"]
    with pytest.raises(UsageError, match="no variant 'default'"):
        orderings_by_variant(source.experiment, ["default"])


def test_the_only_variant_shares_its_name_with_an_ordering(source: ExperimentFile) -> None:
    experiment: Experiment = source.experiment
    assert result_names(experiment) == ["off", "CST-30", "P-.05-8", "default", "tidy"]
    assert list(with_only_orderings(experiment, ["tidy"]).orderings) == ["tidy"]


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        ('kind = "off" }', 'kind = "of" }', r"orderings\.off"),
        ("latch_ms = 30", "latch_ms = 3000", r"orderings\.CST-30\.latch_ms"),
        ("latch_ms = 30", "chance = 0.1", r"orderings\.CST-30\.chance is no key"),
        ('late = "drop"', 'late = "lose"', "choose from deliver, drop"),
        ("record = 8\n", "record = 300\n", r"transport\.record"),
        ("record = 8\n", "record = 8\nbloom_bits = 60\n", r"transport\.bloom_bits"),
        ('variant = "default"', 'variant = "defalt"', "there is no variant 'defalt'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, advice: str) -> None:
    text = ORDERED + EXPECTING
    assert old in text
    with pytest.raises(UsageError, match=rf"t\.toml:\d+: .*{advice}"):
        stage(load(tmp_path, text.replace(old, new)))


def test_a_transport_or_a_metric_of_orderings_without_any_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write \\[orderings\\]"):
        stage(load(tmp_path, TINY + "[transport]\nrecord = 5\n"))
    with pytest.raises(UsageError, match="ordering is of orderings"):
        stage(load(tmp_path, TINY.replace('["received"]', '["late_drops"]')))
