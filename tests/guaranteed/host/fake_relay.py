"""The relay and the pubend of one reading, as far as a host hears of them; links are no part."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from penstock.content.filter import Predicate
from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.pubend_reading import PubendReading
from penstock.guaranteed.run import Run
from penstock.guaranteed.settings import CongestionSettings, HostSettings
from penstock.guaranteed.stream_item import StreamItem, matching
from penstock.guaranteed.tick import tick_of
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId
from penstock.wire.frames.guaranteed.congestion import CongestionQuery, Live
from penstock.wire.frames.guaranteed.knowledge import Horizon
from penstock.wire.frames.guaranteed.requests import FilterAck, FilterRequest, Nack, ReaderRequest

PUBEND = 1
# Stream time, in milliseconds, when the host's clock shows 0.
BEGIN_MS = 1_000_000

Frame = TypeVar("Frame")


class Subscriber:
    """A subscription that takes everything at once."""

    def __init__(self, relay: FakeRelay, predicate: Predicate, since_ms: int) -> None:
        self.predicate = predicate
        self.has_credit = True
        self.got: Final[list[int]] = []
        attempts: Any = SimpleNamespace(
            reserve=lambda _tick: True, is_backing_off=lambda _now: False
        )
        subscription: Any = self
        start = tick_of(BEGIN_MS + since_ms)
        self.feed: Final = Feed(subscription, PUBEND, start, attempts=attempts)
        relay.reading.add(self.feed, now=relay.now)

    def hand_out_untried(self, feed: Feed, decided: Iterable[object]) -> int:
        """All of it is new."""
        done = 0
        for item in decided:
            assert isinstance(item, StreamItem)
            if feed.wants(item):
                self.got.append((item.tick >> 20) - BEGIN_MS)
                feed.position = item.tick + 1
            done += 1
        return done


class FakeRelay:
    """Time goes on when it is told to, and nothing is answered by itself."""

    def __init__(self, congestion: CongestionSettings | None = None) -> None:
        self.asked: Final[list[BrokerFrame]] = []
        self.reading: Final = PubendReading(
            PUBEND,
            "s",
            0,
            settings=HostSettings(),
            congestion=congestion or CongestionSettings(),
            ask=self.asked.append,
        )
        self.ms = 0
        self.is_up = True
        self._is_live = True
        self._items: Final[list[StreamItem]] = []
        self._filter = Predicate([])
        # What was said in order: the next run begins there.
        self._said = tick_of(BEGIN_MS)
        self._readers: Final[dict[ReaderId, Predicate]] = {}
        self._seq = 0
        # How many of the frames that were asked have been dealt with.
        self._taken = 0

    @property
    def now(self) -> Instant:
        """The clock of the host."""
        return self.ms * MILLISECOND

    @property
    def horizon(self) -> int:
        """The first tick that is not decided."""
        return tick_of(BEGIN_MS + self.ms)

    @property
    def to_go_ms(self) -> float:
        """How far the host is behind."""
        assert self.reading.live is not None
        return (self.horizon - self.reading.live.doubt) / tick_of(1)

    def all_asked(self, kind: type[Frame]) -> list[Frame]:
        """All frames of one kind that the host has sent."""
        return [frame for frame in self.asked if isinstance(frame, kind)]

    def ticks(self, predicate: Predicate, since_ms: int = 0) -> list[int]:
        """When messages were published that match."""
        found = [(item.tick >> 20) - BEGIN_MS for item in matching(self._items, predicate)]
        return [ms for ms in found if ms >= since_ms]

    def run(self, duration_ms: int, *, every_ms: int = 20) -> None:
        """Messages with k = 0, 1, 2 are published, and sent as LIVE and the link allow."""
        until = self.ms + duration_ms
        while self.ms < until:
            number = len(self._items)
            body = write_body({"k": number % 3}, b"")
            self._items.append(StreamItem(self.horizon, 0, body))
            self.ms += every_ms
            if self.is_up:
                self.say()
            self.wake()

    def say(self) -> None:
        """What is new, or where that is."""
        if self._is_live:
            self._tell(Run(PUBEND, self._said, self.horizon, self._between()))
        else:
            self._tell(Horizon(pubend=PUBEND, stop=self.horizon))
        self._said = self.horizon

    def wake(self) -> None:
        """The timers of the host."""
        at = self.reading.next_wakeup()
        if at is not None and at <= self.now:
            self.reading.wake(now=self.now)

    def cut(self) -> None:
        """The link is down."""
        self.is_up, self._is_live = False, True
        self.reading.link_lost()

    def mend(self) -> None:
        """The link is up, and says first where the pubend is."""
        self.is_up = True
        self._said = self.horizon
        self._tell(Horizon(pubend=PUBEND, stop=self.horizon))

    def query(self) -> None:
        """DCQ."""
        self._seq += 1
        frame = CongestionQuery(pubend=PUBEND, seq=self._seq, newest=self.horizon - 1)
        self.reading.receive(frame, now=self.now)

    def take(self) -> list[Run]:
        """Takes all requests up to now; returns the answers to NACKs, which are still to send."""
        answers: list[Run] = []
        while self._taken < len(self.asked):
            frame = self.asked[self._taken]
            self._taken += 1
            if isinstance(frame, FilterRequest):
                self._filter = frame.predicate
                ack = FilterAck(pubend=PUBEND, epoch=frame.epoch, tick=self.horizon)
                self._tell(ack)
                self._tell(Horizon(pubend=PUBEND, stop=self.horizon))
                self._said = self.horizon
            elif isinstance(frame, ReaderRequest):
                self._readers.pop(frame.reader, None)
                if frame.predicate is not None:
                    self._readers[frame.reader] = frame.predicate
            elif isinstance(frame, Live):
                self._is_live = frame.is_on
            elif isinstance(frame, Nack):
                answers += self._answers(frame)
        return answers

    def answer(self) -> bool:
        """Answers everything; returns whether there was something to answer."""
        answers = self.take()
        for run in answers:
            self._tell(run)
        return bool(answers)

    def take_none(self) -> None:
        """What was asked is lost."""
        self._taken = len(self.asked)

    def _answers(self, frame: Nack) -> list[Run]:
        predicate = self._filter
        if frame.reader is not None:
            if frame.reader not in self._readers:
                self._tell(ReaderRequest(pubend=PUBEND, reader=frame.reader, predicate=None))
                return []
            predicate = self._readers[frame.reader]
        return [
            Run(
                PUBEND,
                start,
                stop,
                matching([i for i in self._items if start <= i.tick < stop], predicate),
                frame.reader,
            )
            for start, stop in frame.ranges
        ]

    def _between(self) -> list[StreamItem]:
        new = [item for item in self._items[-5:] if item.tick >= self._said]
        return matching(new, self._filter)

    def _tell(self, frame: BrokerFrame | Run) -> None:
        self.reading.receive(frame, now=self.now)
