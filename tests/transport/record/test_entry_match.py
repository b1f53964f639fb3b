import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.limits import INT_MAX, INT_MIN
from penstock.content.message import Message
from penstock.content.schema import Encoding, Schema
from penstock.content.syntax import parse
from penstock.content.tags import Encoder, presence_tag
from penstock.content.value import Value
from penstock.transport.record.entry_match import (
    CERTAIN,
    NO_MATCH,
    POSSIBLE,
    _rounding_cell,
    compile_entry_test,
)
from penstock.wire.frames.record import FingerprintEntry
from penstock.wire.quantise import quantise_float16

PLAIN = Encoder(b"salt")
CELLS = Encoder(b"salt", Schema({"x": Encoding(width=1, levels=2, prefixes=(1,), suffixes=(2,))}))


def ask(text: str, value: Value | None, encoder: Encoder = PLAIN, *, told: bool = False) -> int:
    """What is answered of a message with this x, its number told or not."""
    message = Message({"other": 1} | ({} if value is None else {"x": value}))
    numbers = []
    if told:
        assert isinstance(value, int | float)
        presence = encoder.fingerprint(presence_tag("x"))
        numbers = [(presence, quantise_float16(float(value)))]
    prints = encoder.message_fingerprints(message)
    (wanted,) = parse(text).filters
    question = compile_entry_test(wanted, encoder)
    assert question is not None
    return question.test(FingerprintEntry.of(*prints, numbers))


@pytest.mark.spec("F17")
@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("x = 5", 5.0, CERTAIN),
        ("x = 5", 6, NO_MATCH),
        ('x = "5"', 5, NO_MATCH),
        ("x in (1, 5)", 5, CERTAIN),
        ("x in (1, 5)", 2, NO_MATCH),
        ("x in (1, 5) and x > 3", 1, NO_MATCH),
        ("exists x", "any", CERTAIN),
        ("exists x", None, NO_MATCH),
        ("not exists x", None, CERTAIN),
        ("not exists x", 5, NO_MATCH),
        ("x != 5", 6, CERTAIN),
        ("x != 5", 5, NO_MATCH),
        ("x != 5", None, NO_MATCH),
        ("x != true", 1, CERTAIN),
        ("x > 3", 5, POSSIBLE),
        ("x > 3", 1, POSSIBLE),
        ("x > 3", None, NO_MATCH),
        ("x > 3 and x != 5", 5, NO_MATCH),
        ('x prefix "a"', "b", POSSIBLE),
        ('x contains "a"', "b", POSSIBLE),
        ('x not suffix "a"', "b", POSSIBLE),
        ("x > 3 and y = 1", 5, NO_MATCH),
        ("x > 3 and other = 1", 5, POSSIBLE),
        ("not exists x and other = 1", None, CERTAIN),
    ],
)
def test_without_a_schema_values_and_presence_are_told(
    text: str, value: Value | None, answer: int
) -> None:
    assert ask(text, value) == answer


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("x >= 2 and x < 4", 3, CERTAIN),
        ("x >= 2 and x < 4", 4, NO_MATCH),
        ("x >= 2 and x < 4 and x != 3", 3, NO_MATCH),
        ("x >= 2 and x < 4 and x != 3", 2, CERTAIN),
        ("x >= 2.5 and x < 4", 3, POSSIBLE),
        ("x >= 2.5 and x < 4", 5, NO_MATCH),
        ('x prefix "a"', "abc", CERTAIN),
        ('x prefix "a"', "bca", NO_MATCH),
        ('x prefix "ab"', "acb", POSSIBLE),
        ('x suffix "bc"', "abc", CERTAIN),
        ('x suffix "c"', "abc", POSSIBLE),
    ],
)
def test_a_schema_tells_what_it_encodes(text: str, value: Value, answer: int) -> None:
    assert ask(text, value, CELLS) == answer


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("x < 120", 101.5, CERTAIN),
        ("x < 120", 130, NO_MATCH),
        # These are their own half, and their tag says that they are meant.
        ("x < 120", 120, NO_MATCH),
        ("x <= 120", 120, CERTAIN),
        ("x > 120", 120, NO_MATCH),
        ("x >= 0", 0, CERTAIN),
        ("x >= 0", -0.0, CERTAIN),
        ("x < 0", -0.0, NO_MATCH),
        # This rounds to 120.
        ("x < 120", 119.999, POSSIBLE),
        ("x > 120", 119.999, POSSIBLE),
        ("x > 119", 119.999, CERTAIN),
        # Beyond the halves there is only infinity.
        ("x > 65000", 10**9, CERTAIN),
        ("x > 100000", 10**9, POSSIBLE),
        ("x < 65000", 10**9, NO_MATCH),
        ("x > 100000", math.inf, CERTAIN),
        ("x < 100000", math.inf, NO_MATCH),
        ("x < -70000", -(10**9), POSSIBLE),
        ("x < -70000", -math.inf, CERTAIN),
        ("x > 0", 1e-30, POSSIBLE),
        ("x >= 0", 1e-30, CERTAIN),
        ("x >= 0", -1e-30, POSSIBLE),
        ("x > 3 and x < 7 and x != 5", 5, NO_MATCH),
        ("x > 3 and x < 7 and x != 5", 6, CERTAIN),
        # What is told by a number is no text.
        ('x > "a"', 5, NO_MATCH),
        ('x contains "a"', 5, NO_MATCH),
    ],
)
def test_a_number_decides_ranges_but_for_its_rounding(text: str, value: Value, answer: int) -> None:
    assert ask(text, value, told=True) == answer


@given(
    st.one_of(
        st.floats(allow_nan=False),
        st.floats(-70_000, 70_000),
        st.floats(-1e-6, 1e-6),
        st.integers(INT_MIN, INT_MAX),
        st.integers(-70_000, 70_000),
    )
)
def test_a_cell_holds_whatever_rounds_to_its_number(value: float) -> None:
    half = quantise_float16(float(value))
    assert _rounding_cell(abs(half), math.copysign(1.0, half) < 0).holds(value)


@given(st.integers(0, 0x7BFF), st.booleans())
def test_neighbouring_cells_meet_in_one_number(bits: int, is_negative: bool) -> None:
    lower, upper = (_half(bits), _half(bits + 1))
    near, far = _rounding_cell(lower, is_negative), _rounding_cell(upper, is_negative)
    if is_negative:
        near, far = far, near
    assert near.high[1] == far.low[1]


def test_a_filter_that_nothing_matches_is_no_question() -> None:
    (never,) = parse("x = 1 and x = 2").filters
    assert compile_entry_test(never, PLAIN) is None


def _half(bits: int) -> float:
    return float(struct.unpack(">e", bits.to_bytes(2, "big"))[0])
