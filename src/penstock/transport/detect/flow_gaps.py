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

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import log
from typing import Final, NamedTuple

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.retry import POSTPONED_NS, Backoff
from penstock.kernel.sequence import FLOW_SEQ
from penstock.kernel.timers import Timers
from penstock.transport.detect.flow_state import FlowGaps, FlowGapState, GapState
from penstock.transport.recovery.peer_distance import PeerDistances
from penstock.transport.recovery.request_timers import random_backoff
from penstock.transport.statistics import FlowGapStatistics
from penstock.wire.frames.data import FlowTag
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.limits import REQUESTED_RANGES_MAX
from penstock.wire.quantise import stamp_us

_GAPS_MAX: Final = 4_096
_GAPS_PER_FLOW_MAX: Final = 1_024
_ATTEMPTS_MAX: Final = 8
# A round trip and a half, and a little for who answers.
_RETRY_DISTANCES: Final = 3
_RETRY_MARGIN_NS: Final = 20 * MILLISECOND
_BACKOFF: Final = Backoff(first_ns=_RETRY_MARGIN_NS, doublings_max=_ATTEMPTS_MAX - 1)
# Those who share a flow, if they are more than few, spread what they ask over the logarithm of
# their number in distances: of them about e² ask before the first is answered, two distances later.
_SPREAD_ABOVE_GROUP_SIZE: Final = 2


class FlowGap(NamedTuple):
    """A number of a flow that did not come."""

    publisher: int
    flow_id: int
    flow_seq: int


class FlowLoss(NamedTuple):
    """What nobody could give back: so many messages of a publisher, of one wish."""

    interest_id: int
    publisher: int
    epoch: int
    messages: int
    detected_ns: Instant


