"""All metrics again in plain Python, row by row: what kernels and twins are held against."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise
from math import ceil, floor, inf
from typing import Any, NamedTuple, TypeAlias

from penstock.fairness.effairness import effairness
from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.kernel.errors import UsageError
from penstock.trace.fates import DropReason
from penstock.trace.records import (
    Arrival,
    Delivery,
    Drop,
    Edge,
    Expected,
    LinkSample,
    Loss,
    Publication,
    QueueSample,
)
from tests.pipeline.kernels.brute_congestion import controlled
from tests.pipeline.kernels.brute_recovery import GOT, recovered
from tests.pipeline.kernels.traces import Trace

# table, ordering, metric, and which pair, second or bin.
Key: TypeAlias = tuple[str, str, str, Any]


class Receipt(NamedTuple):
    ordering: str
    subscriber: str
    publisher: str
    epoch: int
    seq: int
    published: int
    arrived: int | None
    ended: int

    @property
    def message(self) -> tuple[str, str, int, int]:
        return self.subscriber, self.publisher, self.epoch, self.seq


class Brute:
    """One trace."""

    def __init__(self, trace: Trace) -> None:
        self.found: dict[Key, float] = {}
        self.trace = trace
        times = json.loads(trace.run.parameters).get("run", {})
        self.origin = round(times.get("warmup_s", 0) * 1_000_000_000)
        self.duration = trace.run.duration_ns
        self.receipts = {"": self.arrived()} if "arrivals" in trace.tables else {}
        self.receipts |= self.delivered()
        self.rates()
        self.order()
        self.delays()
        self.detection()
        recovered(self)
        controlled(self)
        self.network()
        self.fairness()
        self.effairness()

    def arrived(self) -> list[Receipt]:
        rows = [r for r in self.trace.rows(Arrival) if isinstance(r, Arrival)]
        return [
            Receipt("", r.subscriber, r.publisher, r.epoch, r.seq, r.published_ns, r.arrived_ns,
                    r.arrived_ns)
            for r in sorted(rows, key=lambda r: r.arrived_ns)
        ]  # fmt: skip

    def delivered(self) -> dict[str, list[Receipt]]:
        rows = [r for r in self.trace.rows(Delivery) if isinstance(r, Delivery)]
        found: dict[str, list[Receipt]] = {r.ordering: [] for r in rows}
        for r in rows:
            if r.fate in GOT and r.delivered_ns is not None:
                found[r.ordering].append(
                    Receipt(r.ordering, r.subscriber, r.publisher, r.epoch, r.seq, r.published_ns,
                            r.arrived_ns, r.delivered_ns)
                )  # fmt: skip
        return {name: sorted(own, key=lambda r: r.ended) for name, own in found.items()}

    def figure(self, name: str, value: float, ordering: str = "") -> None:
        self.found["figures", ordering, name, None] = value

    def seconds(self, name: str, instants: Iterable[int], ordering: str = "") -> None:
        counts = Counter((at - self.origin) // 1_000_000_000 for at in instants)
        for second in range(ceil(self.duration / 1_000_000_000)):
            self.found["seconds", ordering, name, second] = counts[second]

    def rates(self) -> None:
        tables = self.trace.tables
        published = [r for r in self.trace.rows(Publication) if isinstance(r, Publication)]
        wanted = [r for r in self.trace.rows(Expected) if isinstance(r, Expected)]
        if "expected" in tables:
            self.figure("expected", len(wanted))
        if "publications" in tables and "expected" in tables:
            share = len(wanted) / len(published) if published else 0
            self.figure("receivers_per_message", share)
        for ordering, own in self.receipts.items():
            self.figure("deliveries", len(own), ordering)
            self.seconds("deliveries", [r.ended for r in own], ordering)
            if "expected" in tables:
                got = {r.message for r in own}
                missed = [
                    r for r in wanted if (r.subscriber, r.publisher, r.epoch, r.seq) not in got
                ]
                share = len(missed) / len(wanted) if wanted else 0
                self.figure("false_negatives", len(missed), ordering)
                self.figure("false_negative_ratio", share, ordering)
                self.seconds("false_negatives", [r.published_ns for r in missed], ordering)

    def order(self) -> None:
        arrived_late = 0
        for ordering, own in self.receipts.items():
            if not own:
                continue
            before: dict[Any, list[int]] = defaultdict(list)
            late, descents, inversions = [], 0, 0
            for r in own:
                seen = before[r.message[:3]]
                if any(seq > r.seq for seq in seen):
                    late.append(r.ended)
                descents += bool(seen) and seen[-1] > r.seq
                inversions += sum(seq > r.seq for seq in seen[-64:])
                seen.append(r.seq)
            self.figure("violations", len(late), ordering)
            self.figure("violation_ratio", len(late) / len(own), ordering)
            self.figure("descents", descents, ordering)
            self.figure("inversions", inversions, ordering)
            self.figure("unsorted_rows", self.falls(ordering), ordering)
            self.seconds("violations", late, ordering)
            if not ordering:
                arrived_late = len(late)
            elif arrived_late:
                self.figure("violations_removed", 1 - len(late) / arrived_late, ordering)

    def falls(self, ordering: str) -> int:
        if ordering:
            rows = [r for r in self.trace.rows(Delivery) if isinstance(r, Delivery)]
            times = [r.delivered_ns for r in rows if r.ordering == ordering]
        else:
            times = [r.arrived_ns for r in self.trace.rows(Arrival) if isinstance(r, Arrival)]
        known = [at for at in times if at is not None]
        return sum(after < at for at, after in pairwise(known))

    def delays(self) -> None:
        for ordering, own in self.receipts.items():
            pairs = [(r.subscriber, r.publisher) for r in own]
            whole = [r.ended - r.published for r in own]
            self.quantity("delay", ordering, list(zip(pairs, whole, strict=True)))
            if ordering:
                extra = [
                    (pair, r.ended - r.arrived)
                    for pair, r in zip(pairs, own, strict=True)
                    if r.arrived is not None
                ]
                means = self.quantity("extra_delay", ordering, extra)
                if extra:
                    held = sum(value > 0 for _, value in extra) / len(extra)
                    self.figure("held_share", held, ordering)
                    short = sum(mean < 1 for mean in means) / len(means)
                    self.figure("pairs_below_1ms", short, ordering)

    def quantity(self, name: str, ordering: str, values: list[tuple[Any, int]]) -> list[float]:
        if not values:
            return []
        shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
        self.spread(name, [value for _, value in values], shares, ordering)
        by_pair: dict[Any, list[int]] = defaultdict(list)
        for pair, value in values:
            by_pair[pair].append(value)
        means = {pair: sum(own) / len(own) / 1e6 for pair, own in by_pair.items()}
        for pair, mean in means.items():
            self.found["pairs", ordering, f"{name}_mean", pair] = mean
        self.figure(f"{name}_pairs_max", max(means.values()), ordering)
        for label, at in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            self.figure(f"{name}_pairs_{label}", quantile(sorted(means.values()), at), ordering)
        return list(means.values())

    def spread(
        self, name: str, values: list[int], shares: dict[str, float], ordering: str = ""
    ) -> None:
        if not values:
            return
        bins = sorted(value // 100_000 for value in values)
        for place, count in Counter(bins).items():
            self.found["histograms", ordering, name, place] = count
        most = max(values) / 1e6
        self.figure(f"{name}_mean", sum(values) / len(values) / 1e6, ordering)
        self.figure(f"{name}_max", most, ordering)
        middles = [(place + 0.5) / 10 for place in bins]
        for label, at in shares.items():
            self.figure(f"{name}_{label}", min(most, quantile(middles, at)), ordering)

    def detection(self) -> None:
        rows = [r for r in self.trace.rows(Delivery) if isinstance(r, Delivery)]
        for ordering in {r.ordering for r in rows}:
            dropped = sum(r.fate == "dropped_late" for r in rows if r.ordering == ordering)
            self.figure("late_drops", dropped, ordering)
        if not {"expected", "arrivals"} <= {*self.trace.tables}:
            return
        came = {r.message for r in self.receipts[""]}
        wanted = [r for r in self.trace.rows(Expected) if isinstance(r, Expected)]
        missed: dict[Any, list[int]] = defaultdict(list)
        for r in wanted:
            if (r.subscriber, r.publisher, r.epoch, r.seq) not in came:
                missed[r.subscriber, r.publisher, r.epoch, r.seq].append(r.published_ns)
        self.figure("missed", sum(map(len, missed.values())))
        losses = [r for r in self.trace.rows(Loss) if isinstance(r, Loss)]
        known = {r.ordering for r in losses} | {r.ordering for r in rows}
        if "losses" not in self.trace.tables:
            known = set()
        for ordering in known:
            self.judge([r for r in losses if r.ordering == ordering], missed, ordering)

    def judge(self, losses: list[Loss], missed: dict[Any, list[int]], ordering: str) -> None:
        declared = [
            ((r.subscriber, r.publisher, r.epoch, r.seq), r.lost_ns, r)
            for r in losses
            if r.lost_ns is not None
        ]
        right = [(message, at) for message, at, _ in declared if message in missed]
        self.figure("losses_declared", len(declared), ordering)
        self.figure("losses_right", len(right), ordering)
        retracted = sum(r.resolution != "given_up" for _, _, r in declared)
        self.figure("losses_retracted", retracted, ordering)
        if declared:
            after = sum(at - r.detected_ns for _, at, r in declared) / len(declared)
            self.figure("loss_precision", len(right) / len(declared), ordering)
            self.figure("loss_declared_after", after / 1e6, ordering)
        if missed:
            found = {message for message, _ in right}
            self.figure("loss_recall", len(found) / len(missed), ordering)
        if right:
            since = sum(at - min(missed[message]) for message, at in right) / len(right)
            self.figure("loss_declared_since", since / 1e6, ordering)

    def network(self) -> None:
        samples = [r for r in self.trace.rows(LinkSample) if isinstance(r, LinkSample)]
        if "links" in self.trace.tables:
            names = ("queue_full_packets", "loss_packets", "down_packets", "corrupt_packets")
            self.figure("link_packets", sum(r.sent_packets for r in samples))
            for name in names:
                self.figure(name, sum(getattr(r, name) for r in samples))
            full = [r.sampled_ns for r in samples if r.queue_full_packets]
            since = max(0, min(full) - self.origin) if full else self.duration
            self.figure("overload_from", since / 1e9)
            self.uses(samples)
        queues = [r for r in self.trace.rows(QueueSample) if isinstance(r, QueueSample)]
        if "queues" in self.trace.tables:
            self.figure("queue_max", max((r.held_bytes for r in queues), default=0))
            for r in queues:
                key = ("figures", "", f"queue_peak.{r.queue}", None)
                peak = max(r.held_bytes, r.peak_bytes or 0)
                self.found[key] = max(peak, self.found.get(key, 0))
        drops = [r for r in self.trace.rows(Drop) if isinstance(r, Drop)]
        if "drops" in self.trace.tables:
            for reason in DropReason:
                self.figure(f"drops.{reason}", sum(r.reason == reason for r in drops))

    def uses(self, samples: list[LinkSample]) -> None:
        sent, could = Counter[str](), Counter[str]()
        for r in samples:
            if 0 < r.sampled_ns - self.origin <= self.duration and r.capacity_bps is not None:
                sent[r.link] += r.sent_bytes * 8
                could[r.link] += r.capacity_bps * r.period_ns
        uses = {name: sent[name] * 1e9 / could[name] for name in could}
        for name, use in uses.items():
            self.figure(f"link_use.{name}", use)
        if uses:
            self.figure("bottleneck_use", max(uses.values()))

    def fairness(self) -> None:
        wanted = {r.subscriber for r in self.trace.rows(Expected) if isinstance(r, Expected)}
        for ordering, own in self.receipts.items():
            end = self.origin + ceil(self.duration / 1_000_000_000) * 1_000_000_000
            rates = Counter(r.subscriber for r in own if self.origin <= r.ended < end)
            receivers = wanted | {r.subscriber for r in own}
            if receivers:
                squares = sum(rates[who] ** 2 for who in receivers)
                total = sum(rates.values())
                index = total**2 / (len(receivers) * squares) if squares else 1
                self.figure("jain", index, ordering)

    def effairness(self) -> None:
        if not {"publications", "expected", "arrivals", "edges"} <= {*self.trace.tables}:
            return
        edges = {r for r in self.trace.rows(Edge) if isinstance(r, Edge)}
        published = [r for r in self.trace.rows(Publication) if isinstance(r, Publication)]
        wanted = [r for r in self.trace.rows(Expected) if isinstance(r, Expected)]
        alike: dict[Any, list[Receiver]] = defaultdict(list)
        demands: dict[Any, float] = {}
        for pair in sorted({(r.publisher, r.subscriber) for r in wanted}):
            own = [r for r in wanted if (r.publisher, r.subscriber) == pair]
            given = [r for r in published if r.publisher == pair[0]]
            got = [r for r in self.receipts[""] if (r.publisher, r.subscriber) == pair]
            first = min(r.published_ns for r in own) / 1e9
            last = max(r.published_ns for r in own) / 1e9
            left = [r.size_bytes for r in given if r.published_ns is not None]
            if first == last or not left:
                continue
            bits = sum(left) * 8 / len(left)
            session = (pair[0], *sorted((r.epoch, r.seq) for r in own))
            demand = (len(own) + len(given) - len(left)) / (last - first) * bits
            demands[session] = max(demand, demands.get(session, 0))
            leave = max([last, *(r.ended / 1e9 for r in got)])
            alike[session].append(
                Receiver(id=" ".join(pair), host=pair[1], join=first, leave=leave,
                         data=len(got) * bits)
            )  # fmt: skip
        if alike:
            self.judged(edges, alike, demands)

    def judged(
        self, edges: set[Edge], alike: dict[Any, list[Receiver]], demands: dict[Any, float]
    ) -> None:
        could, spans = Counter[str](), Counter[str]()
        for s in self.trace.rows(LinkSample):
            assert isinstance(s, LinkSample)
            if s.capacity_bps and 0 < s.sampled_ns - self.origin <= self.duration:
                could[s.link] += s.capacity_bps * s.period_ns
                spans[s.link] += s.period_ns
        links = tuple(
            Link(
                start=r.start,
                end=r.end,
                capacity=could[f"{r.start}-{r.end}"] / spans[f"{r.start}-{r.end}"]
                if f"{r.start}-{r.end}" in spans
                else inf
                if r.capacity_bps is None
                else r.capacity_bps,
                delay=r.delay_ns / 1e9,
            )
            for r in edges
        )
        sessions = tuple(
            Session(id=str(key), sender=Sender(host=key[0], capacity=demands[key]),
                    receivers=tuple(own))
            for key, own in alike.items()
        )  # fmt: skip
        try:
            outcome = effairness(Network(links, sessions))
        except UsageError:
            self.figure("effairness_judged", 0)
            return
        self.figure("effairness_judged", 1)
        self.figure("effairness", outcome.overall)
        for publisher in {key[0] for key in alike}:
            own = [outcome.by_session[str(key)] for key in alike if key[0] == publisher]
            self.figure(f"effairness.{publisher}", sum(own) / len(own))
        receivers = outcome.network.receivers()
        for receiver, index in zip(receivers, outcome.by_receiver.tolist(), strict=True):
            publisher, subscriber = receiver.id.split()
            self.found["pairs", "", "effairness", (subscriber, publisher)] = index


def quantile(values: list[float], share: float) -> float:
    rank = (len(values) - 1) * share
    low, high = values[floor(rank)], values[ceil(rank)]
    return low + (high - low) * (rank - floor(rank))


def brute_force(trace: Trace) -> dict[Key, float]:
    return Brute(trace).found


def keyed(rows: Iterable[dict[str, Any]]) -> dict[Key, float]:
    """Rows of the wide table in the same form."""
    which: dict[str, Callable[[dict[str, Any]], Any]] = {
        "figures": lambda _row: None,
        "pairs": lambda row: (row["subscriber"], row["publisher"]),
        "seconds": lambda row: row["second"],
        "histograms": lambda row: row["bin"],
    }
    found: dict[Key, float] = {}
    for row in rows:
        table = row["table"]
        key = (table, row["ordering"], row["metric"], which[table](row))
        assert key not in found, key
        found[key] = row["count"] if table == "histograms" else row["value"]
    return found
