"""Samples of a network of guaranteed streams for the trace, at a fixed interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.guaranteed.tick import duration_ns
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.sim.guaranteed.crossings import CrossingCounter
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_broker import WALL_START_NS
from penstock.sim.guaranteed.steady_programs import PromptReader, SteadyWriter
from penstock.trace.records import CrossingSample, LinkSample, QueueSample, StreamSample
from penstock.tracing.row_sink import RowSink
from penstock.tracing.samples.links import LinkSamples, LinkState


class StreamSampler:
    """Samples streams, links and their queues; writers and readers are by pubend and broker."""

    def __init__(
        self,
        network: StreamNetwork,
        sink: RowSink,
        *,
        pubends: Mapping[int, str],
        writers: Mapping[int, SteadyWriter],
        readers: Mapping[str, PromptReader],
        crossings: CrossingCounter | None,
    ) -> None:
        self._network: Final = network
        self._add: Final = sink.add
        self._collects: Final = sink.collects
        self._pubends: Final = pubends
        self._writers: Final = writers
        self._readers: Final = readers
        self._crossings: Final = crossings
        self._links: Final = LinkSamples()
        self._confirmed: Final = {pubend: (0,) * len(w.confirmed) for pubend, w in writers.items()}
        self._demanded: Final = dict.fromkeys(writers, 0)
        self._delivered: Final[dict[tuple[str, int], int]] = {}
        self._interval_ns: Duration = 0

    def start(self, interval_ns: Duration) -> None:
        """Takes the first sample after one interval."""
        self._interval_ns = interval_ns
        self._schedule_next()

    def _schedule_next(self) -> None:
        events = self._network.events
        events.schedule(events.now + self._interval_ns, self._sample)

    def _sample(self) -> None:
        if self._collects(StreamSample):
            self._sample_streams()
        if self._collects(LinkSample) or self._collects(QueueSample):
            self._sample_links()
        if self._crossings is not None:
            now = self._network.events.now
            for parent, child, pubend, counts in self._crossings.take():
                link, name = f"{parent}-{child}", self._pubends[pubend]
                self._add(CrossingSample(now, link, name, *counts))
        self._schedule_next()

    def _sample_streams(self) -> None:
        for pubend, writer in self._writers.items():
            before, now = self._confirmed[pubend], tuple(writer.confirmed)
            self._confirmed[pubend] = now
            since = [a - b for a, b in zip(now, before, strict=True)]
            demanded = writer.demanded - self._demanded[pubend]
            self._demanded[pubend] = writer.demanded
            self._add(self._stream_sample(writer.client.broker, pubend, since, demanded))
            for broker in self._readers:
                if broker != writer.client.broker:
                    self._add(self._stream_sample(broker, pubend, since, None))

    def _stream_sample(
        self, broker: str, pubend: int, since: Sequence[int], demanded: int | None
    ) -> StreamSample:
        """One row; only the broker that has the pubend is told of demand."""
        network, reader = self._network, self._readers.get(broker)
        now = network.events.now
        wanted = delivered = 0
        if reader is not None:
            wanted = reader.wanted.count(since)
            total = reader.delivered.get(pubend, 0)
            delivered = total - self._delivered.get((broker, pubend), 0)
            self._delivered[broker, pubend] = total
        behind_ns = window_ns = doubt_rate = None
        is_recovering = False
        machine = network.brokers[broker].machine
        limit_mps = None if demanded is None else machine.pubends[pubend].throttle.rate
        reading = machine.host.readings.get(pubend)
        if reading is not None and reading.live is not None and reader is not None:
            behind_ns = WALL_START_NS + now - duration_ns(reading.live.doubt)
            window_ns = reading.window_ms * MILLISECOND
            is_recovering = reading.is_recovering
            doubt_rate = reading.dh_rate
        return StreamSample(
            now,
            broker,
            self._pubends[pubend],
            self._interval_ns,
            0 if demanded is None else sum(since),
            wanted,
            delivered,
            behind_ns,
            window_ns,
            is_recovering,
            limit_mps,
            demanded,
            doubt_rate,
        )

    def _sample_links(self) -> None:
        network = self._network
        for (sender, receiver), traffic in network.traffic.items():
            queue = network.brokers[sender].machine.queues.get(receiver)
            state = LinkState(
                sent_bytes=traffic.sent_bytes,
                sent_packets=traffic.sent_frames,
                queue_full=traffic.dropped_frames + (0 if queue is None else queue.dropped),
                down=traffic.lost_frames,
                rate_bps=network.rate_of(sender, receiver),
                queue_packets=0 if queue is None else len(queue),
                queue_bytes=0 if queue is None else queue.queue_bytes,
                queue_peak_bytes=0 if queue is None else queue.peak_bytes,
            )
            if queue is not None:
                queue.peak_bytes = queue.queue_bytes
            carried, queued = self._links.sample(
                f"{sender}-{receiver}", state, self._interval_ns, now=network.events.now
            )
            if self._collects(LinkSample):
                self._add(carried)
            if self._collects(QueueSample):
                self._add(queued)
        if self._collects(QueueSample):
            self._sample_workers()

    def _sample_workers(self) -> None:
        """What waits for brokers that were slow at any time."""
        for name, broker in self._network.brokers.items():
            worker = broker.worker
            if worker.is_limited:
                self._add(
                    QueueSample(
                        self._network.events.now,
                        name,
                        worker.waiting_messages,
                        worker.waiting_bytes,
                        worker.peak_bytes,
                    )
                )
                worker.peak_bytes = worker.waiting_bytes
