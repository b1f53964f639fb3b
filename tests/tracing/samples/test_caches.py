from penstock.trace.records import CacheSample
from penstock.tracing.samples.caches import cache_samples
from penstock.transport.recovery.cache import CacheStatus
from tests.tracing.rows import NAMES


def test_each_publisher_has_a_cache() -> None:
    caches = [CacheStatus(1, 10, 20, 3000, 4, 5), CacheStatus(77, 1, 20, 300, 0, 0)]
    assert list(cache_samples("far", caches, NAMES, now=100)) == [
        CacheSample(100, "far", "writer", 10, 20, 3000, 4, 5),
        CacheSample(100, "far", "77", 1, 20, 300, 0, 0),
    ]
