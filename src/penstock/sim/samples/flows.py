"""What publishers with congestion control hold, for the trace: their flows, and what waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.sim.host import Host
from penstock.trace.records import FlowSample
from penstock.transport.congestion.sender.send_queue import QueuedMessage
from penstock.transport.endpoint import Endpoint


class FlowSamples:
    """Of one network; `names` are those of endpoints, by number."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names: Final = names
        # The last message of each flow, at the sample before.
        self._last_seqs: Final[dict[tuple[str, int], int]] = {}

    def sample(
        self, host: Host[Any, Any], interval_ns: Duration, *, now: Instant
    ) -> Iterator[FlowSample]:
        """One for each flow; none where nothing is controlled."""
        endpoint = host.machine
        if not isinstance(endpoint, Endpoint) or endpoint.congestion is None:
            return
        for flow in endpoint.congestion.sample():
            previous_seq = self._last_seqs.get((host.name, flow.id), 0)
            self._last_seqs[host.name, flow.id] = flow.seq
            # A number may be given to a new flow, which begins anew.
            sent_mps = max(0, flow.seq - previous_seq) * SECOND / interval_ns
            limited_by = None
            if flow.limited_by is not None:
                limited_by = self._names.get(flow.limited_by, str(flow.limited_by))
            yield FlowSample(
                now, host.name, flow.flow, limited_by, flow.quota_mps, sent_mps, flow.queued
            )


def queued_at(host: Host[Any, Any]) -> Sequence[QueuedMessage]:
    """Messages that have not left."""
    endpoint = host.machine
    if not isinstance(endpoint, Endpoint) or endpoint.congestion is None:
        return ()
    return endpoint.congestion.queued
