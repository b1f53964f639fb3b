"""Our own advert of one class: from the filters we want to the frames that say so.

Changes go out as deltas while that is shorter, else all is said anew. A refresh
is an empty delta: it costs a few bytes, and whoever missed something notices
by its number.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.kernel.sequence import SEQ
from penstock.wire.codec import adv as codec
from penstock.wire.codec.codec_table import BODY_OFFSET
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import TrafficClass
from penstock.wire.limits import ADVERT_FILTERS_MAX, DATAGRAM_BYTES_MAX


class Advertiser:
    """What `origin`, this broker, has told the network; `filters` are sorted Bloom sets."""

    def __init__(self, origin: int, seq: int, traffic: TrafficClass, bloom_bytes: int) -> None:
        self.origin = origin
        self.seq = seq
        self.filters: tuple[int, ...] = ()
        self.traffic = traffic
        self.bloom_bytes = bloom_bytes

    def update(self, filters: Sequence[int]) -> list[Adv]:
        """Frames that take the network from what it was told to `filters`; none if that is it."""
        current, advertised = set(filters), set(self.filters)
        added, removed = sorted(current - advertised), sorted(advertised - current)
        self.filters = tuple(sorted(current))
        if not added and not removed:
            return []
        if len(added) + len(removed) > len(current):
            self.seq = SEQ.next(self.seq)
            return self.full()
        chunk_max = filters_per_frame(self.bloom_bytes)
        if len(added) + len(removed) <= chunk_max:
            # In one, so that those whose table is just large enough have room for it.
            return [self._delta(added, removed)]
        # What is added goes first, so that nothing wanted is ever without its filter.
        deltas = [self._delta(added=part) for part in _chunks(added, chunk_max)]
        return deltas + [self._delta(removed=part) for part in _chunks(removed, chunk_max)]

    def refresh(self) -> list[Adv]:
        """Says that nothing has changed."""
        return [self._delta()]

    def overtake(self, seq: int) -> list[Adv]:
        """Everything, past `seq`, which others believe to be our latest: we restarted."""
        if not SEQ.is_newer(seq, self.seq):
            return []
        self.seq = SEQ.next(seq)
        return self.full()

    def full(self) -> list[Adv]:
        """Everything, under the latest number."""
        return self.full_advert(self.origin, self.seq, self.filters)

    def full_advert(self, origin: int, seq: int, filters: Sequence[int]) -> list[Adv]:
        """What any origin wants, sorted, as a full advert in as many parts as it takes."""
        chunks = _chunks(filters, filters_per_frame(self.bloom_bytes)) or [()]
        return [
            Adv(
                origin=origin,
                seq=seq,
                traffic=self.traffic,
                full=True,
                bloom_bytes=self.bloom_bytes,
                added=tuple(chunk),
                part=part,
                parts=len(chunks),
            )
            for part, chunk in enumerate(chunks)
        ]

    def _delta(self, added: Sequence[int] = (), removed: Sequence[int] = ()) -> Adv:
        self.seq = SEQ.next(self.seq)
        return Adv(
            origin=self.origin,
            seq=self.seq,
            traffic=self.traffic,
            full=False,
            bloom_bytes=self.bloom_bytes,
            added=tuple(added),
            removed=tuple(removed),
        )


def filters_per_frame(bloom_bytes: int) -> int:
    """How many filters an ADV has room for."""
    empty = Adv(origin=0, seq=0, traffic=TrafficClass.DATA, full=True, bloom_bytes=bloom_bytes)
    room_bytes = DATAGRAM_BYTES_MAX - BODY_OFFSET - codec.size(empty)
    return min(ADVERT_FILTERS_MAX, room_bytes // bloom_bytes)


def _chunks(items: Sequence[int], chunk_max: int) -> list[Sequence[int]]:
    return [items[start : start + chunk_max] for start in range(0, len(items), chunk_max)]