class FlowGapDetector:
    """Of all flows that one endpoint tracks; `loss_wait_ns` says of a publisher when to ask."""

    def __init__(
        self,
        endpoint_id: int,
        distances: PeerDistances,
        *,
        give_up_ns: Duration,
        draw: Callable[[], float],
        send: Callable[[RangeRequest, Instant], bool],
        loss_timeout_ns: Callable[[int], Duration],
        report_loss: Callable[[FlowLoss, Instant], None],
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._distances: Final = distances
        self._give_up_ns: Final = give_up_ns
        self._draw: Final = draw
        self._send: Final = send
        self._loss_timeout_ns: Final = loss_timeout_ns
        self._report_loss: Final = report_loss
        self._publishers: Final[dict[int, FlowGapState]] = {}
        self._timers: Final[Timers[FlowGap]] = Timers()

    def __len__(self) -> int:
        return len(self._timers)

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return self._timers.next_wakeup()

    # Which flows there are.

    def open_publisher(self, publisher: int, epoch: int) -> None:
        """A publisher is heard, which is yet to say how it numbers."""
        self._publishers[publisher] = FlowGapState(epoch)

    def open_flow(
        self, publisher: int, flow_id: int, last_seq: int, interest_id: int, now: Instant
    ) -> None:
        """The numbers after `last` are expected; some may have come before we knew whose."""
        state = self._publishers[publisher]
        flow = state.flows.get(flow_id)
        if flow is None:
            flow = state.flows[flow_id] = FlowGaps(last_seq)
            early = [each for each in state.unclaimed if each.flow_id == flow_id]
            self.on_flow_tags(publisher, state.epoch, early, now)
        flow.interest_ids.add(interest_id)

    def set_group_size(self, publisher: int, group_size: int) -> None:
        """So many share a flow of this publisher."""
        if publisher in self._publishers:
            self._publishers[publisher].group_size = group_size

    def close_publisher(self, publisher: int, now: Instant) -> None:
        """Its numbers mean nothing any more, and what is missing never comes."""
        state = self._publishers.pop(publisher, None)
        if state is None:
            return
        for flow_id, flow in state.flows.items():
            for flow_seq, gap_state in list(flow.gaps.items()):
                self._fill(FlowGap(publisher, flow_id, flow_seq), flow)
                self._give_up(publisher, state.epoch, flow, 1, gap_state.detected_ns, now)

    def close_interest(self, interest_id: int) -> None:
        """Nobody here wants it any more."""
        for publisher, state in self._publishers.items():
            for flow_id, flow in list(state.flows.items()):
                flow.interest_ids.discard(interest_id)
                if not flow.interest_ids:
                    for flow_seq in list(flow.gaps):
                        self._fill(FlowGap(publisher, flow_id, flow_seq), flow)
                    del state.flows[flow_id]

    # What comes.

    def on_flow_tags(
        self, publisher: int, epoch: int, tags: Iterable[FlowTag], now: Instant
    ) -> None:
        """Numbers that a message or a repair brings."""
        state = self._publishers.get(publisher)
        if state is None or state.epoch != epoch:
            return
        for tag in tags:
            flow_id, flow_seq = tag.flow_id, tag.flow_seq
            flow = state.flows.get(flow_id)
            if flow is None:
                state.unclaimed.append(tag)
            elif flow_seq in flow.gaps:
                self._fill(FlowGap(publisher, flow_id, flow_seq), flow)
            elif FLOW_SEQ.distance(flow_seq, flow.highest_seq) > 0:
                self._add_gaps(publisher, state, flow_id, FLOW_SEQ.next(flow_seq, -1), now)
                flow.highest_seq = flow_seq

    def on_last_numbers(
        self, publisher: int, epoch: int, last_seqs: Iterable[tuple[int, int]], now: Instant
    ) -> None:
        """The last numbers of flows, from a digest."""
        state = self._publishers.get(publisher)
        if state is None or state.epoch != epoch:
            return
        for flow_id, flow_seq in last_seqs:
            flow = state.flows.get(flow_id)
            if flow is not None and FLOW_SEQ.distance(flow_seq, flow.highest_seq) > 0:
                self._add_gaps(publisher, state, flow_id, flow_seq, now)
                flow.highest_seq = flow_seq

    def has_gap(self, publisher: int, epoch: int, tags: Iterable[FlowTag]) -> bool:
        """Whether one of these numbers is missing."""
        state = self._publishers.get(publisher)
        if state is None or state.epoch != epoch:
            return False
        known = ((state.flows.get(each.flow_id), each.flow_seq) for each in tags)
        return any(flow is not None and flow_seq in flow.gaps for flow, flow_seq in known)

    def statistics(self) -> tuple[FlowGapStatistics, ...]:
        """The size of everything bounded here, by publisher."""
        return tuple(
            [
                FlowGapStatistics(
                    publisher=publisher,
                    epoch=state.epoch,
                    flows=len(state.flows),
                    gaps=tuple(
                        [
                            (flow_id, flow_seq)
                            for flow_id, flow in state.flows.items()
                            for flow_seq in flow.gaps
                        ]
                    ),
                    unclaimed=len(state.unclaimed),
                )
                for publisher, state in self._publishers.items()
            ]
        )

    # What is due.

    def wake(self, now: Instant) -> None:
        """Asks for what hardly can come any more."""
        due: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for gap in self._timers.due(now):
            due[gap.publisher, gap.flow_id].append(gap.flow_seq)
        for (publisher, flow_id), flow_seqs in due.items():
            self._send_request(publisher, flow_id, flow_seqs, now)

    def _send_request(
        self, publisher: int, flow_id: int, flow_seqs: list[int], now: Instant
    ) -> None:
        state = self._publishers[publisher]
        flow = state.flows[flow_id]
        requested = sorted(
            seq
            for seq in flow_seqs
            if not self._give_up_if_expired(publisher, state, flow_id, seq, now)
        )
        if not requested:
            return
        ranges = tuple(FLOW_SEQ.runs(requested))[:REQUESTED_RANGES_MAX]
        request = RangeRequest(
            pub=publisher,
            epoch=state.epoch,
            requester=self._endpoint_id,
            send_ts_us=stamp_us(now),
            flow_id=flow_id,
            ranges=ranges,
        )
        is_sent = self._send(request, now)
        retry_ns = _RETRY_DISTANCES * self._distances.distance_ns(publisher) + _RETRY_MARGIN_NS
        end = sum(ranges[-1])
        for flow_seq in requested:
            gap_state = flow.gaps[flow_seq]
            if is_sent and flow_seq < end:
                wait_ns = _BACKOFF.wait_ns(gap_state.attempts, least_ns=retry_ns)
                self._timers.set(FlowGap(publisher, flow_id, flow_seq), now + wait_ns)
                gap_state.attempts += 1
            else:
                self._timers.set(FlowGap(publisher, flow_id, flow_seq), now + POSTPONED_NS)

    def _give_up_if_expired(
        self, publisher: int, state: FlowGapState, flow_id: int, flow_seq: int, now: Instant
    ) -> bool:
        """Gives it up if it was asked for often enough, or for long enough."""
        flow = state.flows[flow_id]
        gap_state = flow.gaps[flow_seq]
        if gap_state.attempts < _ATTEMPTS_MAX and now - gap_state.detected_ns < self._give_up_ns:
            return False
        self._fill(FlowGap(publisher, flow_id, flow_seq), flow)
        self._give_up(publisher, state.epoch, flow, 1, gap_state.detected_ns, now)
        return True

    def _add_gaps(
        self, publisher: int, state: FlowGapState, flow_id: int, last_seq: int, now: Instant
    ) -> None:
        """The numbers after the highest, up to `last`, did not come, or not yet."""
        flow = state.flows[flow_id]
        missing = FLOW_SEQ.distance(last_seq, flow.highest_seq)
        if missing <= 0:
            return
        room_left = max(0, min(_GAPS_PER_FLOW_MAX - len(flow.gaps), _GAPS_MAX - len(self)))
        if missing > room_left:
            # The oldest are the least likely to be there still.
            self._give_up(publisher, state.epoch, flow, missing - room_left, now, now)
        request_at = now + self._request_wait_ns(publisher, state)
        for flow_seq in FLOW_SEQ.run_to(last_seq, min(missing, room_left)):
            flow.gaps[flow_seq] = GapState(now)
            self._timers.set(FlowGap(publisher, flow_id, flow_seq), request_at)

    def _request_wait_ns(self, publisher: int, state: FlowGapState) -> Duration:
        wait_ns = self._loss_timeout_ns(publisher)
        if state.group_size > _SPREAD_ABOVE_GROUP_SIZE:
            spread = random_backoff(log(state.group_size), state.group_size, self._draw())
            wait_ns += round(spread * self._distances.distance_ns(publisher))
        return wait_ns

    def _fill(self, gap: FlowGap, flow: FlowGaps) -> None:
        del flow.gaps[gap.flow_seq]
        self._timers.cancel(gap)

    def _give_up(
        self,
        publisher: int,
        epoch: int,
        flow: FlowGaps,
        messages: int,
        detected_ns: Instant,
        now: Instant,
    ) -> None:
        for interest_id in sorted(flow.interest_ids):
            self._report_loss(FlowLoss(interest_id, publisher, epoch, messages, detected_ns), now)
