"""A naive twin of the send queue, and the promises of a publisher with congestion control.

    source    a submitted message is sent once, dropped once, or queued until its host crashes;
              it is dropped only from a full queue, and only the one that the policy says
    sequence  with `strict`, all messages leave in the order in which they were submitted;
              without, those of the same flows do: those that no filter of the run tells apart
    stall     the oldest queued message leaves within `stall_after_ns`, however slow its flows are
    start     until a receiver reports, nothing leaves faster than the initial rate
    numbers   the messages of a flow are numbered without gaps

Sees the messages that the application submits and the facts that the endpoint emits. Does not
know flows or tokens: their bounds are in `control`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant, to_seconds
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.facts import DroppedAtSource, Sent
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.limits import FIRST_CONTROLLED_FLOW

# The name of the check, and the reason.
Objection: TypeAlias = tuple[str, str]

# The longest wait of the oldest message: this many tokens of its slowest flow, because repairs
# may have taken some in advance, and a few round trips or time-outs.
_TOKENS_MAX: Final = 6
_ROUND_TRIPS_NS: Final = SECOND
# No publisher doubles its initial rate sooner.
_START_NS: Final = 250 * MILLISECOND
_FLOW_SEQ_MASK: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class SubmittedMessage:
    """One message, and when it was submitted by the host's own clock."""

    message: Message
    local_ns: Instant
    # Messages of the same class are in the same flows.
    flow_class: Hashable


