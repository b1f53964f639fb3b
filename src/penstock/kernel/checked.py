"""Type checks for settings.

Settings come from users: a word where a number belongs must be reported at once and by name, not by
the first operation that fails on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from typing import Any, Final

from penstock.kernel.errors import UsageError

# By annotation: the accepted types, and their description in error messages.
_KINDS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "bool": ((bool,), "True or False"),
    "bool | None": ((bool, type(None)), "True, False or None"),
    "int": ((int,), "a whole number"),
    "Duration": ((int,), "a whole number of nanoseconds"),
    "int | None": ((int, type(None)), "a whole number or None"),
    "float": ((int, float), "a finite number"),
    "float | None": ((int, float, type(None)), "a finite number or None"),
    "str | None": ((str, type(None)), "a word or None"),
}


# Larger integers are not usable as floats.
_INTEGER_MAX: Final = 10**300


def check_types(settings: Any, *nested: type) -> None:
    """Raises UsageError for dataclass fields with the wrong type or a value that is not finite.

    `nested` lists classes that fields may have as type. Other annotations are not checked; modules
    that use this need `from __future__ import annotations`.
    """
    named = {kind.__name__: ((kind,), f"a {kind.__name__}") for kind in nested}
    for each in fields(settings):
        kinds, words = _KINDS.get(str(each.type)) or named.get(str(each.type)) or ((), "")
        value = getattr(settings, each.name)
        # Not isinstance: True would count as a number.
        if kinds and (type(value) not in kinds or _is_not_finite(value)):
            raise UsageError(f"{each.name} is {words}, not {value!r}")
        if "float" in str(each.type) and isinstance(value, int) and abs(value) > _INTEGER_MAX:
            raise UsageError(f"{each.name} is {words}: this one is too large")


def _is_not_finite(value: object) -> bool:
    return isinstance(value, float) and not isfinite(value)
