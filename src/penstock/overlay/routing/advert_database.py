"""The adverts of other brokers for one traffic class, searched for the brokers that want a message.

1. A full advert that is newer than the stored one replaces it once all its parts have arrived.
2. A delta applies only to the advert with the preceding sequence number. A later delta shows that
   an update was missed: it is not applied, and a full advert is requested.
3. Only accepted adverts are flooded. So a broker that missed an update passes on the full advert
   that it receives, and the brokers behind it recover too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Instant
from penstock.kernel.sequence import SEQ
from penstock.overlay.counters import Count, Counters
from penstock.overlay.routing.advertiser import Advertiser, filters_per_frame
from penstock.overlay.routing.interest_table import InterestTable
from penstock.overlay.routing.tombstones import Tombstones
from penstock.overlay.settings import OverlaySettings
from penstock.wire.frames.adv import Adv


@dataclass(slots=True)
class Advert:
    """The filters of one origin as of `seq`, sorted."""

    seq: int
    filters: tuple[int, ...]
    expires: Instant


@dataclass(slots=True)
class PartialAdvert:
    """A full advert of which some parts have not arrived."""

    seq: int
    part_count: int
    expires: Instant
    received: dict[int, Adv] = field(default_factory=dict)


class AdvertDatabase:
    """Adverts by origin. Our own, `own`, is not searched: local clients are matched exactly."""

    def __init__(
        self,
        own: Advertiser,
        m: int,
        settings: OverlaySettings,
        counters: Counters,
        is_reachable: Callable[[int], bool],
    ) -> None:
        self.own = own
        self._m = m
        self._settings = settings
        self._counters = counters
        self._is_reachable = is_reachable
        self._parts_max = -(-settings.origin_filters_max // filters_per_frame(own.bloom_bytes))
        self._adverts: dict[int, Advert] = {}
        self._partial_adverts: dict[int, PartialAdvert] = {}
        self._tombstones = Tombstones(settings)
        self._interest_table = InterestTable(m)

    def __len__(self) -> int:
        return len(self._adverts) + len(self._partial_adverts)

    @property
    def filter_count(self) -> int:
        """The number of filters of all origins."""
        return len(self._interest_table)

    def seqs(self) -> dict[int, int]:
        """The latest sequence number of each origin, ours and tombstones included."""
        return {**self._tombstones.seqs(), **self.current()}

    def current(self) -> dict[int, int]:
        """The latest sequence number of each origin whose advert is stored, ours included."""
        known = {origin: advert.seq for origin, advert in self._adverts.items()}
        return {self.own.origin: self.own.seq, **known}

    def frames(self, origin: int) -> list[Adv]:
        """The full advert of `origin`, for a neighbour that lacks it."""
        if origin == self.own.origin:
            return self.own.full()
        advert = self._adverts[origin]
        return self.own.full_advert(origin, advert.seq, advert.filters)

    def filters(self, origin: int) -> tuple[int, ...]:
        """The filters of another broker; empty if it is unknown."""
        advert = self._adverts.get(origin)
        return () if advert is None else advert.filters

    def brokers_wanting(self, bits: int) -> list[int]:
        """The other brokers that want a message with these bits, in ascending order."""
        return self._interest_table.brokers_wanting(bits)

    def accept(self, adv: Adv, *, now: Instant) -> list[Adv]:
        """Applies an advert of another broker; returns the frames to flood, none if it is old."""
        self._check(adv)
        known = self._adverts.get(adv.origin)
        if known is not None and not SEQ.is_newer(adv.seq, known.seq):
            return []
        if known is None and not self._tombstones.allows(adv.origin, adv.seq):
            return []
        if not adv.full:
            if self.has_missed(adv):
                return []
            assert known is not None
            blooms = set(known.filters).union(adv.added).difference(adv.removed)
            return [adv] if self._install(adv, blooms, now) else []
        frames = self._assemble(adv, now)
        blooms = {bloom for frame in frames for bloom in frame.added}
        return frames if frames and self._install(adv, blooms, now) else []

    def has_missed(self, adv: Adv) -> bool:
        """Whether `adv` is a delta to an advert that never arrived."""
        known = self._adverts.get(adv.origin)
        if adv.full:
            return False
        return known is None or (
            SEQ.is_newer(adv.seq, known.seq) and adv.seq != SEQ.next(known.seq)
        )

    def expire(self, *, now: Instant) -> None:
        """Removes the adverts that were not refreshed in time, and leaves tombstones."""
        self._tombstones.expire(now=now)
        for origin in [o for o, advert in self._adverts.items() if advert.expires <= now]:
            self._tombstones.add(origin, self._adverts[origin].seq, now=now)
            self._remove(origin)
        for origin in [o for o, partial in self._partial_adverts.items() if partial.expires <= now]:
            del self._partial_adverts[origin]

    def _check(self, adv: Adv) -> None:
        if adv.bloom_bytes != self.own.bloom_bytes:
            raise PeerError(f"an advert of {adv.bloom_bytes} bytes a filter is not of this network")
        if adv.parts > self._parts_max:
            raise PeerError(f"an advert of {adv.parts} parts: {self._parts_max} hold all there are")
        if any(bloom >> self._m for bloom in adv.added):
            raise PeerError(f"a filter has more than {self._m} bits")

    def _assemble(self, adv: Adv, now: Instant) -> list[Adv]:
        """All parts of a full advert if this was the last one, otherwise none."""
        if adv.parts == 1:
            return [adv]
        partial = self._partial_adverts.get(adv.origin)
        if partial is None and len(self._partial_adverts) >= self._settings.origins_max:
            self._counters[Count.ADVERTS_OVERFLOW] += 1
            return []
        if partial is None or SEQ.is_newer(adv.seq, partial.seq):
            expires = now + self._settings.compare_ns
            partial = self._partial_adverts[adv.origin] = PartialAdvert(adv.seq, adv.parts, expires)
        if (adv.seq, adv.parts) != (partial.seq, partial.part_count):
            return []
        partial.received[adv.part] = adv
        if len(partial.received) < partial.part_count:
            return []
        return [partial.received[part] for part in range(partial.part_count)]

    def _install(self, adv: Adv, blooms: set[int], now: Instant) -> bool:
        """Stores the filters of an origin; False if there is no room for them."""
        self._partial_adverts.pop(adv.origin, None)
        if len(blooms) > self._settings.origin_filters_max:
            raise PeerError(f"broker {adv.origin} wants {len(blooms)} filters, which is too many")
        known = self._adverts.get(adv.origin)
        if known is None and not self._make_room():
            return False
        previous = () if known is None else known.filters
        if len(self._interest_table) + len(blooms) - len(previous) > self._settings.filters_max:
            self._counters[Count.FILTERS_OVERFLOW] += 1
            return False
        filters = tuple(sorted(blooms))
        if filters != previous:
            self._interest_table.replace(adv.origin, previous, filters)
        self._tombstones.remove(adv.origin)
        expires = now + self._settings.expire_ns
        self._adverts[adv.origin] = Advert(adv.seq, filters, expires)
        return True

    def _make_room(self) -> bool:
        """Makes room for one more advert by evicting an unreachable origin, if there is one."""
        if len(self._adverts) < self._settings.origins_max - 1:
            return True
        self._counters[Count.ADVERTS_OVERFLOW] += 1
        for origin in self._adverts:
            if not self._is_reachable(origin):
                self._remove(origin)
                return True
        return False

    def _remove(self, origin: int) -> None:
        self._interest_table.replace(origin, self._adverts.pop(origin).filters, ())
