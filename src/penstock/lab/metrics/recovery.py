"""What was lost, asked for and got back, with or without recovery.

A false negative of an ordering is a message that a subscriber's exact predicate matches and
that its application never got; one of the network, which `rates` counts, may have been
repaired. A request is a duplicate if another had asked for the same
message before, and this one for the first time; a repair, if there are more of a
message than requests for it. What is sent again because it was lost is neither.
"""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.metrics.base import (
    Context,
    Figure,
    Ints,
    Metric,
    Seen,
    has_left,
    is_one_of,
    part,
)
from penstock.lab.metrics.delay_bins import DelayBins
from penstock.lab.metrics.ledger import Ledger
from penstock.trace.batch import Batch
from penstock.trace.fates import RECEIVED, ReceiverFate

_GOT: Final = {fate.value for fate in RECEIVED}
_SHARES: Final = {"p50": 0.5, "p80": 0.8, "p99": 0.99}


class Recovery(Metric):
    """False negatives, repairs and their delays, duplicates, caches."""

    TABLES: ClassVar[tuple[str, ...]] = (
        *("publications", "expected", "deliveries"),
        *("requests", "repairs", "signals", "caches"),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._publications = self._publication_bytes = self._header_bytes = 0
        self._ledger = Ledger()
        # By ordering.
        self._repaired_by_second = {
            name: np.zeros(context.seconds, np.int64) for name in context.orderings
        }
        self._repaired_ms: list[Ints] = []
        self._delay_ms: list[Ints] = []
        # Of each message asked for: when, and how often for the first time; of each repaired: when.
        self._requests: dict[tuple[str, int, int], list[tuple[int, int]]] = defaultdict(list)
        self._repairs: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        self._request_bytes = self._repair_bytes = self._signal_bytes = 0
        self._limits: list[Ints] = []

    def take(self, batch: Batch) -> None:
        """Each table for itself."""
        getattr(self, f"_take_{batch.table.name}")(batch)

    def figures(self) -> dict[str, Figure]:
        """Shares and delays need something to be shares and delays of; counts may be 0."""
        found = {
            "frame_bytes": self._per_message(self._publication_bytes),
            # Of a header, and of what else is said so that losses are found.
            "header_bytes": self._per_message(self._header_bytes + self._signal_bytes),
            **_quantiles("delivery_delay", self._delay_ms),
            **_quantiles("repaired_delay", self._repaired_ms),
        }
        found["repaired"] = Figure(sum(map(len, self._repaired_ms)), "deliveries")
        found["requests"] = Figure(sum(map(len, self._requests.values())), "requests")
        found["repairs"] = Figure(sum(map(len, self._repairs.values())), "repairs")
        found["messages_asked_for"] = Figure(len(self._requests), "messages")
        found["messages_repaired"] = Figure(len(self._repairs), "messages")
        found["recovery_bytes"] = self._per_message(self._request_bytes + self._repair_bytes)
        if self._requests:
            found |= self._of_requests()
        limits = np.concatenate(self._limits) if self._limits else np.empty(0, np.int64)
        if limits.size:
            found["cache_limit_mean"] = Figure(float(limits.mean()), "messages")
            found["cache_limit_max"] = Figure(float(limits.max()), "messages")
            found["cache_limit_share"] = Figure(float(limits.mean() / limits.max()))
        return found

    def series(self) -> dict[str, list[float]]:
        """What figures 4.6 and 4.8 plot."""
        requests = [at for own in self._requests.values() for at, _ in own]
        repairs = [at for own in self._repairs.values() for at in own]
        return {
            "requests": list(map(float, self.per_second(np.array(requests, np.int64)))),
            "repairs": list(map(float, self.per_second(np.array(repairs, np.int64)))),
        }

    def of_orderings(self) -> dict[str, Seen]:
        """What applications never got, in all and in each phase."""
        return {name: self._of_ordering(name) for name in self.context.orderings}

    def _of_ordering(self, ordering: str) -> Seen:
        missed_ns, expected = self._ledger.missed_ns(ordering), self._ledger.expected
        found = {
            "false_negatives": Figure(missed_ns.size, "deliveries"),
            "false_negative_ratio": Figure(missed_ns.size / expected if expected else 0.0),
        }
        missed = self.per_second(missed_ns)
        repaired = self._repaired_by_second[ordering]
        whole = (0.0, float(self.context.seconds))
        for name, (low, high) in {"": whole, **self.context.phases()}.items():
            ending = f".{name}" if name else ""
            # Both by the second of publication.
            missing, again = (int(part(counts, low, high).sum()) for counts in (missed, repaired))
            found[f"false_negative_rate{ending}"] = Figure(missing / (high - low), "/s")
            if missing or again:
                found[f"recovered_share{ending}"] = Figure(again / (missing + again))
        return Seen(found, {"false_negatives": list(map(float, missed))})

    def _of_requests(self) -> dict[str, Figure]:
        requests = sum(map(len, self._requests.values()))
        repairs = sum(map(len, self._repairs.values()))
        asked_twice = sum(
            max(0, sum(round_ == 0 for _, round_ in own) - 1) for own in self._requests.values()
        )
        sent_twice = sum(
            max(0, len(own) - max(1, len(self._requests.get(id_, ()))))
            for id_, own in self._repairs.items()
        )
        answered = [id_ for id_ in self._requests if id_ in self._repairs]
        waits = [
            (min(self._repairs[id_]) - min(at for at, _ in self._requests[id_])) // 1
            for id_ in answered
        ]
        return {
            "requests_not_duplicated": Figure(1 - asked_twice / requests),
            "repairs_not_duplicated": Figure(1 - sent_twice / max(1, repairs)),
            "hit_ratio": Figure(len(answered) / len(self._requests)),
            **_quantiles("request_to_repair", [np.array(waits, np.int64)]),
        }

    def _per_message(self, size_bytes: int) -> Figure:
        return Figure(size_bytes / max(1, self._publications), "B")

    def _take_publications(self, batch: Batch) -> None:
        left, columns = has_left(batch), batch.columns
        self._publications += int(left.sum())
        self._publication_bytes += int(columns["size_bytes"].values[left].sum())
        self._header_bytes += int(columns["header_bytes"].values[left].sum())

    def _take_expected(self, batch: Batch) -> None:
        self._ledger.expect(batch)

    def _take_deliveries(self, batch: Batch) -> None:
        columns, orderings = batch.columns, batch.columns["ordering"]
        got = is_one_of(batch, "fate", _GOT)
        repaired = got & is_one_of(batch, "fate", {ReceiverFate.REPAIRED.value})
        self._ledger.deliver(batch, got)
        published = columns["published_ns"].values
        for code, name in enumerate(orderings.names or ()):
            own = published[repaired & (orderings.values == code)]
            self._repaired_by_second[name] += self.per_second(own)
        delays = columns["delivered_ns"].values - published
        self._repaired_ms.append(delays[repaired])
        self._delay_ms.append(delays[got & ~repaired])

    def _take_requests(self, batch: Batch) -> None:
        for id_, at, round_ in _rows(batch, "round"):
            self._requests[id_].append((at, round_))
        self._request_bytes += int(batch.columns["size_bytes"].values.sum())

    def _take_repairs(self, batch: Batch) -> None:
        for id_, at, _ in _rows(batch, "seq"):
            self._repairs[id_].append(at)
        self._repair_bytes += int(batch.columns["size_bytes"].values.sum())

    def _take_signals(self, batch: Batch) -> None:
        self._signal_bytes += int(batch.columns["size_bytes"].values.sum())

    def _take_caches(self, batch: Batch) -> None:
        """Those of subscribers: what publishers keep of their own the papers have none of."""
        columns = batch.columns
        at_s = (columns["sampled_ns"].values - self.context.origin) / SECOND
        nodes, publishers = columns["node"].names or [], columns["publisher"].names or []
        places = {name: code for code, name in enumerate(publishers)}
        own = np.array([places.get(name, -1) for name in nodes], np.int64)
        is_own = own[columns["node"].values] == columns["publisher"].values
        self._limits.append(columns["limit_messages"].values[(at_s > 0) & ~is_own])


def _rows(batch: Batch, also: str) -> list[tuple[tuple[str, int, int], int, int]]:
    """Whose message, when, and one more column."""
    columns = batch.columns
    names = columns["publisher"].names or []
    values = zip(
        columns["publisher"].values.tolist(),
        columns["epoch"].values.tolist(),
        columns["seq"].values.tolist(),
        columns["sent_ns"].values.tolist(),
        columns[also].values.tolist(),
        strict=True,
    )
    return [((names[code], epoch, seq), at, other) for code, epoch, seq, at, other in values]


def _quantiles(name: str, parts: list[Ints]) -> dict[str, Figure]:
    values = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if not values.size:
        return {}
    bins = DelayBins(values)
    found = {
        f"{name}_{label}": Figure(bins.quantile_ms(share), "ms") for label, share in _SHARES.items()
    }
    return {f"{name}_mean": Figure(float(values.mean()) / MILLISECOND, "ms"), **found}
