import pytest

from penstock.tracing.publication_times import RecordedTimes
from tests.frames import data


def test_each_publisher_has_its_own_times() -> None:
    times = RecordedTimes()
    times.on_published(data(0, {}, pub=1), now=10)
    times.on_published(data(0, {}, pub=2), now=15)
    times.on_published(data(1, {}, pub=1), now=20)
    assert times.published_ns(data(0, {}, pub=1), now=50) == 10
    assert times.published_ns(data(1, {}, pub=1), now=50) == 20
    assert times.published_ns(data(0, {}, pub=2), now=50) == 15


def test_a_publication_that_was_not_recorded_is_our_bug() -> None:
    times = RecordedTimes()
    times.on_published(data(0, {}), now=10)
    with pytest.raises(AssertionError, match="without holes"):
        times.on_published(data(2, {}), now=20)
    with pytest.raises(LookupError):
        times.published_ns(data(1, {}), now=20)
