"""Hypothesis strategies for values, messages, constraints, filters and predicates.

Every strategy mixes a small pool, so that what is drawn meets, with anything
the limits allow, so that edges are drawn too. `messages_near` aims at the
borders of one predicate: most of its messages match, or nearly do.
"""

from __future__ import annotations

import math

from hypothesis import strategies as st

from penstock.content.constraint import ORDERED, PRESENCE, TEXTUAL, Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import INT_MAX, INT_MIN
from penstock.content.message import Message
from penstock.content.value import Value

NAMES = ("a", "b", "c", "price", "symbol")

_POOL_NUMBERS: tuple[Value, ...] = (
    0,
    1,
    2,
    3,
    10,
    -1,
    0.5,
    1.0,
    1.5,
    -0.0,
    2**53,
    2**53 + 1,
    2.0**53,
    INT_MAX,
    INT_MIN,
    2.0**63,
    -1e300,
    5e-324,
)
_POOL_STRINGS = ("", "a", "b", "ab", "ba", "aba", "abab", "IBM", "é", "e\u0301", "ß", "\U0001f600")
# Any code point but the surrogates, which no valid UTF-8 holds.
_CHARACTERS = st.characters(exclude_categories=["Cs"])


def names() -> st.SearchStrategy[str]:
    """Attribute names: mostly a few that meet, sometimes any at all."""
    odd = st.sampled_from(["and", "Not", "exists", "true", "odd name", "`", "host.cpu", "x-y", "ß"])
    anything = st.text(_CHARACTERS, min_size=1, max_size=16)
    return st.one_of(st.sampled_from(NAMES), st.sampled_from(NAMES), odd | anything)


def strings() -> st.SearchStrategy[str]:
    """Strings, the empty one included."""
    return st.one_of(
        st.sampled_from(_POOL_STRINGS),
        st.text("ab", max_size=5),
        st.text(_CHARACTERS, max_size=20),
    )


def finite_numbers() -> st.SearchStrategy[int | float]:
    """Integers of 64 bits and finite floats."""
    return st.one_of(
        st.sampled_from(_POOL_NUMBERS),
        st.integers(-5, 5),
        st.integers(INT_MIN, INT_MAX),
        st.floats(allow_nan=False, allow_infinity=False),
    )


def finite_values() -> st.SearchStrategy[Value]:
    """What a filter may name."""
    return st.one_of(finite_numbers(), strings(), st.booleans())


def values() -> st.SearchStrategy[Value]:
    """What a message may hold: NaN and the infinities too."""
    return st.one_of(finite_values(), st.sampled_from([math.nan, math.inf, -math.inf]))


def messages(*, max_attributes: int = 6) -> st.SearchStrategy[Message]:
    """Messages without a payload."""
    return st.builds(Message, st.dictionaries(names(), values(), max_size=max_attributes))


def constraints(
    *, attributes: st.SearchStrategy[str] | None = None, ops: tuple[Op, ...] = tuple(Op)
) -> st.SearchStrategy[Constraint]:
    """Constraints with every operator, or with some only."""
    called = names() if attributes is None else attributes
    return st.sampled_from(ops).flatmap(
        lambda op: st.builds(Constraint, called, st.just(op), _operands(op))
    )


def filters(*, max_constraints: int = 4) -> st.SearchStrategy[Filter]:
    """Conjunctions, the empty one included."""
    return st.builds(Filter, st.lists(constraints(), max_size=max_constraints))


def predicates(*, max_filters: int = 4, max_constraints: int = 4) -> st.SearchStrategy[Predicate]:
    """Disjunctions, the empty one included."""
    return st.builds(
        Predicate, st.lists(filters(max_constraints=max_constraints), max_size=max_filters)
    )


@st.composite
def messages_near(draw: st.DrawFn, interest: Predicate | Filter) -> Message:
    """Messages whose values lie at, or just beside, the bounds that `interest` names."""
    own = interest.filters if isinstance(interest, Predicate) else (interest,)
    groups: dict[str, list[Constraint]] = {}
    for constraint in (c for f in own for c in f.constraints):
        groups.setdefault(constraint.attribute, []).append(constraint)
    attributes: dict[str, Value] = {}
    for name, group in groups.items():
        # Now and then the attribute is missing.
        if draw(st.integers(0, 9)):
            attributes[name] = draw(_values_near(draw(st.sampled_from(group))))
    return Message(attributes)


def _values_near(constraint: Constraint) -> st.SearchStrategy[Value]:
    operand = constraint.operand
    if operand is None:
        return values()
    if isinstance(operand, tuple):
        return st.sampled_from(operand) | values()
    if isinstance(operand, str):
        beside = [operand, f"{operand}a", f"a{operand}", f"a{operand}b", operand[:-1], operand[1:]]
        # Operands come near the longest string allowed only where a test says so.
        return st.sampled_from([text for text in beside if len(text.encode()) <= 1_000])
    if isinstance(operand, bool):
        return st.sampled_from([operand, not operand, int(operand)])
    return st.sampled_from(_numbers_beside(operand)) | values()


def _numbers_beside(number: int | float) -> list[Value]:
    near = float(number)
    floats: list[Value] = [near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf)]
    if isinstance(number, float):
        return floats
    return floats + [n for n in (number, number - 1, number + 1) if INT_MIN <= n <= INT_MAX]


def _operands(op: Op) -> st.SearchStrategy[object]:
    if op in PRESENCE:
        return st.none()
    if op is Op.IN:
        return st.lists(finite_values(), min_size=1, max_size=4)
    if op in TEXTUAL:
        return strings().filter(bool)
    if op in ORDERED:
        return st.one_of(finite_numbers(), strings())
    return finite_values()
