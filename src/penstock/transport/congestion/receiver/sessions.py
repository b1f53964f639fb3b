"""The sessions of an endpoint with all publishers that it receives from.

Matches messages with filters, routes events to sessions and runs their timers. Does not know how
a session measures or what it reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.filter import Filter, Predicate
from penstock.content.index.index import MatchingIndex
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.kernel.timers import Timers
from penstock.kernel.token_bucket import TokenBucket
from penstock.transport.congestion.receiver.feedback_sender import (
    FeedbackSender,
    FrameSent,
    one_way_ns,
)
from penstock.transport.congestion.receiver.flow_view import FlowView
from penstock.transport.congestion.receiver.session import CongestionSession
from penstock.transport.congestion.repair_allowance import REQUESTS_SHARE, request_allowance
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.facts import Loss
from penstock.transport.statistics import ReceiveStatistics, SessionStatistics
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.echo_reply import EchoReply

_PUBLISHERS_MAX: Final = 1_024
_RECENT_LOSSES_MAX: Final = 1_024


class SessionTable:
    """The congestion sessions of one endpoint, one per publisher."""

    def __init__(
        self,
        endpoint_id: int,
        settings: CongestionSettings,
        encoder: Encoder,
        *,
        draw: Callable[[], float],
        send: Callable[[FrameSent, Instant], None],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._settings: Final = settings
        self._encoder: Final = encoder
        self._draw: Final = draw
        self._send: Final = send
        # Interest ids by filter, and the weight of each interest.
        self._interests_by_filter: Final[dict[Filter, list[int]]] = {}
        self._weights: Final[dict[int, float]] = {}
        # The index holds filter ids, which can be sorted: its own order differs between machines.
        self._index: Final[MatchingIndex[int]] = MatchingIndex()
        self._filter_ids: Final[dict[Filter, int]] = {}
        self._filters_by_id: Final[dict[int, Filter]] = {}
        self._last_filter_id = 0
        self._feedback_senders: Final[BoundedDict[int, FeedbackSender]] = BoundedDict(
            _PUBLISHERS_MAX
        )
        self._flow_views: Final[dict[int, dict[Filter, FlowView]]] = {}
        # By publisher, the allowance for recovery requests.
        self._request_allowances: Final[dict[int, TokenBucket]] = {}
        self._timers: Final[Timers[int]] = Timers()
        # Losses already counted: several subscriptions may report the same message.
        self._recent_losses: Final[BoundedDict[MessageId, None]] = BoundedDict(_RECENT_LOSSES_MAX)

    @property
    def sessions(self) -> list[CongestionSession]:
        """All sessions; the publisher received from last is at the end."""
        return [feedback_sender.session for feedback_sender in self._feedback_senders.values()]

    def statistics(self) -> ReceiveStatistics:
        """The size of everything bounded here."""
        return ReceiveStatistics(
            sessions=tuple(
                [
                    SessionStatistics(
                        publisher=session.publisher,
                        filters=tuple([view.filter for view in session.flow_views]),
                    )
                    for session in self.sessions
                ]
            ),
            timers=len(self._timers),
            request_allowances=len(self._request_allowances),
            filters=len(self._interests_by_filter),
            recent_losses=len(self._recent_losses),
        )

    # Interests.

    def subscribed(self, interest_id: int, predicate: Predicate) -> None:
        """Index the filters of a new predicate, with weight 1."""
        self._weights[interest_id] = 1.0
        for filter_ in predicate.filters:
            interest_ids = self._interests_by_filter.setdefault(filter_, [])
            if not interest_ids:
                self._last_filter_id += 1
                self._filter_ids[filter_] = self._last_filter_id
                self._filters_by_id[self._last_filter_id] = filter_
                self._index.add(self._last_filter_id, Predicate([filter_]))
            interest_ids.append(interest_id)

    def set_weight(self, interest_id: int, weight: float) -> None:
        """Set the weight of an interest when the allowed rate is shared among filters."""
        self._weights[interest_id] = weight
        for views in self._flow_views.values():
            for filter_, interest_ids in self._interests_by_filter.items():
                if interest_id in interest_ids and filter_ in views:
                    views[filter_].weight = self._weight_of(filter_)

    def _weight_of(self, filter_: Filter) -> float:
        """The largest weight of the interests with this filter."""
        return max(self._weights[interest_id] for interest_id in self._interests_by_filter[filter_])

    def unsubscribed(self, interest_id: int, predicate: Predicate, now: Instant) -> None:
        """Remove the filters that only this interest had, and release their flows."""
        self._weights.pop(interest_id, None)
        removed = []
        for filter_ in predicate.filters:
            self._interests_by_filter[filter_].remove(interest_id)
            if not self._interests_by_filter[filter_]:
                del self._interests_by_filter[filter_]
                filter_id = self._filter_ids.pop(filter_)
                del self._filters_by_id[filter_id]
                self._index.remove(filter_id)
                removed.append(filter_)
        for publisher, feedback_sender in self._feedback_senders.items():
            removed_views = [
                self._flow_views[publisher].pop(f)
                for f in removed
                if f in self._flow_views[publisher]
            ]
            feedback_sender.release(removed_views, now)

    # Receiving.

    def on_data(self, frame: Data, size_bytes: int, now: Instant) -> None:
        """Measure a message that arrives for the first time."""
        feedback_sender = self._feedback_senders.get(frame.pub)
        if feedback_sender is None or feedback_sender.session.epoch != frame.epoch:
            feedback_sender = self._open_session(frame, now)
        else:
            self._feedback_senders.move_to_end(frame.pub)
        session = feedback_sender.session
        session.rtt.on_message(one_way_ns(frame.send_ts_us, now), now)
        matching = [
            self._flow_view(session, filter_) for filter_ in self._matching_filters(frame.message)
        ]
        session.on_data(frame, matching, size_bytes, now)
        feedback_sender.on_data(frame, now)
        self._request_allowances[frame.pub].deposit(REQUESTS_SHARE * size_bytes)
        self._rearm(feedback_sender)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """Count a loss that a record or digest revealed, unless it is counted already."""
        feedback_sender = self._feedback_senders.get(loss.id.pub)
        if (
            feedback_sender is None
            or feedback_sender.session.epoch != loss.id.epoch
            or loss.is_retracted
        ):
            return
        if loss.id in self._recent_losses or feedback_sender.session.sees_every_loss:
            return
        self._recent_losses[loss.id] = None
        feedback_sender.on_loss(loss.due_ns, now)
        self._rearm(feedback_sender)

    def on_mark(self, publisher: int, epoch: int, now: Instant) -> None:
        """The network has marked the publisher's next message."""
        feedback_sender = self._feedback_senders.get(publisher)
        if feedback_sender is not None and feedback_sender.session.epoch == epoch:
            feedback_sender.on_mark(now)
            self._rearm(feedback_sender)

    def on_echo(self, reply: EchoReply, now: Instant) -> None:
        """Handle a publisher's reply to an echo request."""
        feedback_sender = self._feedback_senders.get(reply.pub)
        if feedback_sender is not None and reply.to == self._endpoint_id:
            feedback_sender.on_echo(reply.echo_ts_us, reply.hold_100us, reply.send_ts_us, now)
            feedback_sender.on_receiver_count(reply.receivers)
            self._rearm(feedback_sender)

    def admit_request(self, publisher: int, size_bytes: int, now: Instant) -> bool:
        """Whether recovery may send this publisher a request."""
        allowance = self._request_allowances.get(publisher)
        return allowance is None or allowance.try_take(now, size_bytes)

    # Timers.

    def wake(self, now: Instant) -> None:
        """Run the timers that are due."""
        for publisher in self._timers.due(now):
            feedback_sender = self._feedback_senders[publisher]
            feedback_sender.wake(now)
            self._rearm(feedback_sender)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    def _rearm(self, feedback_sender: FeedbackSender) -> None:
        publisher, at = feedback_sender.session.publisher, feedback_sender.next_wakeup()
        if at is None:
            self._timers.cancel(publisher)
        elif self._timers.deadline(publisher) != at:
            self._timers.set(publisher, at)

    # Sessions.

    def _open_session(self, first: Data, now: Instant) -> FeedbackSender:
        """Open a session at the first message of a publisher or of its new epoch."""
        evicted = self._feedback_senders.make_room(first.pub)
        if evicted is not None:
            publisher, _ = evicted
            del self._flow_views[publisher], self._request_allowances[publisher]
            self._timers.cancel(publisher)
        feedback_sender = self._feedback_senders[first.pub] = FeedbackSender(
            self._endpoint_id,
            CongestionSession(self._settings, first, now),
            self._settings,
            bloom_bytes=self._encoder.params.m + 7 >> 3,
            draw=self._draw,
            send=self._send,
            now=now,
        )
        self._flow_views[first.pub] = {}
        self._request_allowances[first.pub] = request_allowance()
        return feedback_sender

    def _matching_filters(self, message: Message) -> list[Filter]:
        if len(self._interests_by_filter) == 1:
            return [*self._interests_by_filter]
        return [self._filters_by_id[filter_id] for filter_id in sorted(self._index.match(message))]

    def _flow_view(self, session: CongestionSession, filter_: Filter) -> FlowView:
        views = self._flow_views[session.publisher]
        view = views.get(filter_)
        if view is None:
            bits = self._encoder.filter_bits(filter_)
            view = views[filter_] = FlowView(filter_, bits, self._weight_of(filter_))
            session.flow_views.append(view)
        return view
