"""All publishers that an endpoint hears, and what it has to say to them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from penstock.content.filter import Filter, Predicate
from penstock.content.index.index import MatchingIndex
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import Instant
from penstock.kernel.timers import Timers
from penstock.transport.congestion.receiver.feedback_sender import Reporter, Said, way_of
from penstock.transport.congestion.receiver.flow_view import Entry
from penstock.transport.congestion.receiver.session import Session
from penstock.transport.congestion.repair_allowance import Requests
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.facts import Loss
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.echo_reply import EchoReply

_PUBLISHERS_MAX: Final = 1_024
_LOST_MAX: Final = 1_024


class Receiver:
    """One endpoint's."""

    def __init__(
        self,
        me: int,
        settings: CongestionSettings,
        encoder: Encoder,
        *,
        draw: Callable[[], float],
        send: Callable[[Said, Instant], None],
    ) -> None:
        self._me: Final = me
        self._settings: Final = settings
        self._encoder: Final = encoder
        self._draw: Final = draw
        self._send: Final = send
        # The wishes that want each filter, and with which weight.
        self._filters: Final[dict[Filter, list[int]]] = {}
        self._weights: Final[dict[int, float]] = {}
        # Filters have numbers there: its own order is not the same on every machine.
        self._index: Final[MatchingIndex[int]] = MatchingIndex()
        self._numbers: Final[dict[Filter, int]] = {}
        self._numbered: Final[dict[int, Filter]] = {}
        self._next_number = 0
        self._reporters: Final[OrderedDict[int, Reporter]] = OrderedDict()
        self._entries: Final[dict[int, dict[Filter, Entry]]] = {}
        # What may be asked of each.
        self._requests: Final[dict[int, Requests]] = {}
        self._timers: Final[Timers[int]] = Timers()
        # What was told as lost of late: several subscriptions may miss the same message.
        self._lost: Final[OrderedDict[MessageId, None]] = OrderedDict()

    @property
    def sessions(self) -> list[Session]:
        """One for each publisher, the one heard last at the end."""
        return [reporter.session for reporter in self._reporters.values()]

    # What is wanted.

    def subscribed(self, wish: int, predicate: Predicate) -> None:
        """One more predicate."""
        self._weights[wish] = 1.0
        for filter_ in predicate.filters:
            wishes = self._filters.setdefault(filter_, [])
            if not wishes:
                self._next_number += 1
                self._numbers[filter_] = self._next_number
                self._numbered[self._next_number] = filter_
                self._index.add(self._next_number, Predicate([filter_]))
            wishes.append(wish)

    def weigh(self, wish: int, weight: float) -> None:
        """It is to get so much more, or less, than others, where not all can have all."""
        self._weights[wish] = weight
        for entries in self._entries.values():
            for filter_, wishes in self._filters.items():
                if wish in wishes and filter_ in entries:
                    entries[filter_].weight = self._weight(filter_)

    def _weight(self, filter_: Filter) -> float:
        """The largest of those who want it."""
        return max(self._weights[wish] for wish in self._filters[filter_])

    def unsubscribed(self, wish: int, predicate: Predicate, now: Instant) -> None:
        """One less: flows that only it wanted are not ours to limit any more."""
        self._weights.pop(wish, None)
        gone = []
        for filter_ in predicate.filters:
            self._filters[filter_].remove(wish)
            if not self._filters[filter_]:
                del self._filters[filter_]
                number = self._numbers.pop(filter_)
                del self._numbered[number]
                self._index.remove(number)
                gone.append(filter_)
        for pub, reporter in self._reporters.items():
            left = [self._entries[pub].pop(f) for f in gone if f in self._entries[pub]]
            reporter.drop(left, now)

    # What comes.

    def on_data(self, frame: Data, size_bytes: int, now: Instant) -> None:
        """A message that came for the first time."""
        reporter = self._reporters.get(frame.pub)
        if reporter is None or reporter.session.epoch != frame.epoch:
            reporter = self._begin(frame, now)
        else:
            self._reporters.move_to_end(frame.pub)
        session = reporter.session
        session.rtt.on_message(way_of(frame.send_ts_us, now), now)
        matching = [self._entry(session, filter_) for filter_ in self._matching(frame.message)]
        session.on_data(frame, matching, size_bytes, now)
        reporter.on_data(frame, now)
        self._requests[frame.pub].came(size_bytes)
        self._rearm(reporter)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A record or a digest told of one that did not come."""
        reporter = self._reporters.get(loss.id.pub)
        if reporter is None or reporter.session.epoch != loss.id.epoch or loss.is_retracted:
            return
        if loss.id in self._lost or reporter.session.is_exact:
            return
        self._lost[loss.id] = None
        if len(self._lost) > _LOST_MAX:
            self._lost.popitem(last=False)
        reporter.on_lost(loss.due_ns, now)
        self._rearm(reporter)

    def on_marked(self, pub: int, epoch: int, now: Instant) -> None:
        """A message of a publisher is about to come that the network has marked."""
        reporter = self._reporters.get(pub)
        if reporter is not None and reporter.session.epoch == epoch:
            reporter.on_marked(now)
            self._rearm(reporter)

    def on_echo(self, reply: EchoReply, now: Instant) -> None:
        """A publisher gave our stamp back."""
        reporter = self._reporters.get(reply.pub)
        if reporter is not None and reply.to == self._me:
            reporter.on_echo(reply.echo_ts_us, reply.hold_100us, reply.send_ts_us, now)
            reporter.on_receivers(reply.receivers)
            self._rearm(reporter)

    def may_ask(self, pub: int, size_bytes: int, now: Instant) -> bool:
        """Whether recovery may send this publisher a request."""
        requests = self._requests.get(pub)
        return requests is None or requests.take(size_bytes, now)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Runs everything that is due."""
        for pub in self._timers.due(now):
            reporter = self._reporters[pub]
            reporter.wake(now)
            self._rearm(reporter)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    def _rearm(self, reporter: Reporter) -> None:
        pub, at = reporter.session.pub, reporter.next_wakeup()
        if at is None:
            self._timers.cancel(pub)
        elif self._timers.deadline(pub) != at:
            self._timers.set(pub, at)

    # Whom we hear.

    def _begin(self, first: Data, now: Instant) -> Reporter:
        """A publisher's first message, or the first of a new epoch."""
        if first.pub not in self._reporters and len(self._reporters) >= _PUBLISHERS_MAX:
            pub, _ = self._reporters.popitem(last=False)
            del self._entries[pub], self._requests[pub]
            self._timers.cancel(pub)
        reporter = self._reporters[first.pub] = Reporter(
            self._me,
            Session(self._settings, first, now),
            self._settings,
            bloom_bytes=self._encoder.params.m + 7 >> 3,
            draw=self._draw,
            send=self._send,
            now=now,
        )
        self._entries[first.pub] = {}
        self._requests[first.pub] = Requests(now)
        return reporter

    def _matching(self, message: Message) -> list[Filter]:
        if len(self._filters) == 1:
            return [*self._filters]
        return [self._numbered[number] for number in sorted(self._index.match(message))]

    def _entry(self, session: Session, filter_: Filter) -> Entry:
        entries = self._entries[session.pub]
        entry = entries.get(filter_)
        if entry is None:
            bits = self._encoder.filter_bits(filter_)
            entry = entries[filter_] = Entry(filter_, bits, self._weight(filter_))
            session.entries.append(entry)
        return entry
