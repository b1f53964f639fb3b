"""Ids for a publisher's flows, and how many of the flows each owner claims.

Knows nothing of what a flow is: a tracked filter, or a filter whose rate is limited.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final


class FlowRegistry:
    """Gives out the ids of a range; an owner has at most `per_owner_max` flows."""

    __slots__ = ("_ids", "_next_id", "_owned", "_per_owner_max")

    def __init__(self, ids: range, per_owner_max: int) -> None:
        self._ids: Final = ids
        self._per_owner_max: Final = per_owner_max
        self._next_id = ids.start
        # How many flows each owner claims, if it claims any.
        self._owned: Final[dict[int, int]] = {}

    def new_id(self, in_use: Container[int]) -> int:
        """The id that was not in use for as long as possible; one of them must be free."""
        while (id_ := self._next()) in in_use:
            pass
        return id_

    def __contains__(self, owner: int) -> bool:
        return owner in self._owned

    def has_room(self, owner: int) -> bool:
        """Whether it may claim one more."""
        return self._owned.get(owner, 0) < self._per_owner_max

    def claim(self, owner: int) -> None:
        """It claims one more."""
        self._owned[owner] = self._owned.get(owner, 0) + 1

    def release(self, owner: int) -> None:
        """It claims one less."""
        left = self._owned.pop(owner) - 1
        if left:
            self._owned[owner] = left

    def _next(self) -> int:
        id_ = self._next_id
        self._next_id = self._ids.start if id_ + 1 == self._ids.stop else id_ + 1
        return id_
