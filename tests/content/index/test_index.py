"""The index gives the answers of its naive twin, whatever is added, removed and asked."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bench.workload import MIXES, Workload
from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.index import MatchingIndex, NaiveIndex, index, level, narrow
from penstock.content.message import Message
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.seeds import Seeds
from tests.content.strategies import messages, messages_near, predicates


def agree(fast: MatchingIndex[Any], naive: NaiveIndex[Any], message: Message) -> list[Any]:
    """What both say; fails if they differ or an id comes twice."""
    found = fast.match(message)
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(naive.match(message))
    return found


class IndexAndTwin(RuleBasedStateMachine):
    """Random adding, replacing, removing and matching, small structures made to overflow."""

    def __init__(self) -> None:
        super().__init__()
        self.fast: MatchingIndex[int] = MatchingIndex()
        self.naive: NaiveIndex[int] = NaiveIndex()
        self.known: dict[int, Predicate] = {}

    @rule(id_=st.integers(0, 30), predicate=predicates())
    def add(self, id_: int, predicate: Predicate) -> None:
        self.fast.add(id_, predicate)
        self.naive.add(id_, predicate)
        self.known[id_] = predicate

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        if self.known:
            id_ = data.draw(st.sampled_from(sorted(self.known)))
            self.fast.remove(id_)
            self.naive.remove(id_)
            del self.known[id_]

    @rule(message=messages())
    def match_any(self, message: Message) -> None:
        agree(self.fast, self.naive, message)

    @rule(data=st.data())
    def match_near(self, data: st.DataObject) -> None:
        if self.known:
            predicate = self.known[data.draw(st.sampled_from(sorted(self.known)))]
            agree(self.fast, self.naive, data.draw(messages_near(predicate)))

    @invariant()
    def same_size(self) -> None:
        assert len(self.fast) == len(self.naive)


@pytest.fixture(params=["scan", "loop", "arrays", "compiled"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with each of the four ways of checking candidates forced."""
    monkeypatch.setattr(index, "SCAN_UPTO", 10**9 if request.param == "scan" else 0)
    for start in ("ARRAYS_FROM", "COMPILED_FROM"):
        monkeypatch.setattr(index, start, 10**9 if request.param == "loop" else 1)
    if request.param == "compiled" and narrow.compiled_narrow() is None:
        pytest.skip("numba is not installed")
    if request.param == "arrays":
        monkeypatch.setattr(index, "best_narrow", _arrays_only)
    monkeypatch.setattr(level, "CROWDED", 3)
    return str(request.param)


def _arrays_only() -> narrow.Narrow:
    return narrow.narrow_arrays


def test_random_histories_agree_with_the_naive_twin() -> None:
    machine = IndexAndTwin.TestCase
    machine.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
    machine("runTest").runTest()


@pytest.mark.parametrize("mix", MIXES)
def test_a_crowd_comes_and_goes(mix: str) -> None:
    """Thousands of filters of each mix, half of them removed, others added in their place."""
    workload = Workload(Seeds(7), mix)
    fast: MatchingIndex[int] = MatchingIndex()
    naive: NaiveIndex[int] = NaiveIndex()
    filters = list(workload.filters(1200))
    matched = 0
    for step, f in enumerate(filters):
        for side in (fast, naive):
            side.add(step, Predicate([f]))
            if step % 2 and step > 300:
                side.remove(step - 301)
        if step % 60 == 0:
            matched += sum(len(agree(fast, naive, m)) for m in workload.messages(8))
    assert matched > 20
    for id_ in [i for i in range(len(filters)) if i in fast]:
        fast.remove(id_)
    assert fast.match(workload.messages(1)[0]) == []
    assert_nothing_is_held(fast)


def assert_nothing_is_held(fast: MatchingIndex[Any]) -> None:
    """An index that everything was removed from has given back all it held."""
    assert fast._top.is_empty()
    assert fast._entries == {}
    assert sorted(fast._free) == list(range(len(fast._ids)))
    assert set(fast._filters) <= {None}


@settings(max_examples=20, deadline=None)
@given(st.lists(predicates(), min_size=1, max_size=12))
def test_what_is_removed_leaves_nothing_behind(several: list[Predicate]) -> None:
    fast: MatchingIndex[int] = MatchingIndex()
    for id_, predicate in enumerate(several):
        fast.add(id_, predicate)
    for id_ in range(len(several)):
        fast.remove(id_)
    assert_nothing_is_held(fast)


def test_a_predicate_that_matches_twice_is_found_once() -> None:
    fast: MatchingIndex[str] = MatchingIndex()
    fast.add("both", parse('price < 10 or symbol = "IBM" or exists price'))
    assert fast.match(Message({"price": 5, "symbol": "IBM"})) == ["both"]


def test_an_id_added_again_has_the_new_predicate_only() -> None:
    fast: MatchingIndex[str] = MatchingIndex()
    fast.add("one", parse("price < 10"))
    fast.add("one", parse("price > 10"))
    assert fast.match(Message({"price": 5})) == []
    assert fast.match(Message({"price": 15})) == ["one"]


