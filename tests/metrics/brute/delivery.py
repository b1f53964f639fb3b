"""What was expected and received, in which order and after how long, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import Any

from penstock.kernel.instant import SECOND
from penstock.trace.records import Arrival, Delivery, Expected, Publication
from tests.metrics.brute.run import (
    BruteRun,
    Key,
    Receipt,
    binned_quantile,
    grouped,
    quantile,
    share,
)

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
PAIR_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
# How many rows back inversions reach.
WINDOW = 64
RECEIVERS_MAX = 32


def measure(run: BruteRun) -> None:
    if run.has("expected"):
        run.value("expected", len(run.rows(Expected)))
        if run.has("publications"):
            offered = len(run.rows(Publication))
            run.value("receivers_per_message", share(len(run.rows(Expected)), offered))
    for ordering, own in run.receipts.items():
        received(run, ordering, own)
        if run.has("expected"):
            false_negatives(run, ordering, own)
        order(run, ordering, own)
        delays(run, ordering, own)
        if run.has("expected"):
            fairness(run, ordering, own)
    late_drops(run)
    receivers(run)


def received(run: BruteRun, ordering: str, own: list[Receipt]) -> None:
    ends = [r.ended for r in own]
    run.value("deliveries", len(ends), ordering)
    run.counts("deliveries", ends, ordering)
    for phase, span in run.phases.items():
        run.value("deliveries", run.count(ends, span), ordering, phase=phase)
    run.rates("delivery_rate", ends, ordering)
    if run.seconds:
        windows = zip(*(run.by_second(ends)[n:] for n in range(run.smooth_s)), strict=False)
        run.value("delivery_rate_peak", max(map(sum, windows)) / run.smooth_s, ordering)


def false_negatives(run: BruteRun, ordering: str, own: list[Receipt]) -> None:
    got = {r.message for r in own}
    due = run.rows(Expected)
    missed = [r.published_ns for r in due if (r.subscriber, r.publisher, r.epoch, r.seq) not in got]
    run.value("false_negatives", len(missed), ordering)
    run.counts("false_negatives", missed, ordering)
    run.value("false_negative_ratio", share(len(missed), len(due)), ordering)
    for phase, span in run.phases.items():
        wanted = run.count([r.published_ns for r in due], span)
        ratio = share(run.count(missed, span), wanted)
        run.value("false_negative_ratio", ratio, ordering, phase=phase)
    if run.seconds:
        run.rates("false_negative_rate", missed, ordering)
    repaired = [
        r.published_ns
        for r in run.rows(Delivery)
        if r.ordering == ordering and r.fate == "repaired" and r.delivered_ns is not None
    ]
    for phase, bounds in run.spans.items():
        lost, back = run.count(missed, bounds), run.count(repaired, bounds)
        if ordering and lost + back:
            run.value("recovered_share", back / (lost + back), ordering, phase=phase)


def order(run: BruteRun, ordering: str, own: list[Receipt]) -> None:
    late, descents, inversions = [], 0, 0
    highest: dict[Any, int] = {}
    before: dict[Any, deque[int]] = defaultdict(lambda: deque(maxlen=WINDOW))
    for r in own:
        stream = r.message[:3]
        seen = before[stream]
        if highest.get(stream, -1) > r.seq:
            late.append(r.ended)
            descents += seen[-1] > r.seq
            inversions += sum(seq > r.seq for seq in seen)
        highest[stream] = max(r.seq, highest.get(stream, -1))
        seen.append(r.seq)
    if own or ordering:
        run.value("inversions", inversions, ordering)
    if not own:
        return
    ends = [r.ended for r in own]
    run.value("violations", len(late), ordering)
    run.value("violation_ratio", len(late) / len(own), ordering)
    run.counts("violations", late, ordering)
    for phase, span in run.phases.items():
        count = run.count(late, span)
        run.value("violations", count, ordering, phase=phase)
        run.value("violation_ratio", share(count, run.count(ends, span)), ordering, phase=phase)
    run.value("descents", descents, ordering)
    run.value("unsorted_rows", unsorted_rows(run, ordering), ordering)
    together = correlation(*(_windows(run, run.by_second(instants)) for instants in (late, ends)))
    run.value("violations_with_deliveries", together, ordering)
    arrived_late = run.found.get(Key("value", "violations"), 0)
    if ordering and arrived_late:
        run.value("violations_removed", 1 - len(late) / arrived_late, ordering)


def unsorted_rows(run: BruteRun, ordering: str) -> int:
    if ordering:
        times = [r.delivered_ns for r in run.rows(Delivery) if r.ordering == ordering]
    else:
        times = [r.arrived_ns for r in run.rows(Arrival)]
    return sum(after < at for at, after in pairwise(at for at in times if at is not None))


def _windows(run: BruteRun, by_second: list[int]) -> list[int]:
    """Sums over whole windows."""
    width = run.smooth_s
    return [sum(by_second[n * width :][:width]) for n in range(len(by_second) // width)]


def correlation(one: Sequence[int], other: Sequence[int]) -> float:
    """Pearson's; 0 when one of them does not vary."""
    n, a, b = len(one), sum(one), sum(other)
    both = n * sum(x * y for x, y in zip(one, other, strict=True)) - a * b
    squares = [n * sum(x * x for x in own) - sum(own) ** 2 for own in (one, other)]
    return both / sqrt(squares[0] * squares[1]) if all(squares) else 0


