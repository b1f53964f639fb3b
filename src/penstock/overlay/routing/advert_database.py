"""What the other brokers want of one class, and which of them want a message.

1. A full advert newer than what is known replaces it, once all its parts are here.
2. A delta holds only on top of the advert numbered just before it. A later one
   shows that something was missed: it is left alone, and a full advert asked for.
3. Only what was taken is passed on. So a broker that missed something passes on
   the full advert that it gets, and those behind it are well again too.
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
    """What one origin wants, as of `seq`; sorted."""

    seq: int
    filters: tuple[int, ...]
    expires: Instant


@dataclass(slots=True)
class PartialAdvert:
    """A full advert of which some parts are still on their way."""

    seq: int
    part_count: int
    expires: Instant
    received: dict[int, Adv] = field(default_factory=dict)


class AdvertDatabase:
    """The adverts of one class by origin. Ours, `own`, is not searched: we match exactly."""

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
        """How many filters there are in all."""
        return len(self._interest_table)

    def seqs(self) -> dict[int, int]:
        """The number of each broker's latest, ours included, be it forgotten."""
        return {**self._tombstones.seqs(), **self.current()}

    def current(self) -> dict[int, int]:
        """The same without those of which only the number is left."""
        known = {origin: advert.seq for origin, advert in self._adverts.items()}
        return {self.own.origin: self.own.seq, **known}

    def frames(self, origin: int) -> list[Adv]:
        """What to send someone who lacks what we know of `origin`."""
        if origin == self.own.origin:
            return self.own.full()
        advert = self._adverts[origin]
        return self.own.full_advert(origin, advert.seq, advert.filters)

    def filters(self, origin: int) -> tuple[int, ...]:
        """What another broker is known to want."""
        advert = self._adverts.get(origin)
        return () if advert is None else advert.filters

    def brokers_wanting(self, bits: int) -> list[int]:
        """The other brokers that want a message with these bits, lowest first."""
        return self._interest_table.brokers_wanting(bits)

    def accept(self, adv: Adv, *, now: Instant) -> list[Adv]:
        """Takes another broker's word; the frames to pass on, none if it was no news."""
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
        """Whether this is a delta on top of something that never came here."""
        known = self._adverts.get(adv.origin)
        if adv.full:
            return False
        return known is None or (
            SEQ.is_newer(adv.seq, known.seq) and adv.seq != SEQ.next(known.seq)
        )

    def expire(self, *, now: Instant) -> None:
        """Forgets whoever was not heard of for too long."""
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
        """All parts of a full advert, when this was the last one missing."""
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
        """Puts in place what an origin wants now, if there is room for it."""
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
        """Whether there is place for one more, at the cost of one who cannot be reached."""
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
