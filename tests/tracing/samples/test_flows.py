from penstock.kernel.instant import SECOND
from penstock.trace.records import FlowSample
from penstock.tracing.samples.flows import FlowSamples
from penstock.transport.congestion.facts import FlowState
from tests.tracing.rows import NAMES


def flow(seq: int, *, id_: int = 1, limited_by: int | None = None) -> FlowState:
    return FlowState(id_, "n = 1", limited_by, 8.0, seq, 3)


def sent_mps(samples: FlowSamples, publisher: str, seq: int, *, id_: int = 1) -> float:
    (row,) = samples.sample(publisher, [flow(seq, id_=id_)], 2 * SECOND, now=0)
    return row.sent_mps


def test_the_rate_of_a_flow_is_that_since_the_sample_before() -> None:
    samples = FlowSamples(NAMES)
    assert sent_mps(samples, "writer", 10) == 5.0
    assert sent_mps(samples, "writer", 16) == 3.0


def test_flows_and_publishers_are_counted_apart() -> None:
    samples = FlowSamples(NAMES)
    sent_mps(samples, "writer", 10)
    assert sent_mps(samples, "other", 10) == 5.0
    assert sent_mps(samples, "writer", 10, id_=2) == 5.0


def test_a_new_flow_under_a_reused_id_has_no_negative_rate() -> None:
    samples = FlowSamples(NAMES)
    sent_mps(samples, "writer", 10)
    assert sent_mps(samples, "writer", 2) == 0.0


def test_the_limiting_receiver_is_named_if_there_is_one() -> None:
    flows = [flow(2, limited_by=2), flow(2, id_=2, limited_by=77), flow(2, id_=3)]
    rows = FlowSamples(NAMES).sample("writer", flows, SECOND, now=100)
    assert list(rows) == [
        FlowSample(100, "writer", "n = 1", limited_by, 8.0, 2.0, 3)
        for limited_by in ("far", "77", None)
    ]