def delays(run: BruteRun, ordering: str, own: list[Receipt]) -> None:
    delay(run, "delay", ordering, [(r, r.ended - r.published) for r in own])
    for phase, span in run.phases.items():
        if its := [r.ended - r.published for r in own if run.is_within(r.ended, span)]:
            run.value("delay_p50", binned_quantile(its, 0.5), ordering, phase=phase)
            run.value("delay_max", max(its) / 1e6, ordering, phase=phase)
    extra = [(r, r.ended - r.arrived) for r in own if r.arrived is not None]
    if not ordering or not extra:
        return
    means = sorted(delay(run, "extra_delay", ordering, extra))
    held = sum(value > 0 for _, value in extra) / len(extra)
    run.value("held_share", held, ordering)
    run.value("pairs_below_1ms", sum(mean < 1 for mean in means) / len(means), ordering)
    for percent in range(101):
        key = Key("curve", "extra_delay_pairs_ms", ordering, at=percent)
        run.found[key] = quantile(means, percent / 100)


def delay(
    run: BruteRun, name: str, ordering: str, values_ns: list[tuple[Receipt, int]]
) -> list[float]:
    """The distribution of a delay over messages and over pairs; returns the means of pairs."""
    run.distribution(name, [value for _, value in values_ns], SHARES, ordering)
    by_pair = grouped(values_ns, lambda row: row[0].pair)
    means = {pair: fmean(ns for _, ns in own) / 1e6 for pair, own in by_pair.items()}
    run.pairs(f"{name}_mean", means, ordering)
    for label, at in PAIR_SHARES.items() if means else ():
        run.value(f"{name}_pairs_{label}", quantile(means.values(), at), ordering)
    return list(means.values())


def late_drops(run: BruteRun) -> None:
    for ordering in run.named_orderings():
        own = [r for r in run.rows(Delivery) if r.ordering == ordering]
        run.value("late_drops", sum(r.fate == "dropped_late" for r in own), ordering)


def fairness(run: BruteRun, ordering: str, own: list[Receipt]) -> None:
    """All count that expected or got anything at any time, with what they got in the span."""
    everyone = {r.subscriber for r in run.rows(Expected)} | {r.subscriber for r in own}
    for phase, span in run.spans.items() if everyone else ():
        got = Counter(r.subscriber for r in own if run.is_within(r.ended, span))
        squares = len(everyone) * sum(count**2 for count in got.values())
        run.value("jain", got.total() ** 2 / squares if squares else 1, ordering, phase=phase)


def receivers(run: BruteRun) -> None:
    due, came = (grouped(run.rows(kind), lambda r: r.subscriber) for kind in (Expected, Arrival))
    names = due.keys() | came.keys()
    for name in names if len(names) <= RECEIVERS_MAX else ():
        if run.has("arrivals"):
            run.counts("received", [r.arrived_ns for r in came[name]], entity=name)
        if run.has("expected"):
            run.counts("wanted", [r.published_ns for r in due[name]], entity=name)
    if run.has("arrivals") and run.duration:
        counts = Counter({(r.subscriber, r.publisher): 0 for r in run.rows(Expected)})
        for r in run.rows(Arrival):
            counts[r.subscriber, r.publisher] += run.is_within(r.arrived_ns, run.spans[""])
        rates = {pair: count * SECOND / run.duration for pair, count in counts.items()}
        run.pairs("received_mps", rates)
