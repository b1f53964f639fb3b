"""Attributes of a message that are decoded when somebody first looks at them.

A program that passes messages on, or looks at their payload alone, never pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from penstock.content.value import Value


class LazyAttributes(Mapping[str, Value]):
    """A read-only mapping; `read` makes it from `encoded`, once."""

    __slots__ = ("_encoded", "_read", "_values")

    def __init__(self, read: Callable[[bytes], dict[str, Value]], encoded: bytes) -> None:
        self._read: Final = read
        self._encoded: Final = encoded
        self._values: dict[str, Value] | None = None

    def _decoded(self) -> dict[str, Value]:
        values = self._values
        if values is None:
            values = self._values = self._read(self._encoded)
        return values

    def __getitem__(self, name: str) -> Value:
        values = self._values
        return (self._decoded() if values is None else values)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def __contains__(self, name: object) -> bool:
        return name in self._decoded()

    def __repr__(self) -> str:
        return repr(self._decoded())
