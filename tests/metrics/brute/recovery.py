"""Losses that were declared, requests, repairs and caches, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock.kernel.instant import SECOND, Instant
from penstock.trace.records import (
    CacheSample,
    Delivery,
    Expected,
    Loss,
    Publication,
    Repair,
    Request,
    Signal,
)
from tests.metrics.brute.run import GOT, BruteRun

SHARES = {"p50": 0.5, "p80": 0.8, "p99": 0.99}
# Resolutions of messages whose original came.
CAME = {"delivered", "delivered_late", "dropped_late"}


def measure(run: BruteRun) -> None:
    detection(run)
    residual(run)
    repaired_delays(run)
    bytes_sent(run)
    requests(run)
    caches(run)


def detection(run: BruteRun) -> None:
    if not run.has("expected", "arrivals"):
        return
    came = {r.message for r in run.receipts[""]}
    missed: dict[Any, list[Instant]] = defaultdict(list)
    for r in run.rows(Expected):
        message = (r.subscriber, r.publisher, r.epoch, r.seq)
        if message not in came:
            missed[message].append(r.published_ns)
    run.value("missed", sum(map(len, missed.values())))
    losses = run.rows(Loss)
    named = {*run.orderings, *run.named_orderings(), *(r.ordering for r in losses)}
    for ordering in named if run.has("losses") else ():
        judge(run, [r for r in losses if r.ordering == ordering], missed, ordering)


def judge(
    run: BruteRun, losses: list[Loss], missed: dict[Any, list[Instant]], ordering: str
) -> None:
    declared = [
        ((r.subscriber, r.publisher, r.epoch, r.seq), r.lost_ns, r)
        for r in losses
        if r.lost_ns is not None
    ]
    right = [(message, at) for message, at, _ in declared if message in missed]
    run.value("losses_declared", len(declared), ordering)
    run.value("losses_right", len(right), ordering)
    retracted = sum(r.resolution != "given_up" for _, _, r in declared)
    run.value("losses_retracted", retracted, ordering)
    if declared:
        after = sum(at - r.detected_ns for _, at, r in declared) / len(declared)
        run.value("loss_precision", len(right) / len(declared), ordering)
        run.value("loss_declared_after", after / 1e6, ordering)
    if missed:
        found = {message for message, _ in right}
        run.value("loss_recall", len(found) / len(missed), ordering)
    if right:
        since = sum(at - min(missed[message]) for message, at in right) / len(right)
        run.value("loss_declared_since", since / 1e6, ordering)


def residual(run: BruteRun) -> None:
    losses = run.rows(Loss)
    named = {*run.orderings, *(r.ordering for r in losses)}
    for ordering in named if run.has("losses") else ():
        own = [r for r in losses if r.ordering == ordering]
        came = [r for r in own if r.resolution in CAME]
        run.value("missing", len(own), ordering)
        run.value("missing_came", len(came), ordering)
        if came:
            late = sum(r.resolution != "delivered" for r in came)
            released = sum(r.state in {"released", "lost"} for r in came)
            run.value("residual", late / len(came), ordering)
            run.value("released_share", released / len(came), ordering)


def repaired_delays(run: BruteRun) -> None:
    for ordering in {*run.orderings, *run.named_orderings()} if run.has("deliveries") else ():
        originals, repairs, ends = [], [], []
        for r in run.rows(Delivery):
            if r.ordering != ordering or r.fate not in GOT or r.delivered_ns is None:
                continue
            if r.fate == "repaired":
                repairs.append(r.delivered_ns - r.published_ns)
                ends.append(r.delivered_ns)
            else:
                originals.append(r.delivered_ns - r.published_ns)
        run.value("repaired", len(repairs), ordering)
        run.counts("repaired", ends, ordering)
        run.distribution("delivery_delay", originals, SHARES, ordering)
        run.distribution("repaired_delay", repairs, SHARES, ordering)


def bytes_sent(run: BruteRun) -> None:
    size = {}
    for kind in (Request, Repair, Signal):
        if run.has(kind.TABLE):
            rows: list[Any] = run.rows(kind)
            run.value(kind.TABLE, len(rows))
            run.counts(kind.TABLE, [r.sent_ns for r in rows])
            size[kind.TABLE] = sum(r.size_bytes for r in rows)
    if not run.has("publications"):
        return
    left = [r for r in run.rows(Publication) if r.published_ns is not None]
    count = len(left) or 1
    run.value("frame_bytes", sum(r.size_bytes for r in left) / count)
    if "signals" in size:
        headers = sum(r.header_bytes for r in left)
        run.value("header_bytes", (headers + size["signals"]) / count)
    if "requests" in size and "repairs" in size:
        run.value("recovery_bytes", (size["requests"] + size["repairs"]) / count)


def requests(run: BruteRun) -> None:
    asked: dict[Any, list[Request]] = defaultdict(list)
    answers: dict[Any, list[Repair]] = defaultdict(list)
    for r in run.rows(Request):
        asked[r.publisher, r.epoch, r.seq].append(r)
    for a in run.rows(Repair):
        answers[a.publisher, a.epoch, a.seq].append(a)
    if run.has("repairs"):
        run.value("messages_repaired", len(answers))
    if not run.has("requests"):
        return
    first = {message: min(r.sent_ns for r in own) for message, own in asked.items()}
    run.value("messages_asked_for", len(asked))
    run.counts("messages_asked_for", first.values())
    if asked:
        twice = sum(max(0, sum(r.round == 0 for r in own) - 1) for own in asked.values())
        run.value("requests_not_duplicated", 1 - twice / len(run.rows(Request)))
    if not run.has("repairs"):
        return
    answered = [message for message in asked if message in answers]
    run.value("messages_answered", len(answered))
    run.counts("messages_answered", [first[message] for message in answered])
    waits = [min(a.sent_ns for a in answers[m]) - first[m] for m in answered]
    run.distribution("request_to_repair", waits, SHARES)
    if asked:
        needless = sum(
            max(0, len(own) - max(1, len(asked.get(message, []))))
            for message, own in answers.items()
        )
        run.value("repairs_not_duplicated", 1 - needless / (len(run.rows(Repair)) or 1))
        run.value("hit_ratio", len(answered) / len(asked))


def caches(run: BruteRun) -> None:
    """A sample at the end of a second is of that second; what came before the origin is of none."""
    by_second: dict[int, list[int]] = defaultdict(list)
    for r in run.rows(CacheSample):
        if r.sampled_ns > run.origin and r.node != r.publisher:
            by_second[(r.sampled_ns - run.origin - 1) // SECOND].append(r.limit_messages)
    every = [limit for own in by_second.values() for limit in own]
    if not every:
        return
    for name, limit in least_mean_most(every).items():
        run.value(name, limit)
    if max(every):
        run.value("cache_limit_share", sum(every) / len(every) / max(every))
    for second, own in by_second.items():
        for name, limit in least_mean_most(own).items() if second < run.seconds else ():
            run.series(name, {second: limit})


def least_mean_most(values: list[int]) -> dict[str, float]:
    return {
        "cache_limit_min": min(values),
        "cache_limit_mean": sum(values) / len(values),
        "cache_limit_max": max(values),
    }
