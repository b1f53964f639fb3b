"""The answer to a publication."""

from __future__ import annotations

import msgspec

from penstock.api.position import Position
from penstock.api.units import count
from penstock.kernel.errors import UsageError


class Confirmation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A publication is stored at `position`; None for the repetition of one that is long past."""

    position: Position | None
    is_duplicate: bool
    # Unix time of this host.
    confirmed_ns: int

    def __post_init__(self) -> None:
        if type(self.confirmed_ns) is not int or self.confirmed_ns < 0:
            count("confirmed_ns", self.confirmed_ns)
        if self.position is None and not self.is_duplicate:
            raise UsageError("only a duplicate has no position: give one, or is_duplicate=True")
