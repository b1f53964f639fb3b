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
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.wire.frames.data import Data, Flow
from penstock.wire.limits import CONTROLLED_FROM, FLOWS_MAX

# Who tracks says so again within this time.
LEASE_NS: Final[Duration] = 120 * SECOND
# How much of a publisher's table one subscriber may take: a part of this size.
_SHARE_MAX: Final = 4
# How many filters claims may name in all, for each flow that there may be.
_CLAIMED_PER_FLOW: Final = 16
# The last numbers of a flow of which it is known which messages they were; and of all flows.
_REMEMBERED: Final = 1_024
_REMEMBERED_ALL: Final = 1 << 17
_SEQ_MASK: Final = (1 << 32) - 1
_ID_SPACE: Final = CONTROLLED_FROM


class Sent(NamedTuple):
    """A message that has a number in a flow."""

    seq: int
    departed_ns: Instant


class Claim(NamedTuple):
    """Who wants a flow, and by which of its tokens."""

    subscriber: int
    token: int


# For each filter of a claim its flow, and the last number before it was wanted.
_Given: TypeAlias = Sequence[tuple[int, int] | None]


class _Flow:
    """What matches one filter."""

    __slots__ = ("claims", "filter", "id", "last", "sent")

    def __init__(self, id_: int, filter_: Filter) -> None:
        self.id: Final = id_
        self.filter: Final = filter_
        self.claims: Final[set[Claim]] = set()
        # The last number that was given, and the messages of the last ones.
        self.last = 0
        self.sent: Final[OrderedDict[int, Sent]] = OrderedDict()