def test_removing_an_unknown_id_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        MatchingIndex[str]().remove("nobody")


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("x = 1", 1.0, True),
        ("x = 1", True, False),
        ("x = true", 1, False),
        ("x = 0", -0.0, True),
        ("x = 9007199254740993", 2.0**53, False),
        ("x > 9007199254740992", 2**53 + 1, True),
        ("x <= 9007199254740991", 2**53, False),
        ("x >= 9007199254740991 and x <= 9007199254740991", 2**53 - 1, True),
        ("x < 5", float("nan"), False),
        ("x != 5", float("nan"), True),
        ("x > 5", float("inf"), True),
        ("x > 5 and x < 6", float("inf"), False),
        ("x < 5", "4", False),
        ("x > 5 and x < 4", 4.5, False),
        ("x > 1e300", 1e301, True),
        ("x > -1e-320 and x < 1e-320", 0, True),
        ('x in ("a", 1, true)', True, True),
        ('x contains "abcd"', "xabcdx", True),
        ('x contains "abcd"', "abcabd", False),
        ('x suffix "é"', "caf\u00e9", True),
        ("not exists x", "here", False),
    ],
)
def test_edges_of_comparison(text: str, value: object, expected: bool) -> None:
    fast: MatchingIndex[int] = MatchingIndex()
    fast.add(1, parse(text))
    assert fast.match(Message({"x": value})) == [1] * expected  # type: ignore[dict-item]


def test_an_absent_attribute_matches_only_not_exists() -> None:
    fast: MatchingIndex[str] = MatchingIndex()
    fast.add("absent", parse("not exists x"))
    fast.add("absent and more", parse("not exists x and y = 1"))
    fast.add("different", parse("x != 1"))
    fast.add("all", parse("true"))
    fast.add("none", parse("false"))
    assert sorted(fast.match(Message({"y": 1}))) == ["absent", "absent and more", "all"]


def test_the_answers_come_in_the_same_order_for_the_same_history() -> None:
    def answers() -> list[list[int]]:
        workload = Workload(Seeds(3))
        fast: MatchingIndex[int] = MatchingIndex()
        for id_, f in enumerate(workload.filters(500)):
            fast.add(id_, Predicate([f]))
        return [fast.match(message) for message in workload.messages(50)]

    assert answers() == answers()


def test_a_filter_of_more_checks_than_columns_is_still_exact() -> None:
    fast: MatchingIndex[int] = MatchingIndex()
    many = Filter(Constraint(f"x{i}", Op.GE, i) for i in range(12))
    fast.add(1, Predicate([many]))
    good = {f"x{i}": i for i in range(12)}
    assert fast.match(Message(good)) == [1]
    for i in range(12):
        assert fast.match(Message({**good, f"x{i}": i - 1})) == []


def test_both_forms_of_narrowing_agree() -> None:
    compiled = narrow.compiled_narrow()
    if compiled is None:
        pytest.skip("numba is not installed")
    rng = np.random.default_rng(5)
    for _ in range(50):
        pool = rng.permutation(64).astype(np.int32)
        spans = np.array([3, 20, 30, 0, 40, 17], np.int32)
        x = np.where(rng.random(16) < 0.3, np.nan, rng.random(16))
        column = rng.integers(0, 16, (64, 4)).astype(float)
        low, high = rng.random((64, 4)) * 0.3, 0.5 + rng.random((64, 4))
        checks = np.stack([column, low, high], axis=2).reshape(64, 12)
        unsure = rng.random(64) < 0.5
        where, entries = np.array([2, 5], np.int32), np.array([0.4, 0.6])
        rest = (where, entries, checks, unsure)
        slow, fast = (f(pool, spans, x.copy(), *rest) for f in (narrow.narrow_arrays, compiled))
        assert [side.tolist() for side in slow] == [side.tolist() for side in fast]


def test_integers_that_share_a_float_are_told_apart() -> None:
    fast: MatchingIndex[int] = MatchingIndex()
    naive: NaiveIndex[int] = NaiveIndex()
    for i in range(60):
        interest = parse(f"a = {2**53 + i % 3} and b = {i % 2}")
        fast.add(i, interest)
        naive.add(i, interest)
    for number in (2**53 - 1, 2**53, 2.0**53, 2**53 + 1, 2**53 + 2):
        agree(fast, naive, Message({"a": number, "b": 0}))


def test_a_copied_message_matches_like_the_original() -> None:
    fast: MatchingIndex[int] = MatchingIndex()
    fast.add(1, parse("halted = true"))
    message = Message({"halted": True})
    assert fast.match(message) == [1]
    for copied in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert hash(copied) == hash(message)
        assert copied == message
        assert fast.match(copied) == [1]


def test_a_level_that_empties_first_below_is_forgotten() -> None:
    fast: MatchingIndex[int] = MatchingIndex()
    for i in range(4):
        fast.add(i, parse('name prefix "xxxx"'))
    fast.add(9, parse('name prefix "xxxx" and other > 5'))
    for i in (0, 1, 2, 3, 9):
        fast.remove(i)
    assert_nothing_is_held(fast)


def test_transient_filters_leave_few_dead_ones_behind() -> None:
    fast: MatchingIndex[str] = MatchingIndex()
    for i in range(200):
        fast.add(f"stays {i}", parse(f"symbol = {i}"))
    for _ in range(30):
        for i in range(200):
            fast.add("passes", parse(f"symbol = {i}"))
            fast.remove("passes")
    assert len(fast._ids) <= 3 * 200


def test_what_is_no_predicate_or_message_is_refused() -> None:
    fast: MatchingIndex[str] = MatchingIndex()
    with pytest.raises(UsageError, match="parse it"):
        fast.add("text", "a = 1")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="only a Message"):
        fast.match({"a": 1})  # type: ignore[arg-type]
