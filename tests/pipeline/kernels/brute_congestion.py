"""What congestion control does, again in plain Python: the part of `brute` about it."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from penstock.trace.fates import DropReason
from penstock.trace.records import (
    Arrival,
    Drop,
    Expected,
    Feedback,
    FlowSample,
    LinkSample,
    Publication,
    QueueSample,
    Signal,
)

if TYPE_CHECKING:
    from tests.pipeline.kernels.brute import Brute

SECOND = 1_000_000_000


def controlled(brute: Brute) -> None:
    """All of it."""
    sources(brute)
    feedback(brute)
    acks(brute)
    flows(brute)
    receivers(brute)
    lost(brute)
    busy_links(brute)
    queue_delays(brute)


def sources(brute: Brute) -> None:
    if "publications" not in brute.trace.tables:
        return
    rows = [r for r in brute.trace.rows(Publication) if isinstance(r, Publication)]
    left = [(r, r.published_ns) for r in rows if r.published_ns is not None]
    instants = {
        "offered": [r.offered_ns for r in rows],
        "sent": [at for _, at in left],
        "rate_limited": [at for r, at in left if r.fate == "rate_limited"],
        "dropped_at_source": [r.offered_ns for r in rows if r.fate == "dropped_at_source"],
    }
    for name, own in instants.items():
        brute.figure(name, len(own))
        brute.seconds(name, own)
    held_ns = sum(at - r.offered_ns for r, at in left)
    brute.figure("held_mean", held_ns / max(1, len(left)) / 1_000_000)


def feedback(brute: Brute) -> None:
    if "feedback" not in brute.trace.tables:
        return
    rows = [r for r in brute.trace.rows(Feedback) if isinstance(r, Feedback)]
    frames = {(r.subscriber, r.publisher, r.sent_ns) for r in rows}
    brute.figure("feedback_frames", len(frames))
    if "publications" in brute.trace.tables and brute.duration:
        who = {r.publisher for r in brute.trace.rows(Publication) if isinstance(r, Publication)}
        brute.figure("feedback_rate", len(frames) * SECOND / brute.duration / max(1, len(who)))
    for publisher in {whose for _, whose, _ in frames}:
        brute.seconds(f"feedback.{publisher}", [at for _, p, at in frames if p == publisher])


def acks(brute: Brute) -> None:
    if "signals" not in brute.trace.tables:
        return
    rows = [r for r in brute.trace.rows(Signal) if isinstance(r, Signal) and r.kind == "ack"]
    if "publications" in brute.trace.tables and brute.duration:
        who = {r.publisher for r in brute.trace.rows(Publication) if isinstance(r, Publication)}
        brute.figure("ack_rate", len(rows) * SECOND / brute.duration / max(1, len(who)))
    for publisher in {r.publisher for r in rows}:
        brute.seconds(f"ack.{publisher}", [r.sent_ns for r in rows if r.publisher == publisher])


def flows(brute: Brute) -> None:
    if "flows" not in brute.trace.tables:
        return
    seconds = -(-brute.duration // SECOND)
    tables: dict[str, list[set[str]]] = defaultdict(lambda: [set() for _ in range(seconds)])
    rates: dict[tuple[str, str], list[FlowSample]] = defaultdict(list)
    for r in brute.trace.rows(FlowSample):
        assert isinstance(r, FlowSample)
        since = r.sampled_ns - brute.origin
        if since > 0 and (since - 1) // SECOND < seconds:
            tables[r.publisher][(since - 1) // SECOND].add(r.flow)
            rates[r.flow, r.publisher].append(r)
    sizes = [len(flows) for own in tables.values() for flows in own]
    brute.figure("flow_table_mean", fmean(sizes) if sizes else 0)
    brute.figure("flow_table_max", max(sizes, default=0))
    for publisher, own in tables.items():
        for second, names in enumerate(own):
            brute.found["seconds", "", f"flow_table.{publisher}", second] = len(names)
    for flow, samples in rates.items():
        brute.found["pairs", "", "flow_quota_mps", flow] = fmean(r.quota_mps for r in samples)
        brute.found["pairs", "", "flow_sent_mps", flow] = fmean(r.sent_mps for r in samples)
    every = [r for own in rates.values() for r in own]
    quota = sum(r.quota_mps for r in every)
    if quota:
        brute.figure("quota_use", sum(r.sent_mps for r in every) / quota)


def receivers(brute: Brute) -> None:
    wanted = [r for r in brute.trace.rows(Expected) if isinstance(r, Expected)]
    came = [r for r in brute.trace.rows(Arrival) if isinstance(r, Arrival)]
    names = {r.subscriber for r in wanted} | {r.subscriber for r in came}
    if len(names) <= 12:
        for name in names:
            if "arrivals" in brute.trace.tables:
                own = [r.arrived_ns for r in came if r.subscriber == name]
                brute.seconds(f"received.{name}", own)
            if "expected" in brute.trace.tables:
                own = [r.published_ns for r in wanted if r.subscriber == name]
                brute.seconds(f"wanted.{name}", own)
    if "arrivals" not in brute.trace.tables or not brute.duration:
        return
    end = brute.origin + -(-brute.duration // SECOND) * SECOND
    pairs = {(r.subscriber, r.publisher) for r in wanted}
    for pair in pairs | {(r.subscriber, r.publisher) for r in came}:
        inside = [r for r in came if (r.subscriber, r.publisher) == pair]
        count = sum(brute.origin <= r.arrived_ns < end for r in inside)
        brute.found["pairs", "", "received_mps", pair] = count * SECOND / brute.duration


def lost(brute: Brute) -> None:
    if "drops" not in brute.trace.tables:
        return
    rows = [r for r in brute.trace.rows(Drop) if isinstance(r, Drop)]
    rows = [r for r in rows if r.publisher is not None and r.reason != "duplicate"]
    brute.figure("lost", len(rows))
    brute.seconds("lost", [r.dropped_ns for r in rows])
    for reason in DropReason:
        own = [r.dropped_ns for r in rows if r.reason == reason]
        if reason != "duplicate":
            brute.figure(f"lost.{reason}", len(own))
        if own:
            brute.seconds(f"lost.{reason}", own)


def busy_links(brute: Brute) -> None:
    found: dict[tuple[str, int], list[LinkSample]] = defaultdict(list)
    busy = set()
    for r in brute.trace.rows(LinkSample):
        assert isinstance(r, LinkSample)
        since = r.sampled_ns - brute.origin
        if 0 < since <= brute.duration and r.capacity_bps is not None:
            found[r.link, (since - 1) // SECOND].append(r)
            if 16 * r.sent_bytes * SECOND >= r.capacity_bps * r.period_ns:
                busy.add(r.link)
    for (link, second), own in found.items():
        if link in busy:
            span_ns = sum(r.period_ns for r in own)
            sent = sum(8 * r.sent_bytes for r in own)
            could = sum((r.capacity_bps or 0) * r.period_ns for r in own) / SECOND
            for name, bits in (("link_kbps", sent), ("link_capacity_kbps", could)):
                value = bits * SECOND / span_ns / 1000
                brute.found["seconds", "", f"{name}.{link}", second] = value


def queue_delays(brute: Brute) -> None:
    from tests.pipeline.kernels.brute import quantile

    rates: dict[tuple[str, int], int] = {}
    for r in brute.trace.rows(LinkSample):
        assert isinstance(r, LinkSample)
        at = (r.link, r.sampled_ns)
        rates[at] = max(rates.get(at, 0), r.capacity_bps or 0)
    delays: dict[str, list[float]] = defaultdict(list)
    for q in brute.trace.rows(QueueSample):
        assert isinstance(q, QueueSample)
        rate = rates.get((q.queue, q.sampled_ns), 0)
        if rate and 0 < q.sampled_ns - brute.origin <= brute.duration:
            delays[q.queue].append(q.held_bytes * 8 / rate * 1000)
    told = {
        "mean": {name: fmean(own) for name, own in delays.items()},
        "p95": {name: quantile(sorted(own), 0.95) for name, own in delays.items()},
    }
    for label, values in told.items():
        for name, value in values.items():
            brute.figure(f"queue_delay_{label}.{name}", value)
        if values:
            brute.figure(f"queue_delay_{label}", max(values.values()))
