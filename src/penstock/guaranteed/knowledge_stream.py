"""What is known of one pubend: each of its ticks is unknown, silence, data or final.

Knowledge only rises, in the order Q < S < D < F, so that facts may come in any order and any number
of times: the result is the same. Silence may become data, because a filter upstream may have made
the silence. What a tick is, is kept in three parts: intervals of known ticks, messages by tick,
intervals of final ticks; silence is what is known and neither of the others.

Forgetting is not a fact but a choice of the one who keeps the stream: ticks become unknown again.
Knows nothing of time, of readers and of what a message is.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Final, Generic, TypeVar

from penstock.kernel.interval_set import IntervalSet

Item = TypeVar("Item")

# What an interval takes in memory: two numbers of 36 bytes, and their places in two lists.
INTERVAL_BYTES: Final = 88

# Fewer evicted ticks than this are not worth moving the others.
_COMPACT_MIN: Final = 64


class TickState(IntEnum):
    """What is known of a tick; the higher one wins."""

    # Q: said nothing of yet.
    UNKNOWN = 0
    # S: nothing was published, or it was filtered upstream.
    SILENCE = 1
    # D: a message.
    DATA = 2
    # F: acknowledged or given up.
    FINAL = 3


# What a tick of each state may become by a fact. All else changes nothing.
RISES: Final = {
    TickState.UNKNOWN: frozenset({TickState.SILENCE, TickState.DATA, TickState.FINAL}),
    TickState.SILENCE: frozenset({TickState.DATA, TickState.FINAL}),
    TickState.DATA: frozenset({TickState.FINAL}),
    TickState.FINAL: frozenset[TickState](),
}


class KnowledgeStream(Generic[Item]):
    """Known ticks with their messages; `size_of` must measure an item the same each time."""

    __slots__ = ("_data_bytes", "_evicted", "_final", "_items", "_known", "_size_of", "_ticks")

    def __init__(self, *, size_of: Callable[[Item], int]) -> None:
        self._size_of: Final = size_of
        self._known = IntervalSet()
        self._final: Final = IntervalSet()
        self._items: Final[dict[int, Item]] = {}
        # The keys of `_items`, sorted. The first `_evicted` entries are gone already: a list that
        # gives up its first entry moves all others.
        self._ticks: Final[list[int]] = []
        self._evicted = 0
        self._data_bytes = 0

    # Facts

    def add_silence(self, start: int, stop: int) -> None:
        """Unknown ticks from `start` up to `stop` become silence."""
        self._known.add(start, stop)

    def add_data(self, tick: int, item: Item) -> bool:
        """Puts a message at a tick that is unknown or silence; returns whether it was so."""
        if tick in self._items or (self._final and tick in self._final):
            return False
        ticks = self._ticks
        if not ticks or tick > ticks[-1]:
            ticks.append(tick)
        else:
            insort(ticks, tick, self._evicted)
        self._items[tick] = item
        self._data_bytes += self._size_of(item)
        self._known.add(tick, tick + 1)
        return True

    def add_run(self, start: int, stop: int, ticks: Sequence[int], items: Sequence[Item]) -> None:
        """Silence from `start` up to `stop`, but for messages at these rising ticks within it."""
        last = self._known.last
        self.add_silence(start, stop)
        if last is None or start > last:
            # Above all that is known, as nearly always.
            self._ticks.extend(ticks)
            self._items.update(zip(ticks, items, strict=True))
            self._data_bytes += sum(map(self._size_of, items))
            return
        for tick, item in zip(ticks, items, strict=True):
            self.add_data(tick, item)

    def add_final(self, start: int, stop: int) -> None:
        """All ticks from `start` up to `stop` become final; their messages go."""
        self._drop_data(start, stop)
        self._final.add(start, stop)
        self._known.add(start, stop)

    # Questions

    def state(self, tick: int) -> TickState:
        """What is known of one tick."""
        if tick not in self._known:
            return TickState.UNKNOWN
        if tick in self._items:
            return TickState.DATA
        return TickState.FINAL if tick in self._final else TickState.SILENCE

    def is_known(self, start: int, stop: int) -> bool:
        """Whether no tick from `start` up to `stop` is unknown."""
        return self._known.covers(start, stop)

    def known_end(self, start: int) -> int:
        """The first unknown tick from `start` on: a doubt horizon moves up to the one before."""
        return self._known.end_of(start)

    def known(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The intervals of [start, stop) that are known."""
        return self._known.overlap(start, stop)

    def unknown(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The intervals of [start, stop) that are unknown."""
        return self._known.missing(start, stop)

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """The intervals that make up [start, stop), in order, and whether each is known."""
        at = start
        for begin, end in self.unknown(start, stop) if start < stop else ():
            if at < begin:
                yield at, begin, True
            yield begin, end, False
            at = end
        if at < stop:
            yield at, stop, True

    def final(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The intervals of [start, stop) that are final."""
        return self._final.overlap(start, stop)

    def data_between(self, start: int, stop: int) -> list[tuple[int, Item]]:
        """The messages from `start` up to `stop`, with their ticks, in order."""
        items = self._items
        low, high = self._places(start, stop)
        return [(tick, items[tick]) for tick in self._ticks[low:high]]

    def messages_between(self, start: int, stop: int) -> int:
        """How many messages there are from `start` up to `stop`."""
        low, high = self._places(start, stop)
        return high - low

    def newest(self, count: int) -> list[Item]:
        """The newest messages, at most so many, in order."""
        low = max(self._evicted, len(self._ticks) - count)
        return [self._items[tick] for tick in self._ticks[low:]]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return not self._known

    @property
    def first(self) -> int | None:
        """The oldest known tick; None if nothing is known."""
        return self._known.first

    @property
    def last(self) -> int | None:
        """The newest known tick; None if nothing is known."""
        return self._known.last

    @property
    def messages(self) -> int:
        """How many messages are kept."""
        return len(self._items)

    @property
    def size_bytes(self) -> int:
        """What messages and intervals take."""
        return self._data_bytes + INTERVAL_BYTES * (len(self._known) + len(self._final))

    # Forgetting

    def forget(self, start: int, stop: int) -> None:
        """All ticks from `start` up to `stop` become unknown."""
        self._drop_data(start, stop)
        self._final.remove(start, stop)
        self._known.remove(start, stop)

    def forget_below(self, tick: int) -> None:
        """All ticks before `tick` become unknown."""
        ticks = self._ticks
        if self._evicted < len(ticks) and ticks[self._evicted] < tick:
            self._drop_data(ticks[self._evicted], tick)
        self._final.remove_below(tick)
        self._known.remove_below(tick)

    def forget_silence_below(self, tick: int) -> None:
        """Silence before `tick` becomes unknown; messages and final ticks stay."""
        first = self._known.first
        if first is None or first >= tick:
            return
        low, high = self._places(first, tick)
        kept = IntervalSet((each, each + 1) for each in self._ticks[low:high])
        for interval in self._final.overlap(first, tick):
            kept.add(*interval)
        self._known.remove_below(tick)
        for interval in self._known:
            kept.add(*interval)
        self._known = kept

    def evict(self, bytes_max: int) -> int | None:
        """Forgets the oldest ticks until at most `bytes_max` are taken.

        Returns the tick before which all was forgotten, None if there was no need.
        """
        assert bytes_max >= 0, bytes_max
        below = None
        while (excess_bytes := self.size_bytes - bytes_max) > 0:
            first = self._known.first
            assert first is not None, self.size_bytes
            below = self._drop_oldest(self._known.end_of(first), excess_bytes)
            self.forget_below(below)
        return below

    # Helpers

    def _places(self, start: int, stop: int) -> tuple[int, int]:
        """Where the ticks of messages from `start` up to `stop` stand in `_ticks`."""
        ticks = self._ticks
        low = bisect_left(ticks, start, self._evicted)
        return low, bisect_left(ticks, stop, low)

    def _drop_data(self, start: int, stop: int) -> None:
        ticks = self._ticks
        low, high = self._places(start, stop)
        if low == high:
            return
        items, size_of = self._items, self._size_of
        for tick in ticks[low:high]:
            self._data_bytes -= size_of(items.pop(tick))
        if low > self._evicted:
            del ticks[low:high]
            return
        self._evicted = high
        self._compact()

    def _drop_oldest(self, stop: int, size_bytes: int) -> int:
        """Drops the oldest messages before `stop` until they come to so many bytes.

        Returns the tick behind the last of them; `stop` if there are not enough.
        """
        ticks, items, size_of, at = self._ticks, self._items, self._size_of, self._evicted
        end = bisect_left(ticks, stop, at)
        dropped_bytes, below = 0, stop
        while dropped_bytes < size_bytes:
            if at == end:
                below = stop
                break
            dropped_bytes += size_of(items.pop(ticks[at]))
            below = ticks[at] + 1
            at += 1
        self._data_bytes -= dropped_bytes
        self._evicted = at
        self._compact()
        return below

    def _compact(self) -> None:
        """Moving as many entries as were dropped costs each of them a constant."""
        ticks, evicted = self._ticks, self._evicted
        if evicted == len(ticks) or (evicted >= _COMPACT_MIN and 2 * evicted >= len(ticks)):
            del ticks[:evicted]
            self._evicted = 0
