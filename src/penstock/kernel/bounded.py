"""Dictionaries with a bound, of which the oldest entry goes when a new one needs its place.

Know nothing of time: an entry is old by the order of insertion, or of use, not by age.

Reading by `get`, `[]` or `in` never changes the order, and costs what it costs in an
`OrderedDict`. (A plain dictionary would search for its first entry among all that were
deleted before it.)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

# Past our own `__setitem__`; looking it up by `super()` would take as long as the rest.
_set_item: Final = OrderedDict.__setitem__


class BoundedDict(OrderedDict[Key, Value]):
    """At most `max_entries`; room is made before a new entry goes in.

    With `recent`, setting an entry that is there makes it the youngest, as `use` always
    does; without, it keeps its place. `on_evict` gets what had to go: not what was deleted.
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
        # How many had to go.
        self.evicted = 0

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self) >= self.max_entries and key not in self:
            self.evict()
        _set_item(self, key, value)
        if self._recent:
            self.move_to_end(key)

    def use(self, key: Key) -> Value | None:
        """What `get` returns; and if it is there it is the youngest now."""
        value = self.get(key)
        if value is not None or key in self:
            self.move_to_end(key)
        return value

    def evict(self) -> tuple[Key, Value]:
        """The oldest goes."""
        oldest = self.popitem(False)
        self.evicted += 1
        if self._on_evict is not None:
            self._on_evict(*oldest)
        return oldest

    def make_room(self, key: Key) -> tuple[Key, Value] | None:
        """What has to go if `key` is to be set; for those who must know before it is."""
        if len(self) < self.max_entries or key in self:
            return None
        return self.evict()

    def resize(self, max_entries: int) -> None:
        """Another bound, from now on."""
        assert max_entries >= 1, max_entries
        self.max_entries = max_entries
        while len(self) > max_entries:
            self.evict()


class BoundedBytesDict(BoundedDict[Key, Value]):
    """At most `max_bytes` too, by what `size_of` says when an entry is set or `measure`d.

    Apart from `BoundedDict`, whose deletions it would make slower.
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
        """Whether there can be room for it at all; what does not fit is the caller's to refuse."""
        return self._size_of(value) <= self.max_bytes

    def __setitem__(self, key: Key, value: Value) -> None:
        size_bytes = self._size_of(value)
        assert 0 <= size_bytes <= self.max_bytes, f"{size_bytes} of {self.max_bytes} bytes"
        self._make_room_of(key, size_bytes)
        super().__setitem__(key, value)
        self._note(key, size_bytes)

    def measure(self, key: Key) -> None:
        """The entry has grown or shrunk: others go for it, itself never does."""
        size_bytes = self._size_of(self[key])
        self._make_room_of(key, size_bytes)
        self._note(key, size_bytes)

    def __delitem__(self, key: Key) -> None:
        super().__delitem__(key)
        self._forget(key)

    def pop(self, key: Key, *default: Value) -> Value:  # type: ignore[override]
        """As that of any dictionary."""
        value = super().pop(key, *default)
        self._forget(key)
        return value

    def popitem(self, last: bool = True) -> tuple[Key, Value]:
        """As that of any `OrderedDict`."""
        item = super().popitem(last)
        self._forget(item[0])
        return item

    def clear(self) -> None:
        """As that of any dictionary."""
        super().clear()
        self._sizes.clear()
        self.size_bytes = 0

    def _make_room_of(self, key: Key, size_bytes: int) -> None:
        """Evicts the oldest others until this one may have that size."""
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
        # Once, even where the base class deletes by way of `__delitem__`.
        self.size_bytes -= self._sizes.pop(key, 0)
