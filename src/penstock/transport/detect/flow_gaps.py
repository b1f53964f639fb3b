"""Holes in the numbers of tracked flows: seen, asked for at the publisher, filled or given up.

1. A number that was jumped over, by a message or by a digest, is a hole. It may be only
   late: it is asked for when it hardly can come any more.
2. Only the publisher knows which message a number was: it is asked (RECALL), a few
   times, and answers with a repair, as it would a request.
3. What does not come is given up, and the application told of it. Which message it was
   is not known, but whose, and what for.

Where many share a flow each waits a time of its own (RFC 5401), and hears the repair
that another asked for.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import log
from typing import Final, NamedTuple

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.timers import Timers
from penstock.transport.recovery.peer_distance import Distances
from penstock.transport.recovery.request_timers import backoff
from penstock.wire.frames.data import Flow
from penstock.wire.frames.range_request import Recall
from penstock.wire.limits import RECALL_RANGES_MAX
from penstock.wire.quantise import stamp_us
from penstock.wire.serial import SEQ_BITS, distance

_HOLES_MAX: Final = 4_096
_HOLES_PER_FLOW: Final = 1_024
_TRIES_MAX: Final = 8
_EARLY_MAX: Final = 256
# A round trip and a half, and a little for who answers.
_RETRY_DISTANCES: Final = 3
_RETRY_NS: Final = 20 * MILLISECOND
_POSTPONED: Final = 50 * MILLISECOND
# Those who share a flow, if they are more than few, spread what they ask over the logarithm of
# their number in distances: of them about e² ask before the first is answered, two distances later.
_FEW: Final = 2
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


class Hole(NamedTuple):
    """A number of a flow that did not come."""

    pub: int
    flow_id: int
    flow_seq: int


class Lost(NamedTuple):
    """What nobody could give back: so many messages of a publisher, of one wish."""

    wish: int
    pub: int
    epoch: int
    messages: int
    detected_ns: Instant


@dataclass(slots=True)
class _Asked:
    since_ns: Instant
    tries: int = 0


@dataclass(slots=True)
class _Flow:
    highest: int
    wishes: set[int] = field(default_factory=set)
    holes: dict[int, _Asked] = field(default_factory=dict)


@dataclass(slots=True)
class _Source:
    epoch: int
    flows: dict[int, _Flow] = field(default_factory=dict)
    # How many share a flow of it, at most.
    sharers: int = 0
    # The last numbers that came of flows that we did not know, and may yet be told of.
    early: deque[Flow] = field(default_factory=lambda: deque(maxlen=_EARLY_MAX))


class Holes:
    """Of all flows that one endpoint tracks; `loss_wait_ns` says of a publisher when to ask."""

    def __init__(
        self,
        me: int,
        distances: Distances,
        *,
        give_up_ns: Duration,
        draw: Callable[[], float],
        send: Callable[[Recall, Instant], bool],
        loss_wait_ns: Callable[[int], Duration],
        give_up: Callable[[Lost, Instant], None],
    ) -> None:
        self._me: Final = me
        self._distances: Final = distances
        self._give_up_ns: Final = give_up_ns
        self._draw: Final = draw
        self._send: Final = send
        self._loss_wait_ns: Final = loss_wait_ns
        self._give_up: Final = give_up
        self._sources: Final[dict[int, _Source]] = {}
        self._timers: Final[Timers[Hole]] = Timers()

    def __len__(self) -> int:
        return len(self._timers)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    # Which flows there are.

    def begin(self, pub: int, epoch: int) -> None:
        """A publisher is heard, which is yet to say how it numbers."""
        self._sources[pub] = _Source(epoch)

    def open(self, pub: int, flow_id: int, last: int, wish: int, now: Instant) -> None:
        """The numbers after `last` are expected; some may have come before we knew whose."""
        source = self._sources[pub]
        flow = source.flows.get(flow_id)
        if flow is None:
            flow = source.flows[flow_id] = _Flow(last)
            early = [each for each in source.early if each.flow_id == flow_id]
            self.came(pub, source.epoch, early, now)
        flow.wishes.add(wish)

    def set_sharers(self, pub: int, sharers: int) -> None:
        """So many share a flow of this publisher."""
        if pub in self._sources:
            self._sources[pub].sharers = sharers

    def close(self, pub: int, now: Instant) -> None:
        """Its numbers mean nothing any more, and what is missing never comes."""
        source = self._sources.pop(pub, None)
        if source is None:
            return
        for flow_id, flow in source.flows.items():
            for number, asked in list(flow.holes.items()):
                self._fill(Hole(pub, flow_id, number), flow)
                self._lose(pub, source.epoch, flow, 1, asked.since_ns, now)

    def close_wish(self, wish: int) -> None:
        """Nobody here wants it any more."""
        for pub, source in self._sources.items():
            for flow_id, flow in list(source.flows.items()):
                flow.wishes.discard(wish)
                if not flow.wishes:
                    for number in list(flow.holes):
                        self._fill(Hole(pub, flow_id, number), flow)
                    del source.flows[flow_id]

    # What comes.

    def came(self, pub: int, epoch: int, flows: Iterable[Flow], now: Instant) -> None:
        """Numbers that a message or a repair brings."""
        source = self._sources.get(pub)
        if source is None or source.epoch != epoch:
            return
        for numbered in flows:
            flow_id, number = numbered.flow_id, numbered.flow_seq
            flow = source.flows.get(flow_id)
            if flow is None:
                source.early.append(numbered)
            elif number in flow.holes:
                self._fill(Hole(pub, flow_id, number), flow)
            elif distance(number, flow.highest, SEQ_BITS) > 0:
                self._jump(pub, source, flow_id, (number - 1) & _SEQ_MASK, now)
                flow.highest = number

    def told_last(
        self, pub: int, epoch: int, last: Iterable[tuple[int, int]], now: Instant
    ) -> None:
        """The last numbers of flows, from a digest."""
        source = self._sources.get(pub)
        if source is None or source.epoch != epoch:
            return
        for flow_id, number in last:
            flow = source.flows.get(flow_id)
            if flow is not None and distance(number, flow.highest, SEQ_BITS) > 0:
                self._jump(pub, source, flow_id, number, now)
                flow.highest = number

    def has(self, pub: int, epoch: int, flows: Iterable[Flow]) -> bool:
        """Whether one of these numbers is missing."""
        source = self._sources.get(pub)
        if source is None or source.epoch != epoch:
            return False
        known = ((source.flows.get(each.flow_id), each.flow_seq) for each in flows)
        return any(flow is not None and number in flow.holes for flow, number in known)

    # What is due.

    def wake(self, now: Instant) -> None:
        """Asks for what hardly can come any more."""
        due: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for hole in self._timers.due(now):
            due[hole.pub, hole.flow_id].append(hole.flow_seq)
        for (pub, flow_id), numbers in due.items():
            self._ask(pub, flow_id, numbers, now)

    def _ask(self, pub: int, flow_id: int, numbers: list[int], now: Instant) -> None:
        source = self._sources[pub]
        flow = source.flows[flow_id]
        wanted = sorted(n for n in numbers if not self._is_over(pub, source, flow_id, n, now))
        if not wanted:
            return
        ranges = tuple(ranges_of(wanted))[:RECALL_RANGES_MAX]
        recall = Recall(
            pub=pub,
            epoch=source.epoch,
            requester=self._me,
            send_ts_us=stamp_us(now),
            flow_id=flow_id,
            ranges=ranges,
        )
        is_sent = self._send(recall, now)
        retry_ns = _RETRY_DISTANCES * self._distances.of(pub) + _RETRY_NS
        end = sum(ranges[-1])
        for number in wanted:
            asked = flow.holes[number]
            if is_sent and number < end:
                self._timers.set(Hole(pub, flow_id, number), now + (retry_ns << asked.tries))
                asked.tries += 1
            else:
                self._timers.set(Hole(pub, flow_id, number), now + _POSTPONED)

    def _is_over(self, pub: int, source: _Source, flow_id: int, number: int, now: Instant) -> bool:
        """Gives it up if it was asked for often enough, or for long enough."""
        flow = source.flows[flow_id]
        asked = flow.holes[number]
        if asked.tries < _TRIES_MAX and now - asked.since_ns < self._give_up_ns:
            return False
        self._fill(Hole(pub, flow_id, number), flow)
        self._lose(pub, source.epoch, flow, 1, asked.since_ns, now)
        return True

    def _jump(self, pub: int, source: _Source, flow_id: int, last: int, now: Instant) -> None:
        """The numbers after the highest, up to `last`, did not come, or not yet."""
        flow = source.flows[flow_id]
        missing = distance(last, flow.highest, SEQ_BITS)
        if missing <= 0:
            return
        room = max(0, min(_HOLES_PER_FLOW - len(flow.holes), _HOLES_MAX - len(self)))
        if missing > room:
            # The oldest are the least likely to be there still.
            self._lose(pub, source.epoch, flow, missing - room, now, now)
        ask_at = now + self._wait_ns(pub, source)
        for back in range(min(missing, room) - 1, -1, -1):
            number = (last - back) & _SEQ_MASK
            flow.holes[number] = _Asked(now)
            self._timers.set(Hole(pub, flow_id, number), ask_at)

    def _wait_ns(self, pub: int, source: _Source) -> Duration:
        wait_ns = self._loss_wait_ns(pub)
        if source.sharers > _FEW:
            spread = backoff(log(source.sharers), source.sharers, self._draw())
            wait_ns += round(spread * self._distances.of(pub))
        return wait_ns

    def _fill(self, hole: Hole, flow: _Flow) -> None:
        del flow.holes[hole.flow_seq]
        self._timers.cancel(hole)

    def _lose(
        self, pub: int, epoch: int, flow: _Flow, messages: int, since: Instant, now: Instant
    ) -> None:
        for wish in sorted(flow.wishes):
            self._give_up(Lost(wish, pub, epoch, messages, since), now)


def ranges_of(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive numbers, as (first, count)."""
    first, length = numbers[0], 0
    for number in numbers:
        if number != first + length:
            yield first, length
            first, length = number, 0
        length += 1
    yield first, length
