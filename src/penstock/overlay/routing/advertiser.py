"""Our own advert of one traffic class: filters in, ADV frames out.

A change goes out as a delta if that is shorter than the full advert. A refresh is an empty delta:
it costs a few bytes, and a broker that missed an update notices by the sequence number.
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
    """The filters that `origin`, this broker, has advertised; `filters` are sorted Bloom sets."""

    def __init__(self, origin: int, seq: int, traffic: TrafficClass, bloom_bytes: int) -> None:
        self.origin = origin
        self.seq = seq
        self.filters: tuple[int, ...] = ()
        self.traffic = traffic
        self.bloom_bytes = bloom_bytes

    def update(self, filters: Sequence[int]) -> list[Adv]:
        """The frames that change the advert to `filters`; none if it is unchanged."""
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
            # One frame, so that a table that is nearly full never has to hold old and new filters.
            return [self._delta(added, removed)]
        # Additions first, so that no message that clients want is ever without a filter.
        deltas = [self._delta(added=part) for part in _chunks(added, chunk_max)]
        return deltas + [self._delta(removed=part) for part in _chunks(removed, chunk_max)]

    def refresh(self) -> list[Adv]:
        """An empty delta: the advert is unchanged."""
        return [self._delta()]

    def overtake(self, seq: int) -> list[Adv]:
        """The full advert, numbered after `seq`, which other brokers hold from our earlier run."""
        if not SEQ.is_newer(seq, self.seq):
            return []
        self.seq = SEQ.next(seq)
        return self.full()

    def full(self) -> list[Adv]:
        """The full advert with the latest sequence number."""
        return self.full_advert(self.origin, self.seq, self.filters)

    def full_advert(self, origin: int, seq: int, filters: Sequence[int]) -> list[Adv]:
        """The filters of any origin, sorted, as a full advert in as many parts as needed."""
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
    """The number of filters that fit one ADV."""
    empty = Adv(origin=0, seq=0, traffic=TrafficClass.DATA, full=True, bloom_bytes=bloom_bytes)
    room_bytes = DATAGRAM_BYTES_MAX - BODY_OFFSET - codec.size(empty)
    return min(ADVERT_FILTERS_MAX, room_bytes // bloom_bytes)


def _chunks(items: Sequence[int], chunk_max: int) -> list[Sequence[int]]:
    return [items[start : start + chunk_max] for start in range(0, len(items), chunk_max)]
