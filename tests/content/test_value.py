"""Values and messages: what may be held, and what is said when it may not."""

from __future__ import annotations

import pytest

from penstock.content.limits import ATTRIBUTES_MAX
from penstock.content.message import Message
from penstock.content.value import Value, equal, key_of
from penstock.kernel.errors import UsageError

SAMPLES: list[Value] = [0, 1, 1.0, -0.0, 0.0, True, False, "", "1", "é", "e\u0301", 2**53, 2.0**53]


@pytest.mark.parametrize("left", SAMPLES)
@pytest.mark.parametrize("right", SAMPLES)
def test_keys_are_equal_just_when_values_are(left: Value, right: Value) -> None:
    assert (key_of(left) == key_of(right)) is equal(left, right)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"a": 10**5000}, "an integer of 16610 bits"),
        ({"a": 2**63}, "must fit 64 bits"),
        ({"a": b"raw"}, "bytes go in the payload"),
        ({"a": None}, "not NoneType"),
        ({"a": "x" * 1001}, "at most 1000 bytes"),
        ({"a": "\ud800"}, "valid Unicode"),
        ({"": 1}, "1 to 64 bytes"),
        ({"n" * 65: 1}, "1 to 64 bytes"),
        ({7: 1}, "must be a string"),
        ([("a", 1)], "must be a mapping"),
        ({f"a{i}": i for i in range(ATTRIBUTES_MAX + 1)}, "at most 64 attributes"),
    ],
)
def test_what_a_message_cannot_hold_is_said_in_one_line(attributes: object, text: str) -> None:
    with pytest.raises(UsageError, match=text) as refused:
        Message(attributes)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_true_and_one_make_different_messages() -> None:
    assert Message({"a": True}) != Message({"a": 1})
    assert Message({"a": 1}) == Message({"a": 1.0})
    assert hash(Message({"a": 1})) == hash(Message({"a": 1.0}))
