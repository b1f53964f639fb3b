"""Covering and overlap against brute force over small but rich domains."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.constraint import ORDERED, PRESENCE, TEXTUAL, Constraint, Op
from penstock.content.covering import covers, implies, minimal, overlaps
from penstock.content.extent import collate, extents_of
from penstock.content.filter import Filter, Predicate
from penstock.content.value import Value
from penstock.kernel.seeds import Seeds
from tests.content.strategies import filters, messages_near, predicates

# Values at, between and around all operands, so that two sets of values differ here if at all.
NUMBERS = (1, 2, 3)
WORDS = ("", "a", "b", "aa", "ab", "ba", "bb")
DOMAIN: tuple[Value, ...] = (
    *(-math.inf, -1, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, math.inf, math.nan),
    *(True, False),
    *("".join(letters) for n in range(5) for letters in itertools.product("`abc", repeat=n)),
)
ABSENT = 1 << len(DOMAIN)


def c(op: Op, operand: object = None, name: str = "x") -> Constraint:
    return Constraint(name, op, operand)  # type: ignore[arg-type]


def f(*rules: Constraint) -> Filter:
    return Filter(rules)


def allowed(*rules: Constraint) -> int:
    """The values of the domain that satisfy all rules, one bit each, absence the last."""
    bits = sum(1 << i for i, value in enumerate(DOMAIN) if all(rule.holds(value) for rule in rules))
    return bits | (ABSENT if all(rule.op is Op.ABSENT for rule in rules) else 0)


def single_constraints() -> list[Constraint]:
    found = [c(Op.EXISTS), c(Op.ABSENT)]
    operands: list[Value] = [*NUMBERS, *WORDS, True]
    for op in (Op.EQ, Op.NE):
        found += [c(op, operand) for operand in operands]
    found += [c(Op.IN, pair) for pair in itertools.combinations((1, 2, "a", "ab", "ba", True), 2)]
    for op in sorted(ORDERED, key=lambda op: op.value):
        found += [c(op, operand) for operand in operands if operand is not True]
    for op in sorted(TEXTUAL, key=lambda op: op.value):
        found += [c(op, word) for word in WORDS if word]
    return found


def range_conjunctions(operands: tuple[Value, ...]) -> list[tuple[Constraint, ...]]:
    low = [c(op, operand) for op in (Op.GT, Op.GE) for operand in operands]
    high = [c(op, operand) for op in (Op.LT, Op.LE) for operand in operands]
    starts = [c(Op.PREFIX, word) for word in operands if isinstance(word, str) and word]
    pairs = itertools.chain(
        itertools.product(low, high),
        itertools.product(starts, low),
        itertools.product(starts, high),
    )
    return [(rule,) for rule in low + high + starts] + list(pairs)


def random_filter(rng: random.Random) -> Filter:
    """Few attributes and few values, so that filters cover one another often."""
    rules = []
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        op = rng.choice(list(Op))
        operand: object = None
        if op in TEXTUAL:
            operand = rng.choice(WORDS[1:])
        elif op is Op.IN:
            operand = rng.sample((1, 2, 3, "a", "ab", True), rng.randrange(1, 4))
        elif op not in PRESENCE:
            operand = rng.choice((*NUMBERS, *NUMBERS, *WORDS))
        rules.append(c(op, operand, rng.choice("xxy")))
    return Filter(rules)


@pytest.mark.spec("C9")
def test_covering_is_exact_for_single_constraints_and_for_ranges() -> None:
    """Every pair of operators; every pair of conjunctions of ranges; each with the other."""
    rules = range_conjunctions(NUMBERS) + range_conjunctions(WORDS)
    rules += [(rule,) for rule in single_constraints()]
    known = [(collate(some), allowed(*some)) for some in rules]
    seen = 0
    for (wide, more), (narrow, less) in itertools.product(known, known):
        if less:
            expected = less & ~more == 0
            assert implies(narrow, wide) is expected, (wide.constraints, narrow.constraints)
            seen += expected
    assert seen > 10_000


def test_overlap_is_exact_for_single_constraints_and_for_ranges() -> None:
    singles = [(Filter([rule]), allowed(rule)) for rule in single_constraints()]
    ranges = [
        (Filter(rules), allowed(*rules))
        for operands in (NUMBERS, WORDS)
        for rules in range_conjunctions(operands)[::3]
    ]
    for (left, ours), (right, theirs) in itertools.product(singles + ranges, repeat=2):
        assert overlaps(left, right) is (ours & theirs != 0), (left, right)


@pytest.mark.spec("C9")
def test_several_attributes_are_compared_one_by_one() -> None:
    rng = Seeds(3).rng("attributes")
    rules = single_constraints()
    truth = {rule: allowed(rule) for rule in rules}
    covered = disjoint = 0
    for _ in range(10_000):
        narrow = {name: rng.choice(rules) for name in rng.choice(["a", "ab", "abc"])}
        wide = {name: rng.choice([rule, rng.choice(rules)]) for name, rule in narrow.items()}
        if rng.random() < 0.5:
            del wide[rng.choice(sorted(wide))]
        less = Filter(c(rule.op, rule.operand, name) for name, rule in narrow.items())
        more = Filter(c(rule.op, rule.operand, name) for name, rule in wide.items())
        if all(truth[rule] for rule in narrow.values()):
            expected = all(truth[narrow[name]] & ~truth[wide[name]] == 0 for name in wide)
            assert covers(more, less) is expected
            covered += expected
        meeting = all(truth[rule] for rule in (*narrow.values(), *wide.values())) and all(
            truth[narrow[name]] & truth[wide[name]] for name in wide
        )
        assert overlaps(more, less) is overlaps(less, more) is meeting
        disjoint += not meeting
    assert covered > 2_500
    assert disjoint > 1_000


def random_pool(seed: int, size: int) -> dict[Filter, dict[str, int]]:
    """Random filters, each with the values of the domain that it allows by attribute."""
    rng = Seeds(seed).rng("pool")
    return {
        one: {name: allowed(*rules) for name, rules in one.by_attribute().items()}
        for one in (random_filter(rng) for _ in range(size))
    }


def test_covering_is_sound_for_any_conjunction() -> None:
    """Over every message of the domain, and often enough to mean something."""
    covered = matches = 0
    for (wide, more), (narrow, less) in itertools.product(random_pool(4, 900).items(), repeat=2):
        if wide != narrow and all(less.values()) and covers(wide, narrow):
            assert all(less[name] & ~bits == 0 for name, bits in more.items())
            covered += 1
            matches += math.prod(bits.bit_count() for bits in less.values())
    assert covered > 10_000
    assert matches > 10_000


def test_overlap_is_sound_for_any_conjunction() -> None:
    disjoint = 0
    for (left, ours), (right, theirs) in itertools.product(random_pool(5, 250).items(), repeat=2):
        if not overlaps(left, right):
            meet = [ours[name] & theirs[name] for name in ours if name in theirs]
            assert not all((*ours.values(), *theirs.values(), *meet))
            disjoint += 1
    assert disjoint > 10_000


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_covering_and_overlap_are_sound_for_awkward_values(data: st.DataObject) -> None:
    wide, narrow = data.draw(predicates(max_filters=2)), data.draw(predicates(max_filters=2))
    covered, meeting = covers(wide, narrow), overlaps(wide, narrow)
    for interest in (wide, narrow):
        message = data.draw(messages_near(interest))
        if covered and narrow.matches(message):
            assert wide.matches(message)
        if narrow.matches(message) and wide.matches(message):
            assert meeting


@given(filters(), st.data())
@settings(max_examples=100, deadline=None)
def test_fewer_constraints_cover_more(narrow: Filter, data: st.DataObject) -> None:
    some = st.lists(st.sampled_from(narrow.constraints)) if narrow.constraints else st.just([])
    wide = Filter(data.draw(some))
    assert covers(narrow, narrow)
    if not any(extent.contradictory for extent in extents_of(narrow).values()):
        assert covers(wide, narrow)
        assert overlaps(wide, narrow)


def test_covering_is_transitive() -> None:
    rng = Seeds(5).rng("transitive")
    pool = [random_filter(rng) for _ in range(150)]
    above = {one: [other for other in pool if covers(other, one)] for one in pool}
    for one in pool:
        for other in above[one]:
            assert set(above[other]) <= set(above[one])


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (f(), f(c(Op.EQ, 1))),
        (f(c(Op.EXISTS)), f(c(Op.NE, 1))),
        (f(c(Op.EQ, 5)), f(c(Op.GE, 5), c(Op.LE, 5))),
        (f(c(Op.PREFIX, "ab")), f(c(Op.GE, "ab"), c(Op.LT, "ac"))),
        (f(c(Op.GE, "ab"), c(Op.LT, "ac")), f(c(Op.PREFIX, "ab"))),
        (f(c(Op.NE, "ab")), f(c(Op.SUFFIX, "c"), c(Op.GT, "a"))),
        (f(c(Op.LT, 8)), f(c(Op.LE, 8), c(Op.NE, 8))),
        (f(c(Op.CONTAINS, "bc")), f(c(Op.GE, "abc"), c(Op.LT, "abd"), c(Op.NE, "abcd"))),
        (f(c(Op.LE, "\0")), f(c(Op.IN, ["", "\0"]))),
        (f(c(Op.IN, ["", "\0"])), f(c(Op.LE, "\0"))),
        (Predicate([f(c(Op.GT, 1)), f(c(Op.LT, 0))]), Predicate([f(c(Op.GT, 2)), f(c(Op.EQ, -1))])),
        (f(c(Op.EQ, 1)), Predicate([])),
    ],
)
def test_covered(wide: Filter | Predicate, narrow: Filter | Predicate) -> None:
    assert covers(wide, narrow)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (f(c(Op.EQ, 1)), f(c(Op.EQ, 1, "y"))),
        (f(c(Op.EQ, 1)), f(c(Op.EQ, True))),
        (f(c(Op.GT, 2**53)), f(c(Op.GE, float(2**53)))),
        (Predicate([]), f()),
        # Nothing matches these, but their encodings hold less than that of the wider.
        (f(c(Op.EQ, 3)), f(c(Op.EQ, 1), c(Op.EQ, 2))),
        (f(c(Op.PREFIX, "a")), f(c(Op.LT, ""))),
        (f(c(Op.EXISTS, None, "y")), f(c(Op.GT, 2), c(Op.LT, 1))),
    ],
)
def test_not_covered(wide: Filter | Predicate, narrow: Filter | Predicate) -> None:
    assert not covers(wide, narrow)


def test_contradictions_cover_one_another_and_no_more() -> None:
    void, other = f(c(Op.EQ, 1), c(Op.EQ, 2)), f(c(Op.GT, 2), c(Op.LT, 1))
    assert covers(void, other)
    assert covers(other, void)
    assert covers(f(c(Op.EXISTS)), void)
    assert covers(f(c(Op.GT, 5)), void)
    assert not covers(void, f(c(Op.EQ, 1)))
    assert not overlaps(void, void)


def test_minimal_keeps_what_quadratic_search_keeps() -> None:
    rng = Seeds(6).rng("minimal")
    dropped = 0
    for size in (0, 1, 2, 5, 20, 60, 60, 60, 150):
        pool = [random_filter(rng) for _ in range(size)]
        kept = minimal(pool)
        assert kept == quadratic(pool)
        assert all(any(covers(wide, narrow) for wide in kept) for narrow in pool)
        assert minimal(kept) == kept
        dropped += len(pool) - len(kept)
    assert dropped > 100


@given(st.lists(filters(max_constraints=3), max_size=8))
@settings(max_examples=100, deadline=None)
def test_minimal_covers_all_it_was_given(pool: list[Filter]) -> None:
    kept = minimal(pool)
    assert kept == quadratic(pool)
    assert all(any(covers(wide, narrow) for wide in kept) for narrow in pool)


def quadratic(pool: list[Filter]) -> list[Filter]:
    """The naive twin: a filter goes if a wider one, or an equivalent before it, is there."""
    distinct = list(dict.fromkeys(pool))
    return [
        narrow
        for i, narrow in enumerate(distinct)
        if not any(
            covers(wide, narrow) and (j < i or not covers(narrow, wide))
            for j, wide in enumerate(distinct)
            if j != i
        )
    ]


def test_minimal_does_not_look_at_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of disjoint ranges: each is compared with its neighbours alone."""
    asked = 0

    def counted(*extents: object) -> bool:
        nonlocal asked
        asked += 1
        return implies(*extents)  # type: ignore[arg-type]

    monkeypatch.setattr("penstock.content.covering.implies", counted)
    ranges = [f(c(Op.GE, 10 * i), c(Op.LT, 10 * i + 12)) for i in range(2_000)]
    symbols = [f(c(Op.EQ, f"S{i}", "symbol"), c(Op.LT, i % 7)) for i in range(2_000)]
    assert minimal(ranges + symbols) == ranges + symbols
    assert asked < 3 * len(ranges + symbols)
