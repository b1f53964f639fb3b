"""Attribute values, and when two of them are equal.

There are three kinds: numbers (integers of 64 bits, and floats), booleans and strings.

- Numbers compare by mathematical value, exactly: 1 = 1.0, 0.0 = -0.0, and 2**53 + 1 differs from
  the float 2.0**53.
- `true` and `false` are not numbers: true = 1 is false, and neither is ordered.
- Strings compare code point by code point, without normalisation: the two encodings of "é" differ,
  and "Z" < "a".
- NaN equals nothing, not even itself, and is neither below nor above anything: it satisfies
  `exists` and every `!=`. A filter cannot name it.
- Values of different kinds are never equal and never ordered, so of all operators only `!=` and
  `exists` hold across kinds.
- A missing attribute satisfies nothing but `not exists`.
"""

import math
from typing import Final, TypeAlias

from penstock.content.limits import INT_MAX, INT_MIN, NAME_BYTES_MAX, STRING_BYTES_MAX
from penstock.kernel.errors import UsageError

Value: TypeAlias = int | float | bool | str


class _BooleanKey:
    """Represents a boolean in dictionaries, where Python treats True and 1 as one key."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return f"{self.name.upper()}_KEY"  # a copy is the same object, as for None


TRUE_KEY: Final = _BooleanKey("true")
FALSE_KEY: Final = _BooleanKey("false")

# A dictionary key such that equal values, and only those, have equal keys.
Key: TypeAlias = int | float | str | _BooleanKey


def key_of(value: Value) -> Key:
    """A dictionary key: `key_of(a) == key_of(b)` just when `equal(a, b)`."""
    if type(value) is bool:
        return TRUE_KEY if value else FALSE_KEY
    return value


def equal(left: Value, right: Value) -> bool:
    """Equality as defined in the module docstring."""
    return left == right and (type(left) is bool) is (type(right) is bool)


def kind_of(value: Value) -> str:
    """`number`, `boolean` or `string`: values are ordered only within a kind."""
    if type(value) is bool:
        return "boolean"
    return "string" if type(value) is str else "number"


def check_name(name: object) -> str:
    """Returns the name if it is a valid attribute name; raises UsageError otherwise."""
    if type(name) is not str:
        raise UsageError(f"an attribute's name must be a string, not {type(name).__name__}")
    if not 0 < _utf8_length(name, "an attribute's name") <= NAME_BYTES_MAX:
        raise UsageError(
            f"an attribute's name must be 1 to {NAME_BYTES_MAX} bytes of UTF-8: {shorten(name)}"
        )
    return name


def check_value(value: object) -> Value:
    """Returns the value if an attribute may have it; raises UsageError otherwise."""
    kind = type(value)
    if kind is float or kind is bool:
        return value  # type: ignore[return-value]
    if kind is int:
        if INT_MIN <= value <= INT_MAX:  # type: ignore[operator]
            return value  # type: ignore[return-value]
        raise UsageError(f"integers must fit 64 bits: {shorten(value)}")
    if kind is str:
        if _utf8_length(value, "a string") <= STRING_BYTES_MAX:  # type: ignore[arg-type]
            return value  # type: ignore[return-value]
        raise UsageError(
            f"strings must be at most {STRING_BYTES_MAX} bytes of UTF-8: {shorten(value)}"
        )
    raise UsageError(
        f"a value must be an integer, float, boolean or string, not {kind.__name__}"
        " (bytes go in the payload)"
    )


def canonical(value: Value) -> Value:
    """One representative of all equal values: whole floats become integers where they fit."""
    if type(value) is float and value.is_integer() and INT_MIN <= value <= INT_MAX:
        return int(value)
    return value


def is_finite(value: Value) -> bool:
    """False for NaN and the infinities."""
    return type(value) is not float or math.isfinite(value)


def shorten(value: object, chars: int = 40) -> str:
    """A value for an error message, shortened."""
    if isinstance(value, int) and value.bit_length() > 1_000:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to format the longest
    text = repr(value)
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def _utf8_length(text: str, what: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise UsageError(f"{what} must be valid Unicode: {shorten(text)}") from None
