"""Maps each advertised filter to the brokers that advertise it.

Distant brokers often advertise the same filter, and search time grows with the number of filters,
so a shared filter is searched once. Does not know adverts or their sequence numbers.
"""

from __future__ import annotations

from typing import Final

from penstock.content.bloom import FilterTable

_CACHED_MATCHES_MAX: Final = 4_096


class InterestTable:
    """Bloom sets of `m` bits, with the origins that advertise each."""

    def __init__(self, m: int) -> None:
        self._table: FilterTable[int] = FilterTable(m)
        self._origins: dict[int, list[int]] = {}
        self._count = 0
        # Most messages repeat earlier ones, and a search costs five times as much as forwarding.
        self._cached_matches: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return self._count

    def replace(self, origin: int, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Replaces the filters of `origin`."""
        self._cached_matches.clear()
        unchanged = set(before).intersection(after)
        for bloom in before:
            if bloom not in unchanged:
                self._remove(origin, bloom)
        for bloom in after:
            if bloom not in unchanged:
                self._add(origin, bloom)

    def brokers_wanting(self, bits: int) -> list[int]:
        """The brokers that want a message with these bits, in ascending order."""
        origins = self._cached_matches.get(bits)
        if origins is None:
            if len(self._cached_matches) >= _CACHED_MATCHES_MAX:
                self._cached_matches.clear()
            by_bloom = self._origins
            found = {origin for bloom in self._table.matching(bits) for origin in by_bloom[bloom]}
            origins = self._cached_matches[bits] = sorted(found)
        return origins

    def _add(self, origin: int, bloom: int) -> None:
        self._count += 1
        origins = self._origins.get(bloom)
        if origins is None:
            self._origins[bloom] = [origin]
            self._table.add(bloom, bloom)
        else:
            origins.append(origin)

    def _remove(self, origin: int, bloom: int) -> None:
        self._count -= 1
        origins = self._origins[bloom]
        origins.remove(origin)
        if not origins:
            del self._origins[bloom]
            self._table.remove(bloom)
