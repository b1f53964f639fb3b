"""Samples of publishers with congestion control: their flows and send queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.host import Host
from penstock.trace.records import FlowSample
from penstock.transport.congestion.sender.send_queue import QueuedMessage
from penstock.transport.endpoint import Endpoint


class FlowSamples:
    """Flow samples of one network; `names` maps endpoint ids to names."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names: Final = names
        # The last sequence number of each flow at the previous sample.
        self._last_seqs: Final[dict[tuple[str, int], int]] = {}

    def sample(
        self, host: Host[Any, Any], interval_ns: Duration, *, now: Instant
    ) -> Iterator[FlowSample]:
        """One sample per controlled flow; none without congestion control."""
        endpoint = host.machine
        if not isinstance(endpoint, Endpoint) or endpoint.congestion is None:
            return
        for flow in endpoint.congestion.sample():
            previous_seq = self._last_seqs.get((host.name, flow.id), 0)
            self._last_seqs[host.name, flow.id] = flow.seq
            # Clamped at 0: an id reused for a new flow starts its sequence numbers again.
            sent_mps = max(0, flow.seq - previous_seq) * SECOND / interval_ns
            limited_by = None
            if flow.limited_by is not None:
                limited_by = self._names.get(flow.limited_by, str(flow.limited_by))
            yield FlowSample(
                now, host.name, flow.flow, limited_by, flow.quota_mps, sent_mps, flow.queued
            )


def queued_at(host: Host[Any, Any]) -> Sequence[QueuedMessage]:
    """Messages in the send queue of this host's endpoint."""
    endpoint = host.machine
    if not isinstance(endpoint, Endpoint) or endpoint.congestion is None:
        return ()
    return endpoint.congestion.queued
