from penstock.kernel.instant import SECOND
from penstock.trace.records import LinkSample, QueueSample
from penstock.tracing.samples.links import LinkSamples, LinkState

FIRST = LinkState(
    sent_bytes=1000, sent_packets=10, queue_full=1, loss=2, down=3, corrupt=4, rate_bps=8_000
)
NEXT = LinkState(
    sent_bytes=1500,
    sent_packets=14,
    queue_full=1,
    loss=3,
    down=5,
    corrupt=7,
    rate_bps=16_000,
    queue_packets=2,
    queue_bytes=250,
)


def test_counts_are_since_the_sample_before() -> None:
    samples = LinkSamples()
    first, _ = samples.sample("B1-B2", FIRST, SECOND, now=SECOND)
    second, _ = samples.sample("B1-B2", NEXT, SECOND, now=2 * SECOND)
    assert first == LinkSample(SECOND, "B1-B2", SECOND, 8_000, 1000, 10, 1, 2, 3, 4)
    # The capacity is that at the beginning of the interval.
    assert second == LinkSample(2 * SECOND, "B1-B2", SECOND, 8_000, 500, 4, 0, 1, 2, 3)


def test_links_are_counted_apart() -> None:
    samples = LinkSamples()
    samples.sample("B1-B2", FIRST, SECOND, now=SECOND)
    back, _ = samples.sample("B2-B1", FIRST, SECOND, now=SECOND)
    assert back.sent_bytes == 1000


def test_a_queue_is_as_it_is_now() -> None:
    _, queued = LinkSamples().sample("B1-B2", NEXT, SECOND, now=SECOND)
    assert queued == QueueSample(SECOND, "B1-B2", 2, 250, None)
