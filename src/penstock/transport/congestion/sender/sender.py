"""The publisher's part: what leaves when, and what it says of the flows it is in.

1. What is offered is matched against the flows that are controlled; it leaves when each
   of them has a token, and waits in the `outbox` until then.
2. In each round of feedback the first message of a flow announces it, so that receivers
   who would ask for no less keep silent.
3. Who limits a flow gets its stamp back with the next message of it.

A publisher that has only begun does not know what the network bears: it begins slowly,
and doubles each round trip until it sends all it has, or somebody complains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.content.message import Message
from penstock.content.syntax.writer import format_filter
from penstock.content.tags import Encoder
from penstock.kernel.instant import (
    MICROSECOND,
    MILLISECOND,
    Duration,
    Instant,
    earliest,
)
from penstock.tfrc.rate_meter import Meter
from penstock.transport.congestion.facts import FlowState
from penstock.transport.congestion.receiver.feedback_sender import CLR_MASK
from penstock.transport.congestion.sender.feedback_receiver import Listener
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.sender.send_queue import Outbox, Waiting
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.publish.congestion_header import Head
from penstock.wire.codec.message import size_message
from penstock.wire.frames.data import Flow, FlowDetail
from penstock.wire.frames.feedback import Feedback
from penstock.wire.limits import FLOWS_MAX, MESSAGE_BYTES_MAX

_START: Final = -1
_DRAIN: Final = 1.25
# Of so many flows that came or went it is quicker not to ask for each.
_MOVED_MAX: Final = 16
_DOUBLE_MIN_NS: Final = 250 * MILLISECOND
# Not to spend all of one's time with flows that come and go while many messages wait.
_MATCH_EACH_NS: Final = 100 * MICROSECOND
# What an echo, and a flow's announcement beside its Bloom set, take of a frame.
_ECHO_BYTES: Final = 14
_DETAIL_BYTES: Final = 5


class Sender:
    """Of one endpoint's messages."""

    def __init__(
        self,
        settings: CongestionSettings,
        encoder: Encoder,
        counters: dict[str, int],
        now: Instant,
    ) -> None:
        self._settings: Final = settings
        self._queue_max: Final = settings.queue_max
        self._bloom_bytes: Final = encoder.params.m + 7 >> 3
        self._is_literal: Final = settings.law == "literal"
        self._encoder: Final = encoder
        self.listener: Final = Listener(settings, encoder, counters)
        self.table: Final = self.listener.table
        self.rounds: Final = self.listener.rounds
        self._outbox: Final = Outbox(strict=settings.strict)
        self._offered: Final = Meter()
        # The flow of everything, while it is not known what the network bears.
        self._start: ControlledFlow | None = ControlledFlow(
            _START, None, 0, 0, settings.initial_rate_mps, now
        )
        self._doubled_ns: Instant = now
        self._matched_with = (0, 2)
        # When those that wait may be matched anew: with many it takes long.
        self._matched_ns = self._match_after_ns = now
        # What was offered last and leaves at once, and its flows.
        self._passing: tuple[Waiting, Sequence[ControlledFlow]] | None = None

    # What the application offers.

    @property
    def waiting(self) -> int:
        """Messages that wait."""
        return len(self._outbox) + (self._passing is not None)

    @property
    def held(self) -> Sequence[Waiting]:
        """These messages."""
        return self._outbox.waiting()

    def sample(self) -> Iterator[FlowState]:
        """The flows as they are now."""
        waiting = self._outbox.waiting_by_flow()
        for flow in self.table:
            limited_by = None if flow.is_orphan else flow.clr
            name = str(flow.id) if flow.filter is None else format_filter(flow.filter)
            queued = waiting.get(flow.id, 0)
            yield FlowState(flow.id, name, limited_by, flow.quota_mps, flow.seq, queued)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another."""
        return len(self._outbox) >= self._queue_max

    def has_room(self, message: Message, now: Instant) -> bool:
        """Whether this one need not wait for room: it may be in no flow that others wait for."""
        return not self.is_full or self._leaves(self._match(message), now)

    def _leaves(self, flows: Sequence[ControlledFlow], now: Instant) -> bool:
        """Whether a message of these flows leaves at once."""
        return self._is_current and self._outbox.is_free(flows, now)

    def offer(self, message: Message, now: Instant) -> Waiting | None:
        """One more; returns what is dropped for it, which may be this one."""
        self.rounds.begin(now)
        if self._start is not None:
            self._offered.count(now)
        outbox, flows = self._outbox, self._match(message)
        if self._passing is not None:
            # Whoever offered it did not ask what may leave.
            each, passing = self._passing
            outbox.put(each.message, passing, each.since_ns)
            self._passing = None
        for flow in flows:
            flow.offered.count(now)
        dropped = None
        if self._leaves(flows, now):
            # Also if the queue is full: of flows that nobody waits for.
            self._passing = Waiting(0, message, now), flows
            return None
        if len(outbox) >= self._queue_max:
            if self._settings.policy == "drop-newest":
                return Waiting(0, message, now)
            dropped = outbox.drop_oldest(now)
        outbox.put(message, flows, now)
        return dropped

    def passed(self, now: Instant) -> tuple[Waiting, Sequence[ControlledFlow]] | None:
        """What was offered last, if it leaves at once; then nothing else may leave now."""
        passing = self._passing
        if passing is None:
            return None
        self._passing = None
        each, flows = passing
        for flow in flows:
            flow.bucket.take(now)
        if flows and flows[0].id == _START:
            flows = flows[1:]
        return each, flows

    def ready(self, now: Instant) -> Iterator[tuple[Waiting, Sequence[ControlledFlow]]]:
        """What may leave now."""
        passed = self.passed(now)
        if passed is not None:
            yield passed
            return
        self._rematch(now)
        if self._outbox:
            for each, flows in self._outbox.ready(now):
                yield each, [flow for flow in flows if flow.id != _START]

    def head(self, message: Message, flows: Sequence[ControlledFlow], now: Instant) -> Head:
        """What the message says that is about to leave."""
        if not flows:
            return Head((), None, self.rounds.r_code, self.rounds.number)
        told = []
        echo = None
        # How large it is is asked only if a flow is to be announced.
        room_bytes = None
        listener, round_ = self.listener, self.rounds.number
        for place, flow in enumerate(flows[:FLOWS_MAX]):
            flow.number(now)
            detail = None
            if flow.told_round != round_:
                if room_bytes is None:
                    room_bytes = MESSAGE_BYTES_MAX - _ECHO_BYTES - size_message(message)
                if room_bytes >= (place + 1) * (_DETAIL_BYTES + self._bloom_bytes):
                    flow.told_round = round_
                    detail = FlowDetail(flow.clr & CLR_MASK, flow.bits, self._bloom_bytes)
            told.append(Flow(flow.id, flow.said_mps, flow.seq, detail))
            if echo is None:
                echo = listener.echo_of(flow.id, now)
        return Head(tuple(told), echo, self.rounds.r_code, round_)

    # What receivers say.

    def on_feedback(self, feedback: Feedback, now: Instant) -> None:
        """A receiver says how much of what may come."""
        self.listener.on_feedback(feedback, now)
        if self._is_literal and self.listener.is_told:
            # It is taken for known now what the network bears. Else the start goes on with what
            # nobody complains of: that must not leave at once.
            self._start = None

    def may_repair(self, bits: int, now: Instant) -> bool:
        """Whether what is sent again may leave: a tenth of each of its flows is for such."""
        flows = self.table.within(bits)
        if any(flow.repairs.tokens(now) < 1 for flow in flows):
            return False
        for flow in flows:
            flow.repairs.take(now)
            # It may be owed: new messages wait for it.
            flow.bucket.take(now)
        return True

    # What is due.

    def wake(self, now: Instant) -> None:
        """Rounds, silence and the start."""
        self.rounds.wake(now)
        self.table.expire(self.rounds.r_max_ns, now)
        if self._start is not None and now - self._doubled_ns >= self._double_ns:
            self._doubled_ns = now
            quota_mps = self._start.quota_mps
            # What has gathered meanwhile must not come at once, but within a second or so.
            most = max(_DRAIN * self._offered.rate(now), len(self._outbox))
            is_idle = not self._outbox and self._offered.rate(now) < quota_mps
            if is_idle or (self.listener.is_told and quota_mps >= most):
                self._start = None
            else:
                self._start.set_quota(max(quota_mps, min(2 * quota_mps, most)), now)
                self.table.touched[_START] = None

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        at = self.rounds.ends_at
        if self._start is None or at is None:
            return at
        return min(at, self._doubled_ns + self._double_ns)

    def next_at(self, now: Instant) -> Instant | None:
        """When the next message may leave, if nothing changes."""
        if not self._outbox:
            return None
        at = self._outbox.next_at(now)
        return at if self._is_current else earliest(at, max(now, self._match_after_ns))

    # How it is done.

    @property
    def _double_ns(self) -> Duration:
        """Whoever has to complain must have the time to: a queue makes round trips longer."""
        return max(self.rounds.r_max_ns, _DOUBLE_MIN_NS)

    def _match(self, message: Message) -> list[ControlledFlow]:
        bits = self._encoder.message_bits(message) if self._is_literal else 0
        flows = self.table.match(message, bits)
        if self._start is None or (self.listener.is_told and flows):
            return flows
        return [self._start, *flows]

    @property
    def _start_of(self) -> int:
        """Whether the start limits everything, what is in no flow, or nothing."""
        return 0 if self._start is None else 2 - self.listener.is_told

    @property
    def _is_current(self) -> bool:
        """Whether those that wait are matched with the flows that there are."""
        version, start_of = self._matched_with
        table = self.table
        return (
            not table.touched
            and version == table.version
            and start_of == (0 if self._start is None else 2 - self.listener.is_told)
        )

    def _is_moved(self, moved: Sequence[ControlledFlow]) -> bool:
        """Whether flows that came or went make a difference to those that wait."""
        is_unsure = self._is_literal or len(moved) > _MOVED_MAX
        return is_unsure or self._outbox.is_concerned(moved)

    def _rematch(self, now: Instant) -> None:
        if self._is_current:
            return
        table, outbox = self.table, self._outbox
        for id_ in table.touched:
            outbox.look_at(id_, now)
        table.touched.clear()
        version, start_of = self._matched_with
        if version == table.version and start_of == self._start_of:
            return
        if outbox and self._matched_ns <= now < self._match_after_ns:
            return
        self._matched_with = table.version, self._start_of
        self._matched_ns, self._match_after_ns = now, now + _MATCH_EACH_NS * len(outbox)
        moved = list(table.moved)
        table.moved.clear()
        if outbox and (start_of != self._start_of or self._is_moved(moved)):
            outbox.rematch(self._match, now)
