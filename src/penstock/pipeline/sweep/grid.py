"""The grid of a sweep: varied keys, their values, and all combinations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Final

from penstock.kernel.errors import UsageError

_OPENING: Final = "[{("
_CLOSING: Final = "]})"
_QUOTES: Final = "\"'"


@dataclass(frozen=True, slots=True)
class Axis:
    """A key of the experiment file, and its values as TOML text."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One value per key; empty if nothing varies."""

    settings: tuple[tuple[str, str], ...] = ()

    @property
    def overrides(self) -> list[str]:
        """The settings as `--set` takes them."""
        return [f"{key}={value}" for key, value in self.settings]

    @property
    def mark(self) -> str:
        """A short hash that identifies the point; empty if nothing varies."""
        return sha256("\n".join(self.overrides).encode()).hexdigest()[:8] if self.settings else ""

    @property
    def directory(self) -> str:
        """A readable and unique directory name."""
        settings = "+".join(f"{key.rpartition('.')[2]}={value}" for key, value in self.settings)
        readable = re.sub(r"[^\w.+=-]+", "_", settings)[:80]
        return f"{readable}-{self.mark}" if self.settings else "as-it-stands"


def parse_axis(text: str) -> Axis:
    """Parses `key=a,b,c`; commas within brackets or quotes belong to a value."""
    key, equals, values = text.partition("=")
    found = [value.strip() for value in _split(values)]
    if not equals or not key.strip() or not all(found):
        raise UsageError(f"--vary takes key=a,b,c, as in network.link.loss=0,0.01, not {text!r}")
    return Axis(key.strip(), tuple(dict.fromkeys(found)))


def points_of(axes: Sequence[Axis]) -> list[Point]:
    """All combinations; the last key varies fastest."""
    keys = [axis.key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"--vary {key} is there twice: write all its values in one")
    return [
        Point(tuple(zip(keys, values, strict=True)))
        for values in product(*(axis.values for axis in axes))
    ]


def _split(text: str) -> Iterator[str]:
    depth, quote, value = 0, "", ""
    for char in text:
        if char == "," and not depth and not quote:
            yield value
            value = ""
            continue
        value += char
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        else:
            depth += (char in _OPENING) - (char in _CLOSING)
    yield value
