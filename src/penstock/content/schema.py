"""The schema: encoding options of attributes, shared by all nodes of a network.

Without a schema an encoding shows only equality and presence. With one, ranges of numbers show as
cells of a dyadic grid, and strings by their first or last characters. Every option costs tags, and
therefore bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.content.limits import ATTRIBUTES_MAX
from penstock.content.value import check_name, shorten
from penstock.kernel.errors import UsageError

LEVELS: Final = 6
LEVELS_MAX: Final = 32
LENGTHS: Final = (1, 2, 4, 8)
LENGTHS_COUNT_MAX: Final = 8
LENGTH_MAX: Final = 64

# Floats represent all integers exactly up to here.
EXACT_MAX: Final = 2.0**53


class Encoding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of one attribute.

    With a `width`, numbers are distinguished by cells `[origin + i·w, origin + (i+1)·w)` for w =
    width, 2·width, 4·width and so on, `levels` of them. Strings are distinguished by prefixes and
    suffixes of the listed lengths, in code points.
    """

    origin: float = 0.0
    width: float | None = None
    levels: int = LEVELS
    prefixes: tuple[int, ...] = ()
    suffixes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.origin):
            raise UsageError(f"origin must be a finite number, not {self.origin}")
        if not 1 <= self.levels <= LEVELS_MAX:
            raise UsageError(f"levels must be 1 to {LEVELS_MAX}, not {self.levels}")
        if self.width is not None and not (
            self.width > 0 and math.isfinite(self.width * 2 ** (self.levels - 1))
        ):
            raise UsageError(
                f"width must be above 0, and finite when doubled {self.levels - 1} times,"
                f" not {self.width}"
            )
        _check_lengths("prefixes", self.prefixes)
        _check_lengths("suffixes", self.suffixes)

    def cell(self, number: float, level: int) -> int | None:
        """The cell of a level that contains the number; None beyond the precision of floats.

        Never decreases as `number` grows, rounding included, so that a cell that contains both ends
        of a range contains all of it.
        """
        assert self.width is not None
        value, width = float(number), math.ldexp(self.width, level)
        cells = (value - self.origin) / width
        if not abs(cells) < EXACT_MAX:
            return None
        index = math.floor(cells)
        # The quotient may have been rounded across a boundary: compare with the boundaries
        # themselves.
        if value < self.origin + index * width:
            return index - 1
        return index + 1 if value >= self.origin + (index + 1) * width else index

    def cell_below(self, number: float, level: int) -> int | None:
        """The cell of the greatest value below `number`."""
        if abs(number) >= EXACT_MAX:
            # Integers just below may round to the number itself.
            return self.cell(number, level)
        return self.cell(math.nextafter(number, -math.inf), level)


class Schema(msgspec.Struct, frozen=True):
    """The options of every attribute that has any."""

    attributes: dict[str, Encoding] = {}

    def __post_init__(self) -> None:
        if len(self.attributes) > ATTRIBUTES_MAX:
            raise UsageError(f"a schema names at most {ATTRIBUTES_MAX} attributes")
        for name in self.attributes:
            check_name(name)

    @classmethod
    def from_dict(cls, options: object) -> Schema:
        """A schema as read from TOML or JSON: `{"price": {"width": 0.25}, ...}`."""
        if not isinstance(options, Mapping):
            raise UsageError(
                "a schema maps attribute names to options,"
                f' as in {{"price": {{"width": 0.25}}}}, not {shorten(options)}'
            )
        return cls({check_name(name): _encoding(name, of) for name, of in options.items()})


def _encoding(name: str, options: object) -> Encoding:
    try:
        return msgspec.convert(options, Encoding)
    except msgspec.ValidationError as error:
        # msgspec's "Expected `float`, got `str` - at `$.width`" does not name the attribute.
        text, _, path = str(error).partition(" - at `$")
        where = path.strip("`").lstrip(".")
        raise UsageError(
            f"schema of attribute {shorten(name)}: {f'{where}: ' if where else ''}{text}"
        ) from None


def _check_lengths(what: str, lengths: tuple[int, ...]) -> None:
    if len(lengths) > LENGTHS_COUNT_MAX or not all(1 <= n <= LENGTH_MAX for n in lengths):
        raise UsageError(
            f"{what} must be at most {LENGTHS_COUNT_MAX} lengths of 1 to {LENGTH_MAX},"
            f" such as {list(LENGTHS)}, not {shorten(list(lengths))}"
        )
    if len(set(lengths)) < len(lengths):
        raise UsageError(f"{what} must differ from one another, not {shorten(list(lengths))}")
