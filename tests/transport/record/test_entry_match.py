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
from penstock.transport.record.entry_match import MAYBE, NO, YES, _rounding_cell, question_of
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
    question = question_of(wanted, encoder)
    assert question is not None
    return question.ask(FingerprintEntry.of(*prints, numbers))


@pytest.mark.spec("F17")
@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("x = 5", 5.0, YES),
        ("x = 5", 6, NO),
        ('x = "5"', 5, NO),
        ("x in (1, 5)", 5, YES),
        ("x in (1, 5)", 2, NO),
        ("x in (1, 5) and x > 3", 1, NO),
        ("exists x", "any", YES),
        ("exists x", None, NO),
        ("not exists x", None, YES),
        ("not exists x", 5, NO),
        ("x != 5", 6, YES),
        ("x != 5", 5, NO),
        ("x != 5", None, NO),
        ("x != true", 1, YES),
        ("x > 3", 5, MAYBE),
        ("x > 3", 1, MAYBE),
        ("x > 3", None, NO),
        ("x > 3 and x != 5", 5, NO),
        ('x prefix "a"', "b", MAYBE),
        ('x contains "a"', "b", MAYBE),
        ('x not suffix "a"', "b", MAYBE),
        ("x > 3 and y = 1", 5, NO),
        ("x > 3 and other = 1", 5, MAYBE),
        ("not exists x and other = 1", None, YES),
    ],
)
def test_without_a_schema_values_and_presence_are_told(
    text: str, value: Value | None, answer: int
) -> None:
    assert ask(text, value) == answer


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("x >= 2 and x < 4", 3, YES),
        ("x >= 2 and x < 4", 4, NO),
        ("x >= 2 and x < 4 and x != 3", 3, NO),
        ("x >= 2 and x < 4 and x != 3", 2, YES),
        ("x >= 2.5 and x < 4", 3, MAYBE),
        ("x >= 2.5 and x < 4", 5, NO),
        ('x prefix "a"', "abc", YES),
        ('x prefix "a"', "bca", NO),
        ('x prefix "ab"', "acb", MAYBE),
        ('x suffix "bc"', "abc", YES),
        ('x suffix "c"', "abc", MAYBE),
    ],
)
def test_a_schema_tells_what_it_encodes(text: str, value: Value, answer: int) -> None:
    assert ask(text, value, CELLS) == answer


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("x < 120", 101.5, YES),
        ("x < 120", 130, NO),
        # These are their own half, and their tag says that they are meant.
        ("x < 120", 120, NO),
        ("x <= 120", 120, YES),
        ("x > 120", 120, NO),
        ("x >= 0", 0, YES),
        ("x >= 0", -0.0, YES),
        ("x < 0", -0.0, NO),
        # This rounds to 120.
        ("x < 120", 119.999, MAYBE),
        ("x > 120", 119.999, MAYBE),
        ("x > 119", 119.999, YES),
        # Beyond the halves there is only infinity.
        ("x > 65000", 10**9, YES),
        ("x > 100000", 10**9, MAYBE),
        ("x < 65000", 10**9, NO),
        ("x > 100000", math.inf, YES),
        ("x < 100000", math.inf, NO),
        ("x < -70000", -(10**9), MAYBE),
        ("x < -70000", -math.inf, YES),
        ("x > 0", 1e-30, MAYBE),
        ("x >= 0", 1e-30, YES),
        ("x >= 0", -1e-30, MAYBE),
        ("x > 3 and x < 7 and x != 5", 5, NO),
        ("x > 3 and x < 7 and x != 5", 6, YES),
        # What is told by a number is no text.
        ('x > "a"', 5, NO),
        ('x contains "a"', 5, NO),
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
    assert question_of(never, PLAIN) is None


def _half(bits: int) -> float:
    return float(struct.unpack(">e", bits.to_bytes(2, "big"))[0])
