"""What publishers hold back and hear, and how rates settle and compare, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import ceil
from statistics import fmean

from penstock.fairness.single_link import fair_shares
from penstock.kernel.instant import SECOND, Instant
from penstock.trace.records import (
    Arrival,
    Expected,
    Feedback,
    FlowSample,
    LinkSample,
    Publication,
    Signal,
    TcpSample,
)
from tests.metrics.brute.run import BruteRun, grouped, share

# Slots of 50 ms, and how many are averaged over.
SLOT_NS = SECOND // 20
SMOOTH = 5
RATES_MAX = 32


def measure(run: BruteRun) -> None:
    source_fates(run)
    feedback(run)
    flow_table(run)
    settling(run)
    receivers_rates(run)
    tcp_sharing(run)


def source_fates(run: BruteRun) -> None:
    if not run.has("publications"):
        return
    rows = run.rows(Publication)
    left = [(r, r.published_ns) for r in rows if r.published_ns is not None]
    instants = {
        "offered": [r.offered_ns for r in rows],
        "sent": [at for _, at in left],
        "rate_limited": [at for r, at in left if r.fate == "rate_limited"],
        "dropped_at_source": [r.offered_ns for r in rows if r.fate == "dropped_at_source"],
    }
    for name, own in instants.items():
        run.value(name, len(own))
        run.counts(name, own)
    run.value("held_mean", share(sum(at - r.offered_ns for r, at in left), len(left)) / 1e6)
    for phase, (low, high) in run.phases.items():
        rate = run.count(instants["sent"], (low, high)) / (high - low)
        run.value("publication_rate", rate, phase=phase)


def feedback(run: BruteRun) -> None:
    """A frame is one, however many flows it names."""
    frames = {(r.subscriber, r.publisher, r.sent_ns) for r in run.rows(Feedback)}
    told: dict[str, list[tuple[str, Instant]]] = {
        "feedback": [(publisher, at) for _, publisher, at in frames],
        "ack": [(r.publisher, r.sent_ns) for r in run.rows(Signal) if r.kind == "ack"],
    }
    publishers = len({r.publisher for r in run.rows(Publication)}) or 1
    for name, table in (("feedback", "feedback"), ("ack", "signals")):
        if not run.has(table):
            continue
        if name == "feedback":
            run.value("feedback_frames", len(frames))
        if run.has("publications") and run.duration:
            rate = len(told[name]) * SECOND / run.duration / publishers
            run.value(f"{name}_rate", rate)
        for publisher, own in grouped(told[name], lambda row: row[0]).items():
            run.counts(name, [at for _, at in own], entity=publisher)


def flow_table(run: BruteRun) -> None:
    if not run.has("flows"):
        return
    tables: dict[str, list[set[str]]] = defaultdict(lambda: [set() for _ in range(run.seconds)])
    rates: dict[tuple[str, str], list[FlowSample]] = defaultdict(list)
    for r in run.rows(FlowSample):
        second = (r.sampled_ns - run.origin - 1) // SECOND
        if 0 <= second < run.seconds:
            tables[r.publisher][second].add(r.flow)
            rates[r.flow, r.publisher].append(r)
    sizes = [len(flows) for own in tables.values() for flows in own]
    run.value("flow_table_mean", fmean(sizes) if sizes else 0)
    run.value("flow_table_max", max(sizes, default=0))
    for publisher, own in tables.items():
        run.series("flow_table", dict(enumerate(map(len, own))), entity=publisher)
    for name in ("quota_mps", "sent_mps"):
        means = {flow: fmean(getattr(r, name) for r in own) for flow, own in rates.items()}
        run.pairs(f"flow_{name}", means)
    quota = sum(r.quota_mps for own in rates.values() for r in own)
    if quota:
        run.value("quota_use", sum(r.sent_mps for own in rates.values() for r in own) / quota)


def settling(run: BruteRun) -> None:
    came = slots(run, [r.arrived_ns for r in run.rows(Arrival)])
    left = slots(run, [r.published_ns for r in run.rows(Publication) if r.published_ns is not None])
    for phase, (low, high) in run.spans.items():
        part = slice(round(20 * low), round(20 * high))
        found = {
            "settled_after": settled_after(came[part]),
            "sent_settled_after": settled_after(left[part]),
            "swing": swing(came[part]),
        }
        for name, value in found.items():
            if value is not None:
                run.value(name, value, phase=phase)


def slots(run: BruteRun, instants: list[Instant]) -> list[int]:
    counts = Counter((at - run.origin) // SLOT_NS for at in instants)
    return [counts[slot] for slot in range(20 * run.seconds)]


def settled_after(counts: list[int]) -> float | None:
    """When a quarter of a second first is within a tenth of the mean of the second half."""
    later = counts[len(counts) // 2 :]
    if len(counts) < 2 * SMOOTH or not any(later):
        return None
    mean = Fraction(sum(later), len(later))
    for start in range(len(counts) - SMOOTH + 1):
        if abs(Fraction(sum(counts[start : start + SMOOTH]), SMOOTH) - mean) <= mean / 10:
            return start / 20
    return len(counts) / 20


def swing(counts: list[int]) -> float | None:
    """From the tenth second on, the second that is farthest from the mean."""
    seconds = [sum(counts[start : start + 20]) for start in range(200, len(counts) - 19, 20)]
    if len(seconds) < 2 or not any(seconds):
        return None
    mean = fmean(seconds)
    return max(abs(second / mean - 1) for second in seconds)


def receivers_rates(run: BruteRun) -> None:
    """Of all that got or expected anything within the experiment."""
    if not run.has("arrivals"):
        return
    due, came = (grouped(run.rows(kind), lambda r: r.subscriber) for kind in (Expected, Arrival))
    instants = {name: [r.arrived_ns for r in came[name]] for name in due.keys() | came.keys()}
    everyone = sorted(
        name
        for name, arrived in instants.items()
        if run.count([*arrived, *(r.published_ns for r in due[name])], run.spans[""])
    )
    rates = {
        phase: [share(run.count(instants[name], (low, high)), high - low) for name in everyone]
        for phase, (low, high) in run.spans.items()
    }
    for phase, own in rates.items() if len(everyone) <= RATES_MAX else ():
        for name, rate in zip(everyone, own, strict=True):
            run.value("rate", rate, entity=name, phase=phase)
    for phase in run.phases if run.ample else ():
        assert run.ample is not None
        fair = fair_shares(rates[run.ample], sum(rates[phase]))
        off = [abs(got / own - 1) for got, own in zip(rates[phase], fair, strict=True) if own]
        run.value("unfair", max(off, default=0), phase=phase)


def tcp_sharing(run: BruteRun) -> None:
    """Of the link of the first connection, by sampling period."""
    if not run.rows(TcpSample):
        return
    link = run.rows(TcpSample)[0].link
    samples = [r for r in run.rows(LinkSample) if r.link == link]
    segments = [r for r in run.rows(TcpSample) if r.link == link]
    if not samples:
        return
    period_ns = samples[0].period_ns
    connections = sorted({r.connection for r in segments})

    def by_period(amounts: list[tuple[Instant, float]]) -> list[float]:
        found = [0.0] * ceil(run.duration / period_ns)
        for at, amount in amounts:
            period = (at - run.origin - 1) // period_ns
            if 0 <= period < len(found):
                found[period] += amount
        return found

    kbit = 8 * SECOND / period_ns / 1000
    capacity = by_period([(r.sampled_ns, (r.capacity_bps or 0) / 1000) for r in samples])
    content = by_period(
        [(r.sampled_ns, r.sent_bytes * kbit) for r in samples]
        + [(r.sampled_ns, -r.arrived_bytes * kbit) for r in segments]
    )
    tcp = {}
    for name in connections:
        own = [r for r in segments if r.connection == name]
        tcp[name] = by_period([(r.sampled_ns, r.arrived_bytes * kbit) for r in own])
        run.value("tcp_resent", sum(r.resent_packets for r in own), entity=name)
        run.value("tcp_timeouts", sum(r.timeouts for r in own), entity=name)

    rates = {("content_kbps", ""): content, **{("tcp_kbps", name): tcp[name] for name in tcp}}
    for (metric, name), rate in rates.items():
        seconds: dict[int, list[float]] = {second: [] for second in range(run.seconds)}
        for period, value in enumerate(rate):
            seconds[period * period_ns // SECOND].append(value)
        means = {second: fmean(own) if own else 0 for second, own in seconds.items()}
        run.series(metric, means, entity=name)
    for phase, (low, high) in {"": (0, run.duration / SECOND), **run.phases}.items():
        part = slice(round(low * SECOND / period_ns), round(high * SECOND / period_ns))
        if not content[part]:
            continue
        for (metric, name), rate in rates.items():
            run.value(metric, fmean(rate[part]), entity=name, phase=phase)
        if any(capacity[part]):
            ahead = fmean(fmean(rate[part]) for rate in tcp.values()) - fmean(content[part])
            run.value("share_difference", ahead / fmean(capacity[part]), phase=phase)

    sending = [n for n in range(len(content)) if any(rate[n] for rate in tcp.values())]
    if sending and any(capacity):
        during = range(sending[0], sending[-1] + 1)
        shares = 1 + len(tcp)
        room = [capacity[n] / shares + capacity[n] / 10 - content[n] for n in during]
        run.value("content_adapted_after", reached_s(room, period_ns))
        for name, rate in tcp.items():
            excess = [rate[n] - capacity[n] / shares + capacity[n] / 10 for n in during]
            run.value("tcp_risen_after", reached_s(excess, period_ns), entity=name)


def reached_s(margin: list[float], period_ns: int) -> float:
    """When the margin, averaged over half a second, first is 0 or more; the end if never."""
    width = max(1, round(SECOND / 2 / period_ns))
    for end in range(width, len(margin) + 1):
        if sum(margin[end - width : end]) >= 0:
            return end * period_ns / SECOND
    return len(margin) * period_ns / SECOND
