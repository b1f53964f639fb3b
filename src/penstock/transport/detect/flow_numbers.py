"""Numbers what matches an exact filter apart from all else: the publisher's part of tracking.

A record or a digest says nothing of a range, and a Bloom set little of a rare value.
A subscriber that must know exactly what it lost names its filters; each filter is a
flow, shared by all who name the same, and each message that matches a flow carries
the flow's next number. A hole in them is a loss, whatever the filter.

Bounded in every way: so many flows, so many of them a subscriber's, so many numbers of
each that can still be asked for. A message that matches more flows than a header has
room for is numbered in the rarest of them; in the others its loss is told by
records and digests alone, and leaves no hole.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from penstock.content.filter import Filter, Predicate
from penstock.content.index import MatchingIndex
from penstock.content.message import Message
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.kernel.sequence import FLOW_SEQ
from penstock.transport.flow_registry import FlowRegistry
from penstock.transport.statistics import FlowNumbersStatistics
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.limits import FIRST_CONTROLLED_FLOW, FLOWS_MAX

# Who tracks says so again within this time.
LEASE_NS: Final[Duration] = 120 * SECOND
# How much of a publisher's table one subscriber may take: a part of this size.
_SUBSCRIBER_SHARE_DIVISOR: Final = 4
# How many filters claims may name in all, for each flow that there may be.
_CLAIMED_FILTERS_PER_FLOW: Final = 16
# The last numbers of a flow of which it is known which messages they were; and of all flows.
_HISTORY_PER_FLOW_MAX: Final = 1_024
_HISTORY_MAX: Final = 1 << 17
_FLOW_IDS: Final = range(FIRST_CONTROLLED_FLOW)


class NumberedMessage(NamedTuple):
    """A message that has a number in a flow."""

    seq: int
    sent_ns: Instant


class FlowClaim(NamedTuple):
    """Who wants a flow, and by which of its tokens."""

    subscriber: int
    token: int


# For each filter of a claim its flow, and the last number before it was wanted.
_FlowStarts: TypeAlias = Sequence[tuple[int, int] | None]


class _TrackedFlow:
    """What matches one filter."""

    __slots__ = ("claims", "filter", "id", "last_seq", "messages")

    def __init__(self, id_: int, filter_: Filter) -> None:
        self.id: Final = id_
        self.filter: Final = filter_
        self.claims: Final[set[FlowClaim]] = set()
        # The last number that was given, and the messages of the last ones.
        self.last_seq = 0
        self.messages: Final[BoundedDict[int, NumberedMessage]] = BoundedDict(_HISTORY_PER_FLOW_MAX)


class FlowNumbers:
    """The flows of one publisher's epoch, at most `most` of them."""

    def __init__(self, flows_max: int) -> None:
        self._flows_max: Final = min(flows_max, len(_FLOW_IDS))
        self._flows: Final[dict[int, _TrackedFlow]] = {}
        self._by_filter: Final[dict[Filter, _TrackedFlow]] = {}
        self._index: Final[MatchingIndex[int]] = MatchingIndex()
        # The numbers of all flows that are remembered, the oldest first; some flows have ended.
        self._history: Final[deque[tuple[_TrackedFlow, int]]] = deque()
        # Filters that claims name, in all.
        self._claimed_filters = 0
        # The flows of each claim, and until when it holds; those that end first come first.
        self._claims: Final[OrderedDict[FlowClaim, tuple[_FlowStarts, Instant]]] = OrderedDict()
        self._registry: Final = FlowRegistry(
            _FLOW_IDS, per_owner_max=max(1, self._flows_max // _SUBSCRIBER_SHARE_DIVISOR)
        )
        # Those that got a number since they were last told of.
        self._advanced: Final[set[int]] = set()

    def __len__(self) -> int:
        return len(self._flows)

    def statistics(self) -> FlowNumbersStatistics:
        """The size of everything bounded here."""
        return FlowNumbersStatistics(
            flows=len(self._flows), claims=len(self._claims), numbered=len(self._history)
        )

    # What is sent.

    def tags_for(self, message: Message) -> tuple[FlowTag, ...]:
        """The flows of a message that is about to leave, with the numbers that it would get."""
        if not self._flows:
            return ()
        found = [self._flows[id_] for id_ in sorted(self._index.match(message))]
        if len(found) > FLOWS_MAX:
            found = sorted(found, key=lambda flow: flow.last_seq)[:FLOWS_MAX]
        return tuple([FlowTag(flow.id, 0.0, (flow.last_seq + 1) & FLOW_SEQ.mask) for flow in found])

    def on_sent(self, frame: Data, now: Instant) -> None:
        """It left, and its numbers are given."""
        for tag in tracked_flow_tags(frame):
            flow = self._flows[tag.flow_id]
            flow.last_seq = tag.flow_seq
            flow.messages[flow.last_seq] = NumberedMessage(frame.seq, now)
            self._history.append((flow, flow.last_seq))
            self._advanced.add(flow.id)
        while len(self._history) > _HISTORY_MAX:
            oldest, flow_seq = self._history.popleft()
            oldest.messages.pop(flow_seq, None)

    def take_advanced(self) -> list[tuple[int, int]]:
        """The flows that got numbers since this was last asked, and their last numbers."""
        advanced = [
            (id_, self._flows[id_].last_seq) for id_ in sorted(self._advanced) if id_ in self._flows
        ]
        self._advanced.clear()
        return advanced

    def messages_at(self, flow_id: int, first_seq: int, count: int) -> Iterator[NumberedMessage]:
        """The messages that had these numbers, as far as they are remembered."""
        flow = self._flows.get(flow_id)
        if flow is not None:
            for flow_seq in range(first_seq, first_seq + min(count, _HISTORY_PER_FLOW_MAX)):
                if flow_seq in flow.messages:
                    yield flow.messages[flow_seq]

    # Who wants it.

    def claim(
        self, claim: FlowClaim, predicate: Predicate, now: Instant
    ) -> list[tuple[int, int] | None]:
        """For each of its filters the flow, and the last number before it was wanted.

        Who says the same again did not hear the answer, and knows of no number since the
        first time. None stands for a filter that is refused.
        """
        self.expire(now)
        previous, _ = self._claims.pop(claim, ((), 0))
        start_seqs = dict(filter(None, previous))
        self._claimed_filters -= len(previous)
        if (
            self._claimed_filters + len(predicate.filters)
            > self._flows_max * _CLAIMED_FILTERS_PER_FLOW
        ):
            self._leave(claim, start_seqs)
            return [None] * len(predicate.filters)
        # What it wanted before goes last: a flow that goes on keeps its numbers.
        ids = [self._join(filter_, claim) for filter_ in predicate.filters]
        self._leave(claim, start_seqs.keys() - ids)
        starts = [
            None if id_ is None else (id_, start_seqs.get(id_, self._last_seq(id_))) for id_ in ids
        ]
        if any(starts):
            self._claims[claim] = starts, now + LEASE_NS
            self._claimed_filters += len(starts)
        return starts

    def renew(self, claim: FlowClaim, now: Instant) -> bool:
        """It is still wanted; False if nothing is known of it."""
        self.expire(now)
        claimed = self._claims.pop(claim, None)
        if claimed is not None:
            self._claims[claim] = claimed[0], now + LEASE_NS
        return claimed is not None

    def release(self, claim: FlowClaim) -> None:
        """It is not wanted any more; flows that nobody else wants end."""
        starts, _ = self._claims.pop(claim, ((), 0))
        self._claimed_filters -= len(starts)
        self._leave(claim, dict(filter(None, starts)))

    def expire(self, now: Instant) -> None:
        """Ends what nobody has renewed for long."""
        while self._claims:
            claim, (_, expires_at) = next(iter(self._claims.items()))
            if now < expires_at:
                return
            self.release(claim)

    def group_size(self, claim: FlowClaim) -> int:
        """How many want the flow of these that most want."""
        starts, _ = self._claims.get(claim, ((), 0))
        return max((len(self._flows[id_].claims) for id_, _ in filter(None, starts)), default=0)

    @property
    def claimed_until(self) -> Instant:
        """Until when somebody wants some, as far as is known."""
        if not self._claims:
            return 0
        return next(reversed(self._claims.values()))[1]

    def _join(self, filter_: Filter, claim: FlowClaim) -> int | None:
        flow = self._by_filter.get(filter_)
        if flow is not None and claim in flow.claims:
            return flow.id
        if not self._registry.has_room(claim.subscriber):
            return None
        if flow is None:
            if len(self._flows) >= self._flows_max:
                return None
            flow = _TrackedFlow(self._registry.new_id(self._flows), filter_)
            self._flows[flow.id] = self._by_filter[filter_] = flow
            self._index.add(flow.id, Predicate([filter_]))
        flow.claims.add(claim)
        self._registry.claim(claim.subscriber)
        return flow.id

    def _last_seq(self, id_: int) -> int:
        return self._flows[id_].last_seq

    def _leave(self, claim: FlowClaim, ids: Iterable[int]) -> None:
        for id_ in ids:
            flow = self._flows[id_]
            flow.claims.discard(claim)
            self._registry.release(claim.subscriber)
            if not flow.claims:
                self._index.remove(id_)
                del self._flows[id_], self._by_filter[flow.filter]


def tracked_flow_tags(frame: Data) -> tuple[FlowTag, ...]:
    """Those of a message's flows that are tracked: others are congestion control's own."""
    return tuple([flow for flow in frame.flows if flow.flow_id < FIRST_CONTROLLED_FLOW])
