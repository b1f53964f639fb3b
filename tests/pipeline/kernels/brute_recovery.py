"""What recovery does, again in plain Python: the part of `brute` that has to do with it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from penstock.trace.records import CacheSample, Delivery, Publication, Repair, Request, Signal

if TYPE_CHECKING:
    from tests.pipeline.kernels.brute import Brute

GOT = {"delivered", "delivered_late", "repaired"}
SHARES = {"p50": 0.5, "p80": 0.8, "p99": 0.99}


def recovered(brute: Brute) -> None:
    """All of it."""
    deliveries(brute)
    sent(brute)
    requests(brute)
    caches(brute)


def deliveries(brute: Brute) -> None:
    rows = [r for r in brute.trace.rows(Delivery) if isinstance(r, Delivery)]
    for ordering in {r.ordering for r in rows}:
        originals, repairs, ends = [], [], []
        for r in rows:
            if r.ordering != ordering or r.fate not in GOT or r.delivered_ns is None:
                continue
            if r.fate == "repaired":
                repairs.append(r.delivered_ns - r.published_ns)
                ends.append(r.delivered_ns)
            else:
                originals.append(r.delivered_ns - r.published_ns)
        brute.figure("repaired", len(repairs), ordering)
        brute.seconds("repaired", ends, ordering)
        brute.spread("delivery_delay", originals, SHARES, ordering)
        brute.spread("repaired_delay", repairs, SHARES, ordering)


def sent(brute: Brute) -> None:
    size = {}
    for kind in (Request, Repair, Signal):
        if kind.TABLE in brute.trace.tables:
            rows = [r for r in brute.trace.rows(kind) if isinstance(r, Request | Repair | Signal)]
            brute.figure(kind.TABLE, len(rows))
            brute.seconds(kind.TABLE, [r.sent_ns for r in rows])
            size[kind.TABLE] = sum(r.size_bytes for r in rows)
    if "repairs" in size:
        again = [r for r in brute.trace.rows(Repair) if isinstance(r, Repair)]
        brute.figure("messages_repaired", len({(r.publisher, r.epoch, r.seq) for r in again}))
    if "publications" not in brute.trace.tables:
        return
    published = [r for r in brute.trace.rows(Publication) if isinstance(r, Publication)]
    published = [r for r in published if r.published_ns is not None]
    count = len(published) or 1
    brute.figure("frame_bytes", sum(r.size_bytes for r in published) / count)
    if "signals" in size:
        headers = sum(r.header_bytes for r in published)
        brute.figure("header_bytes", (headers + size["signals"]) / count)
    if "requests" in size and "repairs" in size:
        brute.figure("recovery_bytes", (size["requests"] + size["repairs"]) / count)


def requests(brute: Brute) -> None:
    if "requests" not in brute.trace.tables:
        return
    asked: dict[Any, list[Request]] = defaultdict(list)
    answers: dict[Any, list[Repair]] = defaultdict(list)
    for r in brute.trace.rows(Request):
        assert isinstance(r, Request)
        asked[r.publisher, r.epoch, r.seq].append(r)
    for a in brute.trace.rows(Repair):
        assert isinstance(a, Repair)
        answers[a.publisher, a.epoch, a.seq].append(a)
    first = {message: min(r.sent_ns for r in own) for message, own in asked.items()}
    brute.figure("messages_asked_for", len(asked))
    brute.seconds("messages_asked_for", first.values())
    if asked:
        twice = sum(max(0, sum(r.round == 0 for r in own) - 1) for own in asked.values())
        total = sum(map(len, asked.values()))
        brute.figure("requests_not_duplicated", 1 - twice / total)
    if "repairs" not in brute.trace.tables:
        return
    answered = [message for message in asked if message in answers]
    brute.seconds("messages_answered", [first[message] for message in answered])
    waits = [min(a.sent_ns for a in answers[m]) - first[m] for m in answered]
    brute.spread("request_to_repair", waits, SHARES)
    if asked:
        needless = sum(
            max(0, len(own) - max(1, len(asked.get(message, []))))
            for message, own in answers.items()
        )
        total = sum(map(len, answers.values())) or 1
        brute.figure("repairs_not_duplicated", 1 - needless / total)
        brute.figure("hit_ratio", len(answered) / len(asked))


def caches(brute: Brute) -> None:
    """A sample at the end of a second is of that second; what came before the origin is of none."""
    by_second: dict[int, list[int]] = defaultdict(list)
    every: list[int] = []
    for r in brute.trace.rows(CacheSample):
        assert isinstance(r, CacheSample)
        since = r.sampled_ns - brute.origin
        if since > 0 and r.node != r.publisher:
            every.append(r.limit_messages)
            if (since - 1) // 1_000_000_000 < -(-brute.duration // 1_000_000_000):
                by_second[(since - 1) // 1_000_000_000].append(r.limit_messages)
    most = max(every, default=0)
    if most:
        brute.figure("cache_limit_share", sum(every) / len(every) / most)
    if every:
        for name, value in least_mean_most(every).items():
            brute.figure(name, value)
    for second, own in by_second.items():
        for name, value in least_mean_most(own).items():
            brute.found["seconds", "", name, second] = value


def least_mean_most(values: list[int]) -> dict[str, float]:
    return {
        "cache_limit_min": min(values),
        "cache_limit_mean": sum(values) / len(values),
        "cache_limit_max": max(values),
    }