class NaiveSendQueue:
    """The send queue of one life of an endpoint.

    `settings` is None without congestion control, where all messages leave at once. `filters`
    are all filters that a subscriber of the run may use; None if they are unknown.
    """

    def __init__(
        self, settings: CongestionSettings | None, filters: Sequence[Filter] | None
    ) -> None:
        self._settings: Final = settings
        # Flows of the literal law are Bloom sets: only equal messages are in the same ones.
        is_literal = settings is not None and settings.law == "literal"
        self._filters: Final = None if is_literal else filters
        self._queue_max: Final = 0 if settings is None else settings.queue_max
        # By the identity of the message, oldest first; ended messages are kept, so that no
        # other object gets their identity.
        self._queued: Final[dict[int, SubmittedMessage]] = {}
        self._ended: Final[dict[int, tuple[SubmittedMessage, str]]] = {}
        self.submitted = self.sent = self.delayed = self.dropped_at_source = 0
        # Whether a receiver has reported.
        self.has_feedback = False
        self._started_ns: Instant | None = None
        self._newest: int | None = None
        # The oldest message, and the global time at which it became the oldest.
        self._oldest: int | None = None
        self._oldest_at: Instant = 0
        self._flow_seqs: Final[dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def stall_after_ns(self) -> Duration:
        """The longest time for which a message may be the oldest."""
        if self._settings is None:
            return 0
        slowest_mps = min(self._settings.rate_min_mps, self._settings.initial_rate_mps)
        return round(_TOKENS_MAX * SECOND / slowest_mps) + _ROUND_TRIPS_NS

    # Events.

    def on_submitted(
        self, message: Message, *, local_ns: Instant, now: Instant
    ) -> Iterator[Objection]:
        """The application submits a message next; the endpoint has handled all before it."""
        yield from self._check_size()
        self.submitted += 1
        if self._started_ns is None:
            self._started_ns = local_ns
        self._newest = id(message)
        self._queued[self._newest] = SubmittedMessage(message, local_ns, self._classify(message))
        self._update_oldest(now)

    def on_sent(
        self, sent: Sent, *, local_ns: Instant, now: Instant, clock_was_stepped: bool
    ) -> Iterator[Objection]:
        """A message leaves; `clock_was_stepped` says that the host's clock was ever set."""
        frame = sent.frame
        text = f"{frame.id} {dict(frame.message.attributes)} is sent"
        key = id(frame.message)
        yield from self._check_sequence(key, text)
        yield from self._end(key, "sent", sent.waited_ns, local_ns, text)
        self.sent += 1
        self.delayed += sent.waited_ns > 0
        if not clock_was_stepped:
            yield from self._check_start(local_ns)
        yield from self._check_flow_seqs(frame, text)
        self._update_oldest(now)

    def on_dropped(
        self, dropped: DroppedAtSource, *, local_ns: Instant, now: Instant
    ) -> Iterator[Objection]:
        """A message will never leave."""
        text = f"{dict(dropped.message.attributes)} is dropped at the source"
        key = id(dropped.message)
        policy = "block" if self._settings is None else self._settings.policy
        if policy == "block":
            yield "source", f"{text}, where publishers wait instead"
        elif key != (self._newest if policy == "drop-newest" else next(iter(self._queued), None)):
            yield "source", f"{text}, which is not the one to {policy}"
        if len(self._queued) <= self._queue_max:
            yield "source", f"{text}, while {len(self._queued) - 1} were queued"
        if dropped.dropped_ns != local_ns:
            yield "source", f"{text} at {local_ns}, and says {dropped.dropped_ns}"
        yield from self._end(key, "dropped", dropped.waited_ns, local_ns, text)
        self.dropped_at_source += 1
        self._update_oldest(now)

    def inspect(
        self, queued: Sequence[Message], *, now: Instant, clock_was_stepped: bool
    ) -> Iterator[Objection]:
        """Compare with `queued`, the endpoint's own queue, oldest first, between two events."""
        yield from self._check_size()
        expected = [submitted.message for submitted in self._queued.values()]
        if [*map(id, queued)] != [*map(id, expected)]:
            yield "source", f"queues {len(queued)} messages, which are not the {len(expected)} due"
        stalled_ns = now - self._oldest_at
        # A host whose clock was set back sleeps longer by that amount.
        if expected and not clock_was_stepped and stalled_ns > self.stall_after_ns:
            first = dict(expected[0].attributes)
            yield "stall", f"{first} is the oldest for {to_seconds(stalled_ns):.3f} s"

    # Checks.

    def _classify(self, message: Message) -> Hashable:
        if self._filters is None:
            return frozenset(message.attributes.items())
        return tuple([filter_.matches(message) for filter_ in self._filters])

    def _check_size(self) -> Iterator[Objection]:
        if len(self._queued) > self._queue_max:
            yield "bounds", f"{len(self._queued)} messages queued, not {self._queue_max}"

    def _end(
        self, key: int, end: str, waited_ns: Duration, local_ns: Instant, text: str
    ) -> Iterator[Objection]:
        submitted = self._queued.pop(key, None)
        if submitted is None:
            before = self._ended.get(key)
            why = "never submitted" if before is None else f"{before[1]} before"
            yield "source", f"{text}, and was {why}"
            return
        self._ended[key] = submitted, end
        if waited_ns != local_ns - submitted.local_ns:
            expected_ns = local_ns - submitted.local_ns
            yield "source", f"{text} after {expected_ns} ns, and says {waited_ns} ns"

    def _check_sequence(self, key: int, text: str) -> Iterator[Objection]:
        own = self._queued.get(key)
        if own is None:
            return
        is_strict = self._settings is not None and self._settings.strict
        for other, older in self._queued.items():
            if other == key:
                return
            if is_strict or older.flow_class == own.flow_class:
                first = f"{dict(older.message.attributes)} of {older.local_ns}"
                yield "sequence", f"{text}, and {first} is older"
                return

    def _check_start(self, local_ns: Instant) -> Iterator[Objection]:
        if self._settings is None or self.has_feedback or self._started_ns is None:
            return
        since_ns = local_ns - self._started_ns
        if 0 <= since_ns < _START_NS:
            sent_max = 1 + self._settings.initial_rate_mps * since_ns / SECOND
            if self.sent > sent_max + 1e-6:
                yield "start", f"{self.sent} messages in {since_ns} ns, not {sent_max:.1f}"

    def _check_flow_seqs(self, frame: Data, text: str) -> Iterator[Objection]:
        for tag in controlled_flow_tags(frame):
            last = self._flow_seqs.get(tag.flow_id)
            if last is not None and tag.flow_seq != last + 1 & _FLOW_SEQ_MASK:
                yield "numbers", f"{text} as {tag.flow_seq} of {tag.flow_id}, after {last}"
            self._flow_seqs[tag.flow_id] = tag.flow_seq

    def _update_oldest(self, now: Instant) -> None:
        oldest = next(iter(self._queued), None)
        if oldest != self._oldest:
            self._oldest, self._oldest_at = oldest, now


def controlled_flow_tags(frame: Data) -> list[FlowTag]:
    """The tags of the controlled flows of a message."""
    return [tag for tag in frame.flows if tag.flow_id >= FIRST_CONTROLLED_FLOW]
