"""Bounded dictionaries that evict their oldest entry to make room for a new one.

They know nothing of time: age is the order of insertion, or of use.

Reading by `get`, `[]` or `in` never changes the order, and costs the same as in an `OrderedDict`.
(A plain dict would scan past all deleted entries to find its first one.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

# Bypasses our own `__setitem__`; a lookup by `super()` would cost as much as the rest.
_set_item: Final = OrderedDict.__setitem__


class BoundedDict(OrderedDict[Key, Value]):
    """At most `max_entries` entries; the oldest is evicted before a new one is inserted.

    With `recent`, setting an existing entry makes it the youngest, as `use` always does; without,
    it keeps its place. `on_evict` is called for evicted entries, not for deleted ones.
    """

    __slots__ = ("_on_evict", "_recent", "evicted", "max_entries")

    def __init__(
        self,
        max_entries: int,
        *,
        recent: bool = False,
        on_evict: Callable[[Key, Value], None] | None = None,
    ) -> None:
        assert isinstance(max_entries, int), f"a bound, not {max_entries!r}"
        assert max_entries >= 1, max_entries
        super().__init__()
        self.max_entries = max_entries
        self._recent: Final = recent
        self._on_evict: Final = on_evict
        # The number of evictions so far.
        self.evicted = 0

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self) >= self.max_entries and key not in self:
            self.evict()
        _set_item(self, key, value)
        if self._recent:
            self.move_to_end(key)

    def use(self, key: Key) -> Value | None:
        """Returns what `get` returns, and makes the entry the youngest if it exists."""
        value = self.get(key)
        if value is not None or key in self:
            self.move_to_end(key)
        return value

    def evict(self) -> tuple[Key, Value]:
        """Removes and returns the oldest entry."""
        oldest = self.popitem(False)
        self.evicted += 1
        if self._on_evict is not None:
            self._on_evict(*oldest)
        return oldest

    def make_room(self, key: Key) -> tuple[Key, Value] | None:
        """Evicts the entry that setting `key` would evict, for callers that need it beforehand."""
        if len(self) < self.max_entries or key in self:
            return None
        return self.evict()

    def resize(self, max_entries: int) -> None:
        """Changes the bound, evicting what exceeds it."""
        assert max_entries >= 1, max_entries
        self.max_entries = max_entries
        while len(self) > max_entries:
            self.evict()


class BoundedBytesDict(BoundedDict[Key, Value]):
    """At most `max_bytes` too, as `size_of` measures an entry when it is set or `measure`d.

    A separate class, because it would slow down the deletions of `BoundedDict`.
    """

    __slots__ = ("_size_of", "_sizes", "max_bytes", "size_bytes")

    def __init__(
        self,
        max_entries: int,
        *,
        max_bytes: int,
        size_of: Callable[[Value], int],
        recent: bool = False,
        on_evict: Callable[[Key, Value], None] | None = None,
    ) -> None:
        assert max_bytes >= 1, max_bytes
        super().__init__(max_entries, recent=recent, on_evict=on_evict)
        self.max_bytes: Final = max_bytes
        self._size_of: Final = size_of
        self._sizes: Final[dict[Key, int]] = {}
        self.size_bytes = 0

    def fits(self, value: Value) -> bool:
        """Whether the value is no larger than `max_bytes`; the caller must refuse one that is."""
        return self._size_of(value) <= self.max_bytes

    def __setitem__(self, key: Key, value: Value) -> None:
        size_bytes = self._size_of(value)
        assert 0 <= size_bytes <= self.max_bytes, f"{size_bytes} of {self.max_bytes} bytes"
        self._make_room_of(key, size_bytes)
        super().__setitem__(key, value)
        self._note(key, size_bytes)

    def measure(self, key: Key) -> None:
        """Updates the size of a changed entry; evicts others for it, never the entry itself."""
        size_bytes = self._size_of(self[key])
        self._make_room_of(key, size_bytes)
        self._note(key, size_bytes)

    def __delitem__(self, key: Key) -> None:
        super().__delitem__(key)
        self._forget(key)

    def pop(self, key: Key, *default: Value) -> Value:  # type: ignore[override]
        """As for any dictionary."""
        value = super().pop(key, *default)
        self._forget(key)
        return value

    def popitem(self, last: bool = True) -> tuple[Key, Value]:
        """As for any `OrderedDict`."""
        item = super().popitem(last)
        self._forget(item[0])
        return item

    def clear(self) -> None:
        """As for any dictionary."""
        super().clear()
        self._sizes.clear()
        self.size_bytes = 0

    def _make_room_of(self, key: Key, size_bytes: int) -> None:
        """Evicts the oldest other entries until `key` may have that size."""
        others_bytes = self.size_bytes - self._sizes.get(key, 0)
        while others_bytes + size_bytes > self.max_bytes:
            oldest = next((each for each in self if each != key), None)
            if oldest is None:
                return
            self.move_to_end(oldest, last=False)
            others_bytes -= self._sizes[oldest]
            self.evict()

    def _note(self, key: Key, size_bytes: int) -> None:
        self.size_bytes += size_bytes - self._sizes.get(key, 0)
        self._sizes[key] = size_bytes

    def _forget(self, key: Key) -> None:
        # Subtracts once, even where the base class deletes through `__delitem__`.
        self.size_bytes -= self._sizes.pop(key, 0)
