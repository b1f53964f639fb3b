"""How much a stream keeps, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.api.units import (
    Duration,
    Size,
    duration_ns,
    duration_text,
    one_of,
    size_bytes,
    size_text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What a stream keeps; None is without limit.

    Acknowledged messages are kept for `age`, within `size`. Those that are not are never given up:
    publishing is refused instead, unless `overflow` is `"drop"`. Sizes and ages are kept in their
    shortest text, so that equal ones are equal however they were written.
    """

    size: Size | None = "10GB"
    age: Duration | None = "7d"
    overflow: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        if self.size is not None:
            size = size_bytes("retention.size", self.size, low_bytes=1)
            object.__setattr__(self, "size", size_text(size))
        if self.age is not None:
            age_ns = duration_ns("retention.age", self.age)
            object.__setattr__(self, "age", duration_text(age_ns))
        one_of("retention.overflow", self.overflow, ("refuse", "drop"))

    @property
    def size_bytes(self) -> int | None:
        """The size as a number."""
        return None if self.size is None else size_bytes("retention.size", self.size)

    @property
    def age_ns(self) -> int | None:
        """The age as a number."""
        return None if self.age is None else duration_ns("retention.age", self.age)