class Flows:
    """The flows of one publisher's epoch, at most `most` of them."""

    def __init__(self, most: int) -> None:
        self._most: Final = min(most, _ID_SPACE)
        self._flows: Final[dict[int, _Flow]] = {}
        self._by_filter: Final[dict[Filter, _Flow]] = {}
        self._index: Final[MatchingIndex[int]] = MatchingIndex()
        # The numbers of all flows that are remembered, the oldest first; some flows have ended.
        self._given: Final[deque[tuple[_Flow, int]]] = deque()
        # Filters that claims name, in all.
        self._claimed = 0
        # The flows of each claim, and until when it holds; those that end first come first.
        self._claims: Final[OrderedDict[Claim, tuple[_Given, Instant]]] = OrderedDict()
        self._counts: Final[dict[int, int]] = {}
        self._next_id = 0
        # Those that got a number since they were last told of.
        self._moved: Final[set[int]] = set()

    def __len__(self) -> int:
        return len(self._flows)

    # What is sent.

    def match(self, message: Message) -> tuple[Flow, ...]:
        """The flows of a message that is about to leave, with the numbers that it would get."""
        if not self._flows:
            return ()
        found = [self._flows[id_] for id_ in sorted(self._index.match(message))]
        if len(found) > FLOWS_MAX:
            found = sorted(found, key=lambda flow: flow.last)[:FLOWS_MAX]
        return tuple([Flow(flow.id, 0.0, (flow.last + 1) & _SEQ_MASK) for flow in found])

    def on_sent(self, frame: Data, now: Instant) -> None:
        """It left, and its numbers are given."""
        for numbered in tracked_of(frame):
            flow = self._flows[numbered.flow_id]
            flow.last = numbered.flow_seq
            flow.sent[flow.last] = Sent(frame.seq, now)
            self._given.append((flow, flow.last))
            if len(flow.sent) > _REMEMBERED:
                flow.sent.popitem(last=False)
            self._moved.add(flow.id)
        while len(self._given) > _REMEMBERED_ALL:
            oldest, number = self._given.popleft()
            oldest.sent.pop(number, None)

    def take_moved(self) -> list[tuple[int, int]]:
        """The flows that got numbers since this was last asked, and their last numbers."""
        moved = [(id_, self._flows[id_].last) for id_ in sorted(self._moved) if id_ in self._flows]
        self._moved.clear()
        return moved

    def sent_as(self, flow_id: int, first: int, count: int) -> Iterator[Sent]:
        """The messages that had these numbers, as far as they are remembered."""
        flow = self._flows.get(flow_id)
        if flow is not None:
            for number in range(first, first + min(count, _REMEMBERED)):
                if number in flow.sent:
                    yield flow.sent[number]

    # Who wants it.

    def claim(
        self, claim: Claim, predicate: Predicate, now: Instant
    ) -> list[tuple[int, int] | None]:
        """For each of its filters the flow, and the last number before it was wanted.

        Who says the same again did not hear the answer, and knows of no number since the
        first time. None stands for a filter that is refused.
        """
        self.expire(now)
        before, _ = self._claims.pop(claim, ((), 0))
        began = dict(filter(None, before))
        self._claimed -= len(before)
        if self._claimed + len(predicate.filters) > self._most * _CLAIMED_PER_FLOW:
            self._leave(claim, began)
            return [None] * len(predicate.filters)
        # What it wanted before goes last: a flow that goes on keeps its numbers.
        ids = [self._join(filter_, claim) for filter_ in predicate.filters]
        self._leave(claim, began.keys() - ids)
        given = [None if id_ is None else (id_, began.get(id_, self._last(id_))) for id_ in ids]
        if any(given):
            self._claims[claim] = given, now + LEASE_NS
            self._claimed += len(given)
        return given

    def renew(self, claim: Claim, now: Instant) -> bool:
        """It is still wanted; False if nothing is known of it."""
        self.expire(now)
        held = self._claims.pop(claim, None)
        if held is not None:
            self._claims[claim] = held[0], now + LEASE_NS
        return held is not None

    def drop(self, claim: Claim) -> None:
        """It is not wanted any more; flows that nobody else wants end."""
        given, _ = self._claims.pop(claim, ((), 0))
        self._claimed -= len(given)
        self._leave(claim, dict(filter(None, given)))

    def expire(self, now: Instant) -> None:
        """Ends what nobody has renewed for long."""
        while self._claims:
            claim, (_, until) = next(iter(self._claims.items()))
            if now < until:
                return
            self.drop(claim)

    def sharers(self, claim: Claim) -> int:
        """How many want the flow of these that most want."""
        given, _ = self._claims.get(claim, ((), 0))
        return max((len(self._flows[id_].claims) for id_, _ in filter(None, given)), default=0)

    @property
    def until(self) -> Instant:
        """Until when somebody wants some, as far as is known."""
        if not self._claims:
            return 0
        return next(reversed(self._claims.values()))[1]

    def _join(self, filter_: Filter, claim: Claim) -> int | None:
        flow = self._by_filter.get(filter_)
        if flow is not None and claim in flow.claims:
            return flow.id
        if self._counts.get(claim.subscriber, 0) >= max(1, self._most // _SHARE_MAX):
            return None
        if flow is None:
            if len(self._flows) >= self._most:
                return None
            flow = _Flow(self._new_id(), filter_)
            self._flows[flow.id] = self._by_filter[filter_] = flow
            self._index.add(flow.id, Predicate([filter_]))
        flow.claims.add(claim)
        self._count(claim.subscriber, +1)
        return flow.id

    def _last(self, id_: int) -> int:
        return self._flows[id_].last

    def _leave(self, claim: Claim, ids: Iterable[int]) -> None:
        for id_ in ids:
            flow = self._flows[id_]
            flow.claims.discard(claim)
            self._count(claim.subscriber, -1)
            if not flow.claims:
                self._index.remove(id_)
                del self._flows[id_], self._by_filter[flow.filter]

    def _new_id(self) -> int:
        """One that was not in use for as long as possible."""
        while self._next_id in self._flows:
            self._next_id = (self._next_id + 1) % _ID_SPACE
        id_ = self._next_id
        self._next_id = (id_ + 1) % _ID_SPACE
        return id_

    def _count(self, subscriber: int, by: int) -> None:
        count = self._counts.get(subscriber, 0) + by
        if count:
            self._counts[subscriber] = count
        else:
            del self._counts[subscriber]


def tracked_of(frame: Data) -> tuple[Flow, ...]:
    """Those of a message's flows that are tracked: others are congestion control's own."""
    return tuple([flow for flow in frame.flows if flow.flow_id < CONTROLLED_FROM])
