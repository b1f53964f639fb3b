"""Samples of a publisher's controlled flows: sequence numbers become rates per interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.trace.records import FlowSample
from penstock.tracing.names import Names
from penstock.transport.congestion.facts import FlowState


class FlowSamples:
    """Flow samples of one run."""

    def __init__(self, names: Names) -> None:
        self._names: Final = names
        # The last sequence number of each flow at the previous sample, by publisher and flow id.
        self._last_seqs: Final[dict[tuple[str, int], int]] = {}

    def sample(
        self, publisher: str, flows: Iterable[FlowState], interval_ns: Duration, *, now: Instant
    ) -> Iterator[FlowSample]:
        """One sample per flow; the previous was `interval_ns` ago."""
        for flow in flows:
            previous_seq = self._last_seqs.get((publisher, flow.id), 0)
            self._last_seqs[publisher, flow.id] = flow.seq
            # Clamped at 0: an id reused for a new flow starts its sequence numbers again.
            sent_mps = max(0, flow.seq - previous_seq) * SECOND / interval_ns
            limited_by = None if flow.limited_by is None else self._names[flow.limited_by]
            yield FlowSample(
                now, publisher, flow.flow, limited_by, flow.quota_mps, sent_mps, flow.queued
            )
