"""What is timed is what it is said to be, and comes out right."""

from __future__ import annotations

import pytest

from penstock.bench import BENCHES, congestion
from penstock.bench.congestion import GOALS, RATIOS, WAYS
from penstock.bench.congestion.publishing import Publishing, Way, filters, messages
from penstock.content.covering import covers
from penstock.content.tags import Encoder

ENCODER = Encoder(b"test")


@pytest.mark.parametrize("flows", [10, 100, 1_000])
def test_a_message_is_in_a_few_flows_and_none_covers_another(flows: int) -> None:
    wanted = list(filters(flows))
    assert len({*wanted}) == flows
    assert not any(covers(a, b) for a in wanted[:100] for b in wanted[:100] if a is not b)
    sent = list(messages(flows, 300))
    matched = sum(filter_.matches(message) for filter_ in wanted for message in sent)
    assert 1.5 < matched / len(sent) < 4
    assert {len(message.attributes) for message in sent} == {*range(5, 11)}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_messages_leave_with_the_flows_that_they_are_in(way: Way) -> None:
    bench = Publishing(way, ENCODER)
    bench.begin()
    assert bench.seconds(200) > 0
    if way.is_controlled:
        assert bench.endpoint.congestion is not None
        assert len(bench.endpoint.congestion.flows) == way.flows
    if not way.slow_every:
        # One to begin with.
        assert [frame.message for frame in bench.sent[1:]] == bench.messages[:200]
    else:
        assert 0 < len(bench.sent) < 200
    for frame in bench.sent[1:]:
        wanted = sum(filter_.matches(frame.message) for filter_ in bench.filters)
        assert len(frame.flows) == wanted
    assert {frame.record.count for frame in bench.sent[11:]} == {way.record}


def test_goals_and_ratios_name_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*GOALS, *(way for pair in RATIOS for way in pair)} <= {*WAYS}
    assert "congestion" in BENCHES
    monkeypatch.setattr(congestion, "ROUNDS", 1)
    monkeypatch.setattr(congestion, "MESSAGES", 20)
    result = congestion.run(lambda _line: None)
    assert {case.case for case in result.cases} >= {way.name for way in WAYS}
    assert len(result.ratios) == len(RATIOS)
