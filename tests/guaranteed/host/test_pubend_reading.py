"""How subscriptions follow the readers of one pubend."""

from __future__ import annotations

from penstock.content.filter import Predicate
from penstock.content.syntax import parse
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.host.subscription import Subscription
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.wire.frames.guaranteed.base import BrokerFrame, ClientFrame, GapReason
from penstock.wire.frames.guaranteed.knowledge import Gap, Horizon, Silence
from penstock.wire.frames.guaranteed.requests import FilterAck, ReaderRequest
from penstock.wire.frames.guaranteed.subscription import GapNotice

ONE, TWO = parse("k = 1"), parse("k = 2")


class Host:
    """A reading, what it asks for, and what its clients get."""

    def __init__(self) -> None:
        self.asked: list[BrokerFrame] = []
        self.told: list[ClientFrame] = []
        self.reading = PubendReading(1, "h", 1, settings=HostSettings(), ask=self.asked.append)

    def add(self, predicate: Predicate, position: int) -> Feed:
        """A subscription with credit."""
        subscription = Subscription(
            "client",
            1,
            predicate=predicate,
            durable=None,
            resumed=False,
            send=lambda _port, frame: self.told.append(frame),
        )
        subscription.credit_messages = subscription.credit_bytes = 1_000
        feed = Feed(subscription, 1, position)
        self.reading.add(feed, now=0)
        return feed

    def hear(self, *frames: BrokerFrame) -> None:
        """What the relay says."""
        for frame in frames:
            self.reading.receive(frame, now=0)


def test_a_gap_around_the_target_of_a_hand_over_is_told() -> None:
    host = Host()
    feed = host.add(EVERYTHING, 0)
    host.hear(FilterAck(pubend=1, epoch=1, tick=100), Horizon(pubend=1, stop=200))
    assert feed.target == 100
    host.hear(Gap(pubend=1, start=50, stop=150, reason=GapReason.RETENTION, messages=9))
    (reader,) = [each.reader for each in host.asked if isinstance(each, ReaderRequest)]
    host.hear(Silence(pubend=1, start=0, stop=100, reader=reader))
    assert feed.is_live
    (notice,) = [each for each in host.told if isinstance(each, GapNotice)]
    assert (notice.start, notice.stop) == (100, 150)


def test_a_subscription_takes_nothing_that_reader_0_knows_under_a_narrower_filter() -> None:
    """Reader 0 is behind: what it knows already was said before the filter was granted."""
    host = Host()
    host.add(ONE, 100)
    host.hear(FilterAck(pubend=1, epoch=1, tick=100), Silence(pubend=1, start=150, stop=200))
    host.add(TWO, 100)
    host.hear(FilterAck(pubend=1, epoch=2, tick=200))
    late = host.add(TWO, 100)
    assert not late.is_live
    assert late.valid_from == 200
