"""How much of what comes by the link of a relay the readers want that recover behind it.

Each asks in a name of its own, so that it gets nothing that it does not want. Where several hosts
have missed the same, the link carries that as many times as they want it: of many that were cut off
together none would ever catch up. All of it, once, is less as soon as their shares exceed one.
"""

from __future__ import annotations

from typing import Final

from penstock.content.filter import Predicate
from penstock.guaranteed.relay.tick_cache import TickCache
from penstock.guaranteed.stream_item import matching
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.wire.frames.guaranteed.base import ReaderId

# Of so many messages a share is estimated, and for so long that is good enough.
_SAMPLE: Final = 200
_ESTIMATED_NS: Final[Duration] = 5 * SECOND
# Readers that are further apart than this have not missed the same.
_NEAR: Final = duration_ticks(60 * SECOND)


class _Share:
    """Of one reader: an estimate, when it was made, where it last asked, if it was answered."""

    __slots__ = ("asked_at", "estimated_at", "is_answered", "share")

    def __init__(self) -> None:
        self.asked_at = 0
        self.share = 1.0
        self.estimated_at: Instant | None = None
        self.is_answered = False


class ReaderShares:
    """Of one pubend; only readers that ask for what the cache does not know."""

    def __init__(self, readers_max: int) -> None:
        self._shares: Final[BoundedDict[ReaderId, _Share]] = BoundedDict(readers_max)

    def __len__(self) -> int:
        return len(self._shares)

    def forget(self, reader: ReaderId) -> None:
        """It has ended."""
        self._shares.pop(reader, None)

    def answered(self, reader: ReaderId) -> None:
        """An answer of its own has come."""
        own = self._shares.get(reader)
        if own is not None:
            own.is_answered = True

    def ask(
        self, reader: ReaderId, predicate: Predicate, at: int, cache: TickCache, *, now: Instant
    ) -> bool:
        """Notes where a reader asks; returns whether hosts that ask near there want more than all.

        Of the readers of one host only the one that wants most counts: one host alone never shares.
        """
        own = self._shares.get(reader)
        if own is None:
            own = self._shares[reader] = _Share()
        own.asked_at = at
        if own.estimated_at is None or now - own.estimated_at >= _ESTIMATED_NS:
            self._estimate(own, predicate, cache, now)
        hosts: dict[str, float] = {}
        for each, its in self._shares.items():
            if abs(its.asked_at - at) <= _NEAR:
                hosts[each.host] = max(its.share, hosts.get(each.host, 0.0))
        # Only an answer of its own says where the next message is: it may begin long ago.
        return own.is_answered and sum(hosts.values()) > 1

    def _estimate(self, own: _Share, predicate: Predicate, cache: TickCache, now: Instant) -> None:
        sample = cache.known.newest(_SAMPLE)
        if sample:
            # Else it may want all of it: what is then asked for will tell.
            own.share = len(matching(sample, predicate)) / len(sample)
            own.estimated_at = now
