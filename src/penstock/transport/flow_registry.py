"""Allocates the ids of a publisher's flows, and limits the number of flows per owner.

Does not know what a flow is: a tracked filter, or a filter whose rate is limited.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final


class FlowRegistry:
    """Allocates ids of a range; an owner may claim at most `per_owner_max` flows."""

    __slots__ = ("_ids", "_next_id", "_owned", "_per_owner_max")

    def __init__(self, ids: range, per_owner_max: int) -> None:
        self._ids: Final = ids
        self._per_owner_max: Final = per_owner_max
        self._next_id = ids.start
        # Number of flows per owner; owners without flows have no entry.
        self._owned: Final[dict[int, int]] = {}

    def new_id(self, in_use: Container[int]) -> int:
        """Return the next free id in cyclic order; at least one must be free."""
        while (id_ := self._next()) in in_use:
            pass
        return id_

    def __contains__(self, owner: int) -> bool:
        return owner in self._owned

    def has_room(self, owner: int) -> bool:
        """Whether the owner may claim another flow."""
        return self._owned.get(owner, 0) < self._per_owner_max

    def claim(self, owner: int) -> None:
        """Count a flow of the owner."""
        self._owned[owner] = self._owned.get(owner, 0) + 1

    def release(self, owner: int) -> None:
        """Remove a flow of the owner from the count."""
        left = self._owned.pop(owner) - 1
        if left:
            self._owned[owner] = left

    def _next(self) -> int:
        id_ = self._next_id
        self._next_id = self._ids.start if id_ + 1 == self._ids.stop else id_ + 1
        return id_
