"""The vocabulary is the design's, and every life ends in one of its names."""

from __future__ import annotations

import pytest

from penstock.trace.fates import (
    AT_CLOSE,
    RECEIVED,
    TRANSITIONS,
    DropReason,
    MissingOutcome,
    MissingState,
    PublisherFate,
    ReceiverFate,
)


def reachable(start: MissingOutcome) -> set[MissingOutcome]:
    seen: set[MissingOutcome] = set()
    ahead: list[MissingOutcome] = [start]
    while ahead:
        for after in TRANSITIONS[ahead.pop()]:
            if after not in seen:
                seen.add(after)
                ahead.append(after)
    return seen


def test_the_words_are_those_of_the_design() -> None:
    words = "delivered delivered_late dropped_late repaired given_up"
    assert [*ReceiverFate] == words.split()
    assert [*MissingState] == ["unknown", "irrelevant", "missing", "released", "lost"]
    assert [*PublisherFate] == ["sent", "rate_limited", "dropped_at_source"]
    assert [*DropReason][:5] == ["queue_full", "no_route", "ttl", "loss", "duplicate"]
    # Two more, which only faults cause.
    assert [*DropReason][5:] == ["down", "corrupt"]


def test_every_state_has_its_transitions() -> None:
    assert set(TRANSITIONS) == {*MissingState, *ReceiverFate}


@pytest.mark.parametrize("fate", ReceiverFate)
def test_a_fate_is_final(fate: ReceiverFate) -> None:
    assert not TRANSITIONS[fate]


@pytest.mark.parametrize("state", MissingState)
def test_no_state_comes_back(state: MissingState) -> None:
    assert state not in reachable(state)


@pytest.mark.parametrize("state", MissingState)
def test_a_message_may_come_after_all_from_any_state(state: MissingState) -> None:
    assert TRANSITIONS[state] >= RECEIVED | {ReceiverFate.DROPPED_LATE}


@pytest.mark.parametrize("state", MissingState)
def test_closing_ends_every_state_in_one_name(state: MissingState) -> None:
    end = AT_CLOSE[state]
    # Only what was thought to be for us is given up; the rest keeps its name.
    relevant = state not in {MissingState.UNKNOWN, MissingState.IRRELEVANT}
    assert end is (ReceiverFate.GIVEN_UP if relevant else state)
    assert end is state or end in TRANSITIONS[state]


def test_only_a_message_thought_to_be_ours_is_given_up() -> None:
    before = {state for state in MissingState if ReceiverFate.GIVEN_UP in TRANSITIONS[state]}
    assert before == {MissingState.MISSING, MissingState.RELEASED, MissingState.LOST}
