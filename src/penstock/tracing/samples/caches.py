"""Samples of a node's repair caches, one per publisher."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.kernel.instant import Instant
from penstock.trace.records import CacheSample
from penstock.tracing.names import Names
from penstock.transport.recovery.cache import CacheStatus


def cache_samples(
    node: str, caches: Iterable[CacheStatus], names: Names, *, now: Instant
) -> Iterator[CacheSample]:
    """One sample per cache; hits and misses are counted since the previous sample already."""
    for status in caches:
        yield CacheSample(now, node, names[status.publisher], *status[1:])
