"""Durations, sizes, rates and shares as people write them: `"200ms"`, `"64MB"`, `"0.3%"`.

Each function takes the name of the setting, for the error, and returns a plain number. Text is read
as a decimal number, so that `"0.1s"` is exactly 100 ms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final, TypeAlias

from penstock.content.value import shorten
from penstock.kernel.errors import UsageError

Duration: TypeAlias = float | str | timedelta
Size: TypeAlias = int | str
Rate: TypeAlias = float | str

_NS: Final = {
    "d": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
}
_BYTES: Final = {
    "TB": 10**12,
    "TiB": 2**40,
    "GB": 10**9,
    "GiB": 2**30,
    "MB": 10**6,
    "MiB": 2**20,
    "kB": 10**3,
    "KB": 10**3,
    "KiB": 2**10,
    "B": 1,
}
_BITS_PER_S: Final = {
    "bit/s": 1,
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
    **{f"{unit}/s": 8 * factor for unit, factor in _BYTES.items()},
}

# About 292 years, and 9 exabytes: what 63 bits hold.
NS_MAX: Final = 2**63 - 1
BYTES_MAX: Final = 2**63 - 1
_CHARS_MAX: Final = 40
_NUMBER: Final = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?) ?(.*)"
)


def duration_ns(
    name: str,
    given: Duration,
    *,
    low_ns: int = 0,
    high_ns: int = NS_MAX,
    example: str = "200ms",
) -> int:
    """Nanoseconds, to the nearest one; a bare number is seconds."""
    ns: int | None
    if isinstance(given, timedelta):
        ns = given // timedelta(microseconds=1) * 1_000
    else:
        scaled = _scaled(given, _NS, bare=10**9)
        ns = None if scaled is None else int(scaled.to_integral_value(ROUND_HALF_EVEN))
    if ns is None or not low_ns <= ns <= high_ns:
        span = _span(low_ns, high_ns, NS_MAX, duration_text)
        raise _wrong(name, "a duration", given, span, f'"{example}"')
    return ns


def size_bytes(name: str, given: Size, *, low_bytes: int = 0, high_bytes: int = BYTES_MAX) -> int:
    """Whole bytes: `MB` is 10⁶ and `MiB` 2²⁰; a bare number is bytes."""
    scaled = None if isinstance(given, float) else _scaled(given, _BYTES, bare=1)
    if scaled is None or not low_bytes <= scaled <= high_bytes or scaled % 1:
        span = _span(low_bytes, high_bytes, BYTES_MAX, size_text)
        raise _wrong(name, "a size", given, span, '"64MB"')
    return int(scaled)


def message_rate(name: str, given: Rate, *, low: float = 0.0) -> float:
    """Messages per second, above `low`; a bare number is that already."""
    scaled = _scaled(given, {"/s": 1}, bare=1)
    if scaled is None or not low < float(scaled) < math.inf:
        raise _wrong(name, "a rate", given, f"above {low:g} messages/s", '"500/s"')
    return float(scaled)


def bit_rate(name: str, given: str) -> int:
    """Bits per second, of `100Mbit/s` or `10MB/s`; a bare number could be either and is refused."""
    scaled = _scaled(given, _BITS_PER_S, bare=None)
    if scaled is None or not 1 <= scaled <= BYTES_MAX:
        raise _wrong(name, "a rate", given, None, '"100Mbit/s" or "10MB/s"')
    return int(scaled)


def share(name: str, given: float | str, *, low: float = 0.0, high: float = 1.0) -> float:
    """A part of the whole: `0.003`, or `"0.3%"`."""
    scaled = _scaled(given, {"%": Decimal("0.01")}, bare=1)
    if scaled is None or not low <= float(scaled) <= high:
        raise _wrong(name, "a share", given, f"{low:g} to {high:g}", '0.003 or "0.3%"')
    return float(scaled)


def count(name: str, given: int, *, low: int = 0, high: int | None = None) -> int:
    """A whole number of things; booleans and floats are none."""
    if type(given) is not int or given < low or (high is not None and given > high):
        span = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
        raise UsageError(
            f"{name} is {span}, not {quoted(given)}: write a whole number such as {max(low, 1)}"
        )
    return given


def one_of(name: str, given: str, words: tuple[str, ...]) -> str:
    """One of the words of a setting."""
    if given not in words:
        *others, last = [f'"{word}"' for word in words]
        choice = f"{', '.join(others)} or {last}" if others else last
        raise UsageError(f"{name} cannot be {quoted(given)}: write {choice}")
    return given


def duration_text(ns: int) -> str:
    """The shortest exact text of a duration, which `duration_ns` reads back."""
    if not ns:
        return "0s"
    for unit, unit_ns in _NS.items():
        if not ns % unit_ns:
            return f"{ns // unit_ns}{unit}"
    return f"{ns // 1_000}.{ns % 1_000:03}".rstrip("0") + "us"


def size_text(size: int) -> str:
    """The shortest exact text of a size, which `size_bytes` reads back."""
    if not size:
        return "0B"
    return next(f"{size // factor}{unit}" for unit, factor in _BYTES.items() if not size % factor)


def _scaled(
    given: object, units: Mapping[str, int | Decimal], *, bare: int | None
) -> Decimal | None:
    """The number in base units; None if it is none, or has no unit where `bare` is None."""
    number, factor = _split(given, units, bare)
    return None if number is None or factor is None else number * factor


def _split(
    given: object, units: Mapping[str, int | Decimal], bare: int | None
) -> tuple[Decimal | None, int | Decimal | None]:
    if isinstance(given, float):
        # By its decimal text: who writes 0.1 does not mean the float nearest to it.
        return Decimal(repr(float(given))) if math.isfinite(given) else None, bare
    if isinstance(given, int) and not isinstance(given, bool):
        return Decimal(given), bare
    found = None
    if isinstance(given, str) and len(given) <= _CHARS_MAX:
        found = _NUMBER.fullmatch(given)
    if found is None:
        return None, None
    number, unit = found.groups()
    return Decimal(number), units.get(unit) if unit else bare


def _span(low: int, high: int, high_max: int, text: Callable[[int], str]) -> str | None:
    """`0 to 2 s`; None without bounds."""
    if high < high_max:
        return f"{_spaced(text(low))} to {_spaced(text(high))}"
    return f"{_spaced(text(low))} or more" if low else None


def _spaced(text: str) -> str:
    """As in running text: commas in thousands, a blank before the unit; zero has no unit."""
    if text[0] == "0":
        return "0"
    with_commas = re.sub(r"^[0-9]+", lambda digits: f"{int(digits[0]):,}", text)
    return re.sub(r"(?<=[0-9])(?=[a-zA-Z])", " ", with_commas)


def _wrong(name: str, kind: str, given: object, span: str | None, example: str) -> UsageError:
    what, again = (span, kind) if span else (kind, "one")
    return UsageError(f"{name} is {what}, not {quoted(given)}: write {again} such as {example}")


def quoted(given: object) -> str:
    """A value for an error message; text in double quotes, as in all examples."""
    if not isinstance(given, str):
        return shorten(given)
    # A member of an enumeration is shown by its word.
    text = shorten(str(given))
    return f'"{text[1:]}"' if text.endswith("…") else f'"{text[1:-1]}"'
