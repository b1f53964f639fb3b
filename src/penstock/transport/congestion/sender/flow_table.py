"""The flow table of a publisher: its controlled flows by filter and limiting receiver.

A receiver requests a quota for a filter (algorithm 5.4 of 003, with [C8] and [C9]):

1. If it already limits that flow, the quota is updated.
2. If the same or a wider flow is at least as slow, nothing changes.
3. Otherwise a flow is added, or gets a new limiting receiver; narrower flows that are not
   slower are removed, because the wider one limits them, too.

The limiting receiver (CLR) must repeat its request. After four of its round trips of silence the
quota is halved; after ten the flow is an orphan, whose quota doubles each round trip until it
exceeds the submitted rate, and the flow is removed. Does not know the queued messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Filter, Predicate
from penstock.content.index.index import MatchingIndex
from penstock.content.index.small_index import SmallIndex
from penstock.content.message import Message
from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.transport.congestion.feedback_protocol import TAKEOVER_RATIO
from penstock.transport.congestion.laws.ack_window import AckWindow
from penstock.transport.congestion.sender.flow import ControlledFlow
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.flow_registry import FlowRegistry
from penstock.wire.frames.ack import FlowAck
from penstock.wire.limits import ALL_MESSAGES, FIRST_CONTROLLED_FLOW

_SILENT_ROUND_TRIPS: Final = 4
_ORPHAN_ROUND_TRIPS: Final = 10
# A receiver with a steady quota reports only twice a second.
_SILENT_MIN_NS: Final = 2_000 * MILLISECOND
_IDLE_NS: Final = 1_000 * MILLISECOND
FLOW_IDS: Final = range(FIRST_CONTROLLED_FLOW, ALL_MESSAGES)
_SMALL_INDEX_MAX: Final = 16
_CHANGED_MAX: Final = 64
_by_id: Final = attrgetter("id")


class FlowTable:
    """The controlled flows of one publisher."""

    def __init__(self, settings: CongestionSettings) -> None:
        self._settings: Final = settings
        self._is_literal: Final = settings.law == "literal"
        # A receiver takes a flow over if it requests less than this share of the quota.
        self._takeover_ratio: Final = TAKEOVER_RATIO if settings.law == "window" else 1.0
        self._flows: Final[dict[int, ControlledFlow]] = {}
        # With the literal law several flows may have the same filter [C8].
        self._by_filter: Final[dict[tuple[int, Filter | None], list[ControlledFlow]]] = {}
        self._index: Final[MatchingIndex[int]] = MatchingIndex()
        # None while the table has more flows than a small index serves.
        self._small_index: SmallIndex[ControlledFlow] | None = SmallIndex(())
        # Flow ids, and the number of flows that each limiting receiver owns.
        self._registry: Final = FlowRegistry(FLOW_IDS, settings.flows_each_max)
        self._full_until_ns: Instant = 0
        # The number of requests refused for lack of room.
        self.refused_flows = 0
        # Grows with every flow added or removed.
        self.version = 0
        # Flows added or removed since the send queue was last matched (the first 64), and ids of
        # flows whose next send time has changed.
        self.changed: Final[list[ControlledFlow]] = []
        self.retimed: Final[dict[int, None]] = {}

    def __len__(self) -> int:
        return len(self._flows)

    def __iter__(self) -> Iterator[ControlledFlow]:
        return iter(self._flows.values())

    def get(self, flow_id: int) -> ControlledFlow | None:
        """The flow with this id."""
        return self._flows.get(flow_id)

    def owned_by(self, filter_: Filter | None, bits: int, clr: int) -> ControlledFlow | None:
        """The flow with exactly this filter that this receiver limits."""
        flows = self._by_filter.get((bits, filter_), ())
        return next((flow for flow in flows if flow.clr == clr), None)

    def match(self, message: Message, bits: int) -> list[ControlledFlow]:
        """The flows that a message matches, by id."""
        if not self._flows:
            return []
        if self._is_literal:
            return [flow for flow in self._flows.values() if not flow.bits & ~bits]
        if self._small_index is not None:
            matched = self._small_index.match(message)
            if len(matched) > 1:
                matched.sort(key=_by_id)
            return matched
        # Sorted, because the order of the index differs between machines.
        return [self._flows[id_] for id_ in sorted(self._index.match(message))]

    def possibly_matching(self, bits: int) -> list[ControlledFlow]:
        """The flows that a message with this Bloom set may match."""
        return [flow for flow in self._flows.values() if not flow.bits & ~bits]

    # Requests of receivers.

    def request(
        self, filter_: Filter | None, bits: int, clr: int, quota_mps: float, now: Instant
    ) -> ControlledFlow | None:
        """Apply a request for a quota; return the flow if the receiver limits it now."""
        quota_mps = max(quota_mps, self._settings.rate_min_mps)
        same = self.owned_by(filter_, bits, clr)
        if same is not None:
            self._renew_flow(same, quota_mps, now)
            return same
        if (bits, filter_) not in self._by_filter and self._is_full(now):
            self.refused_flows += 1
            return None
        narrower = []
        for flow in self._flows.values():
            if flow.bits & ~bits and bits & ~flow.bits:
                # Neither covers the other.
                continue
            if self._covers(flow.filter, flow.bits, filter_, bits) and (
                flow.quota_mps < quota_mps
                if self._is_literal
                else flow.quota_mps * self._takeover_ratio <= quota_mps and not flow.is_orphan
            ):
                return None
            if self._covers(filter_, bits, flow.filter, flow.bits) and (
                quota_mps < flow.quota_mps
                if self._is_literal
                else quota_mps <= flow.quota_mps * self._takeover_ratio or flow.is_orphan
            ):
                narrower.append(flow)
        if not self._has_room(clr, len(narrower), now):
            self.refused_flows += 1
            return None
        return self._add(filter_, bits, clr, quota_mps, narrower, now)

    def renew(self, flow_id: int, clr: int, quota_mps: float, now: Instant) -> bool:
        """Update the quota of a flow by its id; return whether the receiver limits it."""
        flow = self._flows.get(flow_id)
        if flow is None or flow.clr != clr:
            return False
        self._renew_flow(flow, max(quota_mps, self._settings.rate_min_mps), now)
        return True

    def on_ack(self, ack: FlowAck, clr: int, now: Instant) -> bool:
        """Apply an acknowledgement; return False unless it is valid and from the limiter."""
        flow = self._flows.get(ack.flow_id)
        if flow is None or flow.clr != clr or flow.window is None:
            return False
        was_active = flow.window.is_active
        if not flow.window.on_ack(ack, flow.quota_mps, now):
            return False
        flow.last_feedback_ns = now
        self.retimed[flow.id] = None
        if not was_active:
            flow.set_quota(flow.quota_mps, now)
        return True

    def has_flows_of(self, clr: int) -> bool:
        """Whether this receiver limits any flow."""
        return clr in self._registry

    def release(self, flow_id: int | None, filter_: Filter | None, bits: int, clr: int) -> bool:
        """Make a flow an orphan; return whether this receiver limited it."""
        flow = self.owned_by(filter_, bits, clr) if flow_id is None else self._flows.get(flow_id)
        if flow is None or flow.clr != clr:
            return False
        flow.is_orphan = True
        return True

    # Expiry.

    def expire(self, max_round_trip_ns: Duration, now: Instant) -> None:
        """Halve the quota of silent flows; speed up orphans and remove them."""
        for flow in list(self._flows.values()):
            rtt_ns = flow.rtt_ns or max_round_trip_ns
            silent_ns = now - flow.last_feedback_ns
            if silent_ns > max(_ORPHAN_ROUND_TRIPS * rtt_ns, 2 * _SILENT_MIN_NS):
                flow.is_orphan = True
            if flow.is_orphan:
                self._release_orphan(flow, max_round_trip_ns, now)
            elif (
                silent_ns > max(_SILENT_ROUND_TRIPS * rtt_ns, _SILENT_MIN_NS)
                and now - flow.limiting_since_ns >= _ORPHAN_ROUND_TRIPS * rtt_ns
                and now - flow.last_adjusted_ns >= max(_SILENT_ROUND_TRIPS * rtt_ns, _SILENT_MIN_NS)
            ):
                flow.last_adjusted_ns = now
                self._set_quota(flow, max(self._settings.rate_min_mps, flow.quota_mps / 2), now)

    def _release_orphan(
        self, flow: ControlledFlow, max_round_trip_ns: Duration, now: Instant
    ) -> None:
        if now - flow.last_adjusted_ns < max_round_trip_ns:
            return
        flow.last_adjusted_ns = now
        self._set_quota(flow, 2 * flow.quota_mps, now)
        if flow.quota_mps > flow.offered.rate(now):
            self._remove(flow)

    # Internals.

    def _set_quota(self, flow: ControlledFlow, quota_mps: float, now: Instant) -> None:
        flow.set_quota(quota_mps, now)
        self.retimed[flow.id] = None

    def _renew_flow(self, flow: ControlledFlow, quota_mps: float, now: Instant) -> None:
        flow.last_feedback_ns = now
        flow.is_orphan = False
        self._set_quota(flow, quota_mps, now)
        if self._is_literal:
            return
        for other in [each for each in flow.narrower.values() if each.quota_mps >= quota_mps]:
            self._remove(other)
        if any(other.quota_mps <= quota_mps for other in flow.wider.values()):
            # A wider flow that is not faster limits the same messages.
            self._remove(flow)

    def _add(
        self,
        filter_: Filter | None,
        bits: int,
        clr: int,
        quota_mps: float,
        narrower: list[ControlledFlow],
        now: Instant,
    ) -> ControlledFlow:
        previous_quotas_mps = [flow.quota_mps for flow in narrower if not flow.is_orphan]
        # A flow that only changes its limiting receiver keeps its id and sequence numbers.
        same_filter = self._by_filter.get((bits, filter_), ())
        same = next((flow for flow in narrower if flow in same_filter), None)
        for flow in narrower:
            if flow is not same:
                self._remove(flow)
        if same is not None:
            flow = same
            self._registry.release(flow.clr)
            flow.clr, flow.is_orphan = clr, False
            flow.limiting_since_ns = flow.last_feedback_ns = now
            flow.announced_round = None
            if flow.window is not None:
                flow.window.on_receiver_changed()
            self._set_quota(flow, quota_mps, now)
            flow.change_limiting_receiver(previous_quotas_mps, now)
            self._registry.claim(clr)
            return flow
        flow = ControlledFlow(
            self._registry.new_id(self._flows), filter_, bits, clr, quota_mps, now
        )
        if self._settings.law == "window":
            flow.window = AckWindow(round(SECOND / self._settings.rate_min_mps))
        if not self._is_literal:
            self._link_covering(flow)
        flow.change_limiting_receiver(previous_quotas_mps, now)
        self._flows[flow.id] = flow
        self._by_filter.setdefault((bits, filter_), []).append(flow)
        if filter_ is not None:
            self._index.add(flow.id, Predicate([filter_]))
        self._registry.claim(clr)
        self._on_flows_changed(flow)
        return flow

    def _remove(self, flow: ControlledFlow) -> None:
        del self._flows[flow.id]
        key = flow.bits, flow.filter
        self._by_filter[key].remove(flow)
        if not self._by_filter[key]:
            del self._by_filter[key]
        if flow.filter is not None:
            self._index.remove(flow.id)
        for other in flow.wider.values():
            del other.narrower[flow.id]
        for other in flow.narrower.values():
            del other.wider[flow.id]
        self._registry.release(flow.clr)
        self._on_flows_changed(flow)

    def _link_covering(self, flow: ControlledFlow) -> None:
        """Link the flow with all that it covers or that cover it: this never changes."""
        bits = flow.bits
        for other in self._flows.values():
            if other.bits & ~bits and bits & ~other.bits:
                continue
            if self._covers(flow.filter, bits, other.filter, other.bits):
                flow.narrower[other.id] = other
                other.wider[flow.id] = flow
            if self._covers(other.filter, other.bits, flow.filter, bits):
                flow.wider[other.id] = other
                other.narrower[flow.id] = flow

    def _on_flows_changed(self, flow: ControlledFlow) -> None:
        self.version += 1
        if len(self.changed) < _CHANGED_MAX:
            self.changed.append(flow)
        self._small_index = None
        if len(self._flows) <= _SMALL_INDEX_MAX:
            known = [(f, f.filter) for f in self._flows.values() if f.filter is not None]
            self._small_index = SmallIndex(known)

    def _has_room(self, clr: int, freed: int, now: Instant) -> bool:
        if not self._registry.has_room(clr):
            return False
        return len(self._flows) - freed < self._settings.flows_max or self._evict_idle(now)

    def _is_full(self, now: Instant) -> bool:
        """Whether the table was full a moment ago, to avoid a scan for each refusal."""
        is_known = 0 < self._full_until_ns - now <= _IDLE_NS
        return is_known and len(self._flows) >= self._settings.flows_max

    def _evict_idle(self, now: Instant) -> bool:
        """Remove a flow without submitted messages, which limits nothing, if there is one."""
        for flow in self._flows.values():
            if now - flow.limiting_since_ns > _IDLE_NS and not flow.offered.rate(now):
                self._remove(flow)
                return True
        self._full_until_ns = now + _IDLE_NS
        return False

    def _covers(
        self, wide: Filter | None, wide_bits: int, narrow: Filter | None, narrow_bits: int
    ) -> bool:
        """[C9] A wider filter has fewer bits; known filters are compared themselves, too."""
        if wide_bits & ~narrow_bits:
            return False
        if self._is_literal or wide is None or narrow is None:
            return True
        return covers(wide, narrow)
