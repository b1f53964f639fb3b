"""The answer to a publication."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.position import Position
from penstock.api.units import count
from penstock.kernel.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A publication is stored at `position`; None for the repetition of one that is long past."""

    position: Position | None
    is_duplicate: bool
    # Unix time of this host.
    confirmed_ns: int

    def __post_init__(self) -> None:
        count("confirmed_ns", self.confirmed_ns)
        if self.position is None and not self.is_duplicate:
            raise UsageError("only a duplicate has no position: give one, or is_duplicate=True")
