"""What a relay still knows of a pubend, within bounds: the oldest ticks go first."""

from __future__ import annotations

from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Predicate
from penstock.guaranteed.knowledge_stream import KnowledgeStream
from penstock.guaranteed.run import Run
from penstock.guaranteed.stream_item import StreamItem, size_of_item

# Where it is fuller than that, what is older than all it holds would soon go again.
_ROOM: Final = 0.9


class TickCache:
    """Data and silence under the filter that the relay has asked its parent for."""

    def __init__(self, bytes_max: int, *, ticks_max: int | None = None) -> None:
        self.known: Final[KnowledgeStream[StreamItem]] = KnowledgeStream(size_of=size_of_item)
        # All silence here is silence under this filter; None before the first.
        self.silence_filter: Predicate | None = None
        self._bytes_max: Final = bytes_max
        # How far behind the newest tick it reaches.
        self._ticks_max: Final = ticks_max

    def add(self, run: Run) -> None:
        """Keeps messages, and that there is nothing between them; the oldest make room."""
        known, items = self.known, run.items
        known.add_run(run.start, run.stop, [item.tick for item in items], items)
        if self._ticks_max is not None and known.last is not None:
            known.forget_below(known.last - self._ticks_max)
        known.evict(self._bytes_max)

    def keeps(self, tick: int) -> bool:
        """Whether what is learned from there on stays for a while."""
        known = self.known
        if known.first is None or known.last is None:
            return True
        if self._ticks_max is not None and tick < known.last - self._ticks_max:
            return False
        return tick >= known.first or known.size_bytes < _ROOM * self._bytes_max

    def is_silent(self, start: int, stop: int) -> bool:
        """Whether nothing was published there, as far as the filter tells."""
        return self.known.is_known(start, stop) and not self.known.messages_between(start, stop)

    def set_filter(self, granted: Predicate, tick: int) -> None:
        """From `tick` on what comes is under this filter."""
        if self.silence_filter is None or not covers(self.silence_filter, granted):
            self.widen(tick)
        self.silence_filter = granted

    def widen(self, tick: int) -> None:
        """Silence before `tick` was under a narrower filter, and is not known any more."""
        self.known.forget_silence_below(tick)
