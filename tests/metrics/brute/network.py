"""What links and queues carry and drop, and how fairly they serve, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from math import inf
from statistics import fmean
from typing import Any

from penstock.fairness.effairness import effairness as judged
from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.trace.fates import DropReason
from penstock.trace.records import Drop, Edge, Expected, LinkSample, Publication, QueueSample
from tests.metrics.brute.run import BruteRun, grouped, quantile, share

DROPPED = ("queue_full_packets", "loss_packets", "down_packets", "corrupt_packets")


def measure(run: BruteRun) -> None:
    if run.has("links"):
        links(run)
        bottleneck(run)
    if run.has("queues"):
        queues(run)
        queue_lengths(run)
    if run.has("drops"):
        drops(run)
    if run.has("publications", "expected", "arrivals", "edges"):
        effairness(run)


def limited(run: BruteRun) -> dict[str, list[LinkSample]]:
    """Samples within the experiment by link, of links that have a limit."""
    found: dict[str, list[LinkSample]] = defaultdict(list)
    for r in run.rows(LinkSample):
        if run.is_sampled_within(r.sampled_ns) and r.capacity_bps is not None:
            found[r.link].append(r)
    return found


def possible_bits(r: LinkSample) -> float:
    return (r.capacity_bps or 0) * r.period_ns / SECOND


def use_of(samples: list[LinkSample]) -> float:
    """Bits that were sent by bits that could have been."""
    return 8 * sum(r.sent_bytes for r in samples) / sum(map(possible_bits, samples))


def links(run: BruteRun) -> None:
    samples = run.rows(LinkSample)
    run.value("link_packets", sum(r.sent_packets for r in samples))
    for name in DROPPED:
        run.value(name, sum(getattr(r, name) for r in samples))
    full = [r.sampled_ns for r in samples if r.queue_full_packets]
    since = max(0, min(full) - run.origin) if full else run.duration
    run.value("overload_from", since / SECOND)
    for link, own in limited(run).items():
        run.value("link_use", use_of(own), entity=link)
        if not any(2 * 8 * r.sent_bytes >= possible_bits(r) for r in own):
            continue
        by_second: dict[int, list[LinkSample]] = defaultdict(list)
        for r in own:
            by_second[(r.sampled_ns - run.origin - 1) // SECOND].append(r)
        for second, its in by_second.items():
            sent, could = 8 * sum(r.sent_bytes for r in its), sum(map(possible_bits, its))
            span_s = sum(r.period_ns for r in its) / SECOND
            run.series("link_kbps", {second: sent / span_s / 1000}, entity=link)
            run.series("link_capacity_kbps", {second: could / span_s / 1000}, entity=link)


def bottleneck(run: BruteRun) -> None:
    by_link = limited(run)
    if not by_link:
        return
    uses = {link: use_of(own) for link, own in by_link.items()}
    run.value("bottleneck_use", max(uses.values()))
    busiest = by_link[max(uses, key=lambda link: uses[link])]
    for phase, (low, high) in run.phases.items():
        own = [r for r in busiest if low < (r.sampled_ns - run.origin) / SECOND <= high]
        if own:
            run.value("bottleneck_use", use_of(own), phase=phase)
            run.value("filled_after", filled_after(own, high - low), phase=phase)


def filled_after(samples: list[LinkSample], span_s: float) -> float:
    """When 95 % were first used over half a second; samples are evenly spaced."""
    sample_s = span_s / len(samples)
    width = min(len(samples), max(1, round(0.5 / sample_s)))
    uses = [use_of([r]) for r in samples]
    for end in range(width, len(samples) + 1):
        if fmean(uses[end - width : end]) >= 0.95:
            return end * sample_s
    return span_s


def queue_lengths(run: BruteRun) -> None:
    samples = [r for r in run.rows(QueueSample) if run.is_sampled_within(r.sampled_ns)]
    for queue, own in grouped(samples, lambda r: r.queue).items():
        by_second = grouped(own, lambda r: (r.sampled_ns - run.origin - 1) // SECOND)
        held = {second: fmean(r.held_bytes for r in its) for second, its in by_second.items()}
        if max(held.values()) >= 1000:
            run.series("queue_bytes", held, entity=queue)


def queues(run: BruteRun) -> None:
    samples = run.rows(QueueSample)
    run.value("queue_max", max((r.held_bytes for r in samples), default=0))
    if samples:
        run.value("queue_mean", fmean(r.held_bytes for r in samples))
    for queue, own in grouped(samples, lambda r: r.queue).items():
        peak = max(max(r.held_bytes, r.peak_bytes or 0) for r in own)
        run.value("queue_peak", peak, entity=queue)
    rates: dict[Any, int] = defaultdict(int)
    for r in run.rows(LinkSample):
        at = (r.link, r.sampled_ns)
        rates[at] = max(rates[at], r.capacity_bps or 0)
    delays: dict[str, list[float]] = defaultdict(list)
    for q in samples:
        rate = rates[q.queue, q.sampled_ns]
        if rate and run.is_sampled_within(q.sampled_ns):
            delays[q.queue].append(q.held_bytes * 8 / rate * 1000)
    told = {
        "queue_delay_mean": {name: fmean(own) for name, own in delays.items()},
        "queue_delay_p95": {name: quantile(own, 0.95) for name, own in delays.items()},
    }
    for metric, values in told.items():
        for name, value in values.items():
            run.value(metric, value, entity=name)
        if values:
            run.value(metric, max(values.values()))


def drops(run: BruteRun) -> None:
    rows = run.rows(Drop)
    lost = [r for r in rows if r.publisher is not None and r.reason != "duplicate"]
    run.value("lost", len(lost))
    run.counts("lost", [r.dropped_ns for r in lost])
    for reason in DropReason:
        run.value("drops", sum(r.reason == reason for r in rows), entity=reason)
        own = [r.dropped_ns for r in lost if r.reason == reason]
        if reason != "duplicate":
            run.value("lost", len(own), entity=reason)
        if own:
            run.counts("lost", own, entity=reason)


def effairness(run: BruteRun) -> None:
    due = grouped(run.rows(Expected), lambda r: (r.publisher, r.subscriber))
    offered = grouped(run.rows(Publication), lambda r: r.publisher)
    came = grouped(run.receipts[""], lambda r: r.pair)
    alike: dict[Any, list[Receiver]] = defaultdict(list)
    demands: dict[Any, float] = defaultdict(float)
    for publisher, subscriber in sorted(due):
        own, given = due[publisher, subscriber], offered[publisher]
        got = [r.ended for r in came[subscriber, publisher]]
        first, last = (f(r.published_ns for r in own) for f in (min, max))
        sizes = [r.size_bytes for r in given if r.published_ns is not None]
        if first == last or not sizes:
            continue
        bits = fmean(sizes) * 8
        session = (publisher, *sorted((r.epoch, r.seq) for r in own))
        demand = (len(own) + len(given) - len(sizes)) * SECOND / (last - first) * bits
        demands[session] = max(demand, demands[session])
        times = {"join": first / SECOND, "leave": max(last, *got, last) / SECOND}
        name = f"{publisher} {subscriber}"
        alike[session].append(Receiver(id=name, host=subscriber, data=len(got) * bits, **times))
    if not alike:
        return
    senders = [Sender(host=key[0], capacity=demands[key]) for key in alike]
    sessions = tuple(
        Session(id=str(number), sender=sender, receivers=tuple(own))
        for number, (sender, own) in enumerate(zip(senders, alike.values(), strict=True))
    )
    try:
        outcome = judged(Network(edges(run), sessions))
    except UsageError:
        run.value("effairness_judged", 0)
        return
    run.value("effairness_judged", 1)
    run.value("effairness", outcome.overall)
    for publisher, its in grouped(sessions, lambda session: session.sender.host).items():
        index = fmean(outcome.by_session[session.id] for session in its)
        run.value("effairness", index, entity=publisher)
    receivers = outcome.network.receivers()
    for receiver, index in zip(receivers, outcome.by_receiver.tolist(), strict=True):
        publisher, subscriber = receiver.id.split()
        run.pairs("effairness", {(subscriber, publisher): index})


def edges(run: BruteRun) -> tuple[Link, ...]:
    """Each once; those that were sampled have their mean rate."""
    sampled = {
        link: share(sum(map(possible_bits, own)) * SECOND, sum(r.period_ns for r in own))
        for link, own in limited(run).items()
    }
    return tuple(
        Link(
            start=r.start,
            end=r.end,
            capacity=sampled.get(
                f"{r.start}-{r.end}", inf if r.capacity_bps is None else r.capacity_bps
            ),
            delay=r.delay_ns / SECOND,
        )
        for r in dict.fromkeys(run.rows(Edge))
    )
