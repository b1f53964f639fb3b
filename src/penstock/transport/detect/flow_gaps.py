"""Finds gaps in the numbers of tracked flows and requests the missing messages.

1. A flow sequence number that a message or a digest skips is a gap. The message may only be late,
   so it is requested after the loss timeout of its publisher.
2. Only the publisher knows which message had the number. The request (RECALL) goes to the
   publisher, up to eight times; the publisher sends a repair, as for any other request.
3. A message that does not arrive is given up, and its loss is reported to the application. Its
   publisher and interest are known; its sequence number and contents are not.

If several subscribers share a flow, each waits a random time (RFC 5401), so that most receive the
repair that another one requested. This module does not know which filters the flows stand for.
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
# One and a half round trips, and a margin for the publisher's processing.
_RETRY_DISTANCES: Final = 3
_RETRY_MARGIN_NS: Final = 20 * MILLISECOND
_BACKOFF: Final = Backoff(first_ns=_RETRY_MARGIN_NS, doublings_max=_ATTEMPTS_MAX - 1)
# Larger groups spread their first requests over ln(group size) distances: about e² subscribers
# send one before the first repair arrives, two distances after the first request.
_SPREAD_ABOVE_GROUP_SIZE: Final = 2


class FlowGap(NamedTuple):
    """A missing flow sequence number."""

    publisher: int
    flow_id: int
    flow_seq: int


class FlowLoss(NamedTuple):
    """Messages of one publisher, for one interest, that were given up; `messages` counts them."""

    interest_id: int
    publisher: int
    epoch: int
    messages: int
    detected_ns: Instant


class FlowGapDetector:
    """Gaps in all flows that one endpoint tracks.

    `loss_timeout_ns` gives the wait before the first request to a publisher; `send` returns
    False if the request may not be sent now.
    """

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

    # Publishers and flows.

    def open_publisher(self, publisher: int, epoch: int) -> None:
        """Add a publisher whose flows are not known yet."""
        self._publishers[publisher] = FlowGapState(epoch)

    def open_flow(
        self, publisher: int, flow_id: int, last_seq: int, interest_id: int, now: Instant
    ) -> None:
        """Expect the numbers after `last_seq`; some may have arrived before the flow was known."""
        state = self._publishers[publisher]
        flow = state.flows.get(flow_id)
        if flow is None:
            flow = state.flows[flow_id] = FlowGaps(last_seq)
            early_tags = [tag for tag in state.unclaimed if tag.flow_id == flow_id]
            self.on_flow_tags(publisher, state.epoch, early_tags, now)
        flow.interest_ids.add(interest_id)

    def set_group_size(self, publisher: int, group_size: int) -> None:
        """Set the number of subscribers that share a flow of this publisher, at most."""
        if publisher in self._publishers:
            self._publishers[publisher].group_size = group_size

    def close_publisher(self, publisher: int, now: Instant) -> None:
        """Remove a publisher and give up all its gaps: it restarted or was evicted."""
        state = self._publishers.pop(publisher, None)
        if state is None:
            return
        for flow_id, flow in state.flows.items():
            for flow_seq, gap_state in list(flow.gaps.items()):
                self._fill(FlowGap(publisher, flow_id, flow_seq), flow)
                self._give_up(publisher, state.epoch, flow, 1, gap_state.detected_ns, now)

    def close_interest(self, interest_id: int) -> None:
        """Remove an interest, and the flows that no other interest uses, without reporting."""
        for publisher, state in self._publishers.items():
            for flow_id, flow in list(state.flows.items()):
                flow.interest_ids.discard(interest_id)
                if not flow.interest_ids:
                    for flow_seq in list(flow.gaps):
                        self._fill(FlowGap(publisher, flow_id, flow_seq), flow)
                    del state.flows[flow_id]

    # Input.

    def on_flow_tags(
        self, publisher: int, epoch: int, tags: Iterable[FlowTag], now: Instant
    ) -> None:
        """Process the flow tags of a message or a repair: fill gaps, and add skipped numbers."""
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
        """Process the last numbers of flows from a digest: all numbers up to these were sent."""
        state = self._publishers.get(publisher)
        if state is None or state.epoch != epoch:
            return
        for flow_id, flow_seq in last_seqs:
            flow = state.flows.get(flow_id)
            if flow is not None and FLOW_SEQ.distance(flow_seq, flow.highest_seq) > 0:
                self._add_gaps(publisher, state, flow_id, flow_seq, now)
                flow.highest_seq = flow_seq

    def has_gap(self, publisher: int, epoch: int, tags: Iterable[FlowTag]) -> bool:
        """Whether one of these tags would fill a gap."""
        state = self._publishers.get(publisher)
        if state is None or state.epoch != epoch:
            return False
        known = ((state.flows.get(tag.flow_id), tag.flow_seq) for tag in tags)
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

    # Timers.

    def wake(self, now: Instant) -> None:
        """Request the missing messages that are due, in one RECALL for each flow."""
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
        """Give up a gap after `_ATTEMPTS_MAX` requests or `give_up_ns`; return whether it was."""
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
        """Add a gap for each number after the highest seen, up to and including `last_seq`."""
        flow = state.flows[flow_id]
        missing = FLOW_SEQ.distance(last_seq, flow.highest_seq)
        if missing <= 0:
            return
        room_left = max(0, min(_GAPS_PER_FLOW_MAX - len(flow.gaps), _GAPS_MAX - len(self)))
        if missing > room_left:
            # Gives up the oldest: the publisher is least likely to have them still.
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
