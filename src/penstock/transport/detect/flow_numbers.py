"""Numbers the messages that match a filter: the publisher side of tracked flows.

Records and digests cannot describe a range, and a Bloom set says little about a rare value.
A subscriber that must detect every loss sends its filters to the publisher. Each distinct filter
is a tracked flow, shared by all subscribers that sent it, and each message that matches carries
the next number of the flow. A gap in the numbers is a loss, whatever the filter.

The number of flows, the flows of one subscriber and the history of each flow are bounded. A
message that matches more flows than a header can carry is numbered in those with the fewest
messages; in the other flows it leaves no gap, and only records and digests can reveal its loss.
This module does not know which numbers the subscribers received.
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

# A claim expires unless the subscriber renews it within this time.
LEASE_NS: Final[Duration] = 120 * SECOND
# One subscriber may claim at most 1/4 of the flows.
_SUBSCRIBER_SHARE_DIVISOR: Final = 4
# Limit on the filters in all claims together, as a multiple of `flows_max`.
_CLAIMED_FILTERS_PER_FLOW: Final = 16
# Numbers that can still be mapped to messages: in one flow, and in all flows together.
_HISTORY_PER_FLOW_MAX: Final = 1_024
_HISTORY_MAX: Final = 1 << 17
_FLOW_IDS: Final = range(FIRST_CONTROLLED_FLOW)


class NumberedMessage(NamedTuple):
    """A message that was numbered in a flow; `seq` is its sequence number at the publisher."""

    seq: int
    sent_ns: Instant


class FlowClaim(NamedTuple):
    """Identifies a claim: the subscriber, and the token it chose for a batch of filters."""

    subscriber: int
    token: int


# For each filter of a claim the flow id and the last number before the claim; None if refused.
_FlowStarts: TypeAlias = Sequence[tuple[int, int] | None]


class _TrackedFlow:
    """The messages that match one filter."""

    __slots__ = ("claims", "filter", "id", "last_seq", "messages")

    def __init__(self, id_: int, filter_: Filter) -> None:
        self.id: Final = id_
        self.filter: Final = filter_
        self.claims: Final[set[FlowClaim]] = set()
        # The last number assigned, and recent messages by their number.
        self.last_seq = 0
        self.messages: Final[BoundedDict[int, NumberedMessage]] = BoundedDict(_HISTORY_PER_FLOW_MAX)


class FlowNumbers:
    """The tracked flows of one epoch of a publisher, at most `flows_max`."""

    def __init__(self, flows_max: int) -> None:
        self._flows_max: Final = min(flows_max, len(_FLOW_IDS))
        self._flows: Final[dict[int, _TrackedFlow]] = {}
        self._by_filter: Final[dict[Filter, _TrackedFlow]] = {}
        self._index: Final[MatchingIndex[int]] = MatchingIndex()
        # The stored numbers of all flows, oldest first; may include flows that have ended.
        self._history: Final[deque[tuple[_TrackedFlow, int]]] = deque()
        # Total number of filters in all claims.
        self._claimed_filters = 0
        # The flows and the expiry of each claim, in order of expiry.
        self._claims: Final[OrderedDict[FlowClaim, tuple[_FlowStarts, Instant]]] = OrderedDict()
        self._registry: Final = FlowRegistry(
            _FLOW_IDS, per_owner_max=max(1, self._flows_max // _SUBSCRIBER_SHARE_DIVISOR)
        )
        # Flows that advanced since the last `take_advanced`.
        self._advanced: Final[set[int]] = set()

    def __len__(self) -> int:
        return len(self._flows)

    def statistics(self) -> FlowNumbersStatistics:
        """The size of everything bounded here."""
        return FlowNumbersStatistics(
            flows=len(self._flows), claims=len(self._claims), numbered=len(self._history)
        )

    # Sent messages.

    def tags_for(self, message: Message) -> tuple[FlowTag, ...]:
        """Return the flow tags for a message about to be sent; `on_sent` makes them final."""
        if not self._flows:
            return ()
        found = [self._flows[id_] for id_ in sorted(self._index.match(message))]
        if len(found) > FLOWS_MAX:
            found = sorted(found, key=lambda flow: flow.last_seq)[:FLOWS_MAX]
        return tuple([FlowTag(flow.id, 0.0, (flow.last_seq + 1) & FLOW_SEQ.mask) for flow in found])

    def on_sent(self, frame: Data, now: Instant) -> None:
        """Record that a message was sent with its flow tags."""
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
        """Return and clear the flows that advanced, as pairs of flow id and last number."""
        advanced = [
            (id_, self._flows[id_].last_seq) for id_ in sorted(self._advanced) if id_ in self._flows
        ]
        self._advanced.clear()
        return advanced

    def messages_at(self, flow_id: int, first_seq: int, count: int) -> Iterator[NumberedMessage]:
        """Yield the messages with these flow sequence numbers that are still in the history."""
        flow = self._flows.get(flow_id)
        if flow is not None:
            for flow_seq in range(first_seq, first_seq + min(count, _HISTORY_PER_FLOW_MAX)):
                if flow_seq in flow.messages:
                    yield flow.messages[flow_seq]

    # Claims.

    def claim(
        self, claim: FlowClaim, predicate: Predicate, now: Instant
    ) -> list[tuple[int, int] | None]:
        """Claim a flow for each filter; return flow id and last number before the claim.

        A repeated claim returns the numbers of the first one: the subscriber did not get the
        reply, and must not miss losses in between. None stands for a refused filter.
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
        # Join before leaving, so that a flow in both claims continues its numbers.
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
        """Extend a claim by `LEASE_NS`; return False if it is unknown."""
        self.expire(now)
        claimed = self._claims.pop(claim, None)
        if claimed is not None:
            self._claims[claim] = claimed[0], now + LEASE_NS
        return claimed is not None

    def release(self, claim: FlowClaim) -> None:
        """Remove a claim, and the flows that no other claim uses."""
        starts, _ = self._claims.pop(claim, ((), 0))
        self._claimed_filters -= len(starts)
        self._leave(claim, dict(filter(None, starts)))

    def expire(self, now: Instant) -> None:
        """Release the claims that were not renewed in time."""
        while self._claims:
            claim, (_, expires_at) = next(iter(self._claims.items()))
            if now < expires_at:
                return
            self.release(claim)

    def group_size(self, claim: FlowClaim) -> int:
        """Return the number of claims on the most shared flow of this claim."""
        starts, _ = self._claims.get(claim, ((), 0))
        return max((len(self._flows[id_].claims) for id_, _ in filter(None, starts)), default=0)

    @property
    def claimed_until(self) -> Instant:
        """When the last claim expires; 0 without claims."""
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
    """Return the tags of tracked flows; the other tags belong to congestion control."""
    return tuple([flow for flow in frame.flows if flow.flow_id < FIRST_CONTROLLED_FLOW])
