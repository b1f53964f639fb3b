"""How evenly and steadily receivers are served where the network bears less than is published.

A phase has *settled* when deliveries, over a quarter of a second, first come within a tenth
of what they are in its second half, on average; what is *sent* settles likewise, and later
where a link bears less than before. How much deliveries then *swing* is told by the second
that is farthest from that average. Where it is known what each receiver wants, from a phase in
which all get it, what they get in others is *unfair* by as much as the worst of them is off
its max-min share of what they get together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from penstock.fairness.jain import jain
from penstock.fairness.single_link import fair_shares
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.lab.metrics.base import (
    Context,
    Figure,
    Ints,
    Metric,
    has_left,
    is_one_of,
)
from penstock.trace.batch import Batch
from penstock.trace.fates import PublisherFate

_SLOT_NS: Final = 50 * MILLISECOND
_SLOTS_PER_S: Final = SECOND // _SLOT_NS
# Of deliveries, over a quarter of a second.
_SMOOTH: Final = 5
_NEAR: Final = 0.1
# Seconds of a phase in which it may still settle.
_SETTLING_S: Final = 10
# Of more receivers nobody reads the rate of each.
_RATES_MAX: Final = 32


class Congestion(Metric):
    """Rates of receivers, Jain's index, feedback, how soon and how steadily."""

    TABLES: ClassVar[tuple[str, ...]] = (
        *("publications", "expected", "arrivals", "feedback", "signals", "queues", "flows"),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        slots = context.seconds * _SLOTS_PER_S
        self._none: Final = np.zeros(slots, np.int64)
        # Deliveries in each slot, by receiver.
        self._came: dict[str, Ints] = {}
        # Whoever expected or got anything, during the experiment or not.
        self._receivers: set[str] = set()
        # What left publishers in each slot.
        self._left: Ints = self._none
        self._publishers: set[str] = set()
        # What left, what of it had waited, and what never did.
        self._sent = self._rate_limited = self._dropped = 0
        self._feedback: set[tuple[str, str, int]] = set()
        self._feedback_bytes = 0
        self._acks = 0
        self._queued: list[Ints] = []
        # By publisher: its flows in each second.
        self._flows: dict[str, set[tuple[str, int]]] = {}

    def take(self, batch: Batch) -> None:
        """Each table for itself."""
        getattr(self, f"_take_{batch.table.name}")(batch)

    def figures(self) -> dict[str, Figure]:
        """Of the whole run, and of each phase."""
        seconds = max(1e-9, self.context.duration / SECOND)
        publishers = max(1, len(self._publishers))
        found = {
            # At one publisher.
            "feedback_rate": Figure(len(self._feedback) / seconds / publishers, "/s"),
            "ack_rate": Figure(self._acks / seconds / publishers, "/s"),
            "sent": Figure(self._sent, "messages"),
            "rate_limited": Figure(self._rate_limited, "messages"),
            "dropped_at_source": Figure(self._dropped, "messages"),
        }
        queued = np.concatenate(self._queued) if self._queued else np.empty(0, np.int64)
        if queued.size:
            found["queue_mean"] = Figure(float(queued.mean()), "B")
        mean, most = self._flow_table_sizes()
        found["flow_table_mean"] = Figure(mean, "flows")
        found["flow_table_max"] = Figure(most, "flows")
        whole = (0.0, float(self.context.seconds))
        for name, (low, high) in {"": whole, **self.context.phases()}.items():
            ending = f".{name}" if name else ""
            found |= {f"{key}{ending}": own for key, own in self._of_phase(low, high).items()}
        return found | self._fairness()

    def series(self) -> dict[str, list[float]]:
        """What each receiver gets, second by second."""
        return {
            f"received.{name}": list(map(float, came.reshape(-1, _SLOTS_PER_S).sum(axis=1)))
            for name, came in sorted(self._came.items())
        }

    def _flow_table_sizes(self) -> tuple[float, int]:
        """The mean and the largest number of flows, by publisher with flows and second."""
        if not self._flows:
            return 0.0, 0
        sizes = [
            np.bincount([at for _, at in own], minlength=self.context.seconds)
            for own in self._flows.values()
        ]
        return float(np.mean(sizes)), int(np.max(sizes))

    def _fairness(self) -> dict[str, Figure]:
        """Of each phase, if there is one that tells what everybody wants."""
        phases, ample = self.context.phases(), self.context.measure.ample
        if ample is None:
            return {}
        wanted = self._rates(*phases[ample])
        return {
            f"unfair.{name}": Figure(unfair_by(wanted, self._rates(*span)))
            for name, span in phases.items()
        }

    def _rates(self, low_s: float, high_s: float) -> dict[str, float]:
        part = slice(round(low_s * _SLOTS_PER_S), round(high_s * _SLOTS_PER_S))
        span_s = high_s - low_s
        return {name: float(came[part].sum()) / span_s for name, came in sorted(self._came.items())}

    def _of_phase(self, low_s: float, high_s: float) -> dict[str, Figure]:
        part = slice(round(low_s * _SLOTS_PER_S), round(high_s * _SLOTS_PER_S))
        rates = self._rates(low_s, high_s)
        found = {}
        if len(rates) <= _RATES_MAX:
            found = {f"rate.{name}": Figure(rate, "/s") for name, rate in rates.items()}
        if self._receivers:
            # Who expected something and got nothing counts, too.
            found["jain"] = Figure(jain(rates.get(name, 0.0) for name in sorted(self._receivers)))
        together = sum((came[part] for came in self._came.values()), self._none[part])
        settled = settled_after(together)
        if settled is not None:
            found["settled_after"] = Figure(settled / _SLOTS_PER_S, "s")
        sent_settled = settled_after(self._left[part])
        if sent_settled is not None:
            found["sent_settled_after"] = Figure(sent_settled / _SLOTS_PER_S, "s")
        swing = swing_of(together[_SETTLING_S * _SLOTS_PER_S :])
        if swing is not None:
            found["swing"] = Figure(swing)
        return found

    def _take_publications(self, batch: Batch) -> None:
        columns = batch.columns
        self._publishers.update(columns["publisher"].names or ())
        left = has_left(batch)
        self._left = self._left + self._in_slots(columns["published_ns"].values[left])
        held = is_one_of(batch, "fate", {PublisherFate.RATE_LIMITED})
        dropped = is_one_of(batch, "fate", {PublisherFate.DROPPED_AT_SOURCE})
        self._sent += int(left.sum())
        self._rate_limited += int((left & held).sum())
        self._dropped += int(dropped.sum())

    def _take_expected(self, batch: Batch) -> None:
        self._receivers |= _names_in(batch, "subscriber")

    def _take_arrivals(self, batch: Batch) -> None:
        self._receivers |= _names_in(batch, "subscriber")
        columns = batch.columns
        arrived_ns, codes = columns["arrived_ns"].values, columns["subscriber"].values
        for code, name in enumerate(columns["subscriber"].names or ()):
            own = self._in_slots(arrived_ns[codes == code])
            if own.any():
                self._came[name] = self._came.get(name, self._none) + own

    def _in_slots(self, instants: Ints) -> Ints:
        slots = (instants - self.context.origin) // _SLOT_NS
        inside = slots[(slots >= 0) & (slots < len(self._none))]
        return np.bincount(inside, minlength=len(self._none))

    def _take_feedback(self, batch: Batch) -> None:
        columns = batch.columns
        subscribers, publishers = columns["subscriber"], columns["publisher"]
        rows = zip(
            subscribers.values.tolist(),
            publishers.values.tolist(),
            columns["sent_ns"].values.tolist(),
            strict=True,
        )
        for subscriber, publisher, sent_ns in rows:
            names = (subscribers.names or [])[subscriber], (publishers.names or [])[publisher]
            # A row is one flow of a frame.
            self._feedback.add((*names, sent_ns))

    def _take_signals(self, batch: Batch) -> None:
        kinds = batch.columns["kind"]
        for code, kind in enumerate(kinds.names or ()):
            if kind == "ack":
                self._acks += int((kinds.values == code).sum())

    def _take_flows(self, batch: Batch) -> None:
        columns = batch.columns
        publishers, flows = columns["publisher"], columns["flow"]
        # Samples are taken at the end of what they tell of.
        second = self.seconds_of(columns["sampled_ns"].values - 1)
        inside = (second >= 0) & (second < self.context.seconds)
        rows = np.stack([publishers.values, flows.values, second], axis=1)[inside]
        for publisher, flow, at in np.unique(rows, axis=0).tolist():
            own = self._flows.setdefault((publishers.names or [])[publisher], set())
            own.add(((flows.names or [])[flow], at))

    def _take_queues(self, batch: Batch) -> None:
        self._queued.append(batch.columns["held_bytes"].values)


def _names_in(batch: Batch, column: str) -> set[str]:
    packed = batch.columns[column]
    assert packed.names is not None
    return {packed.names[code] for code in np.unique(packed.values).tolist()}


def unfair_by(wanted: Mapping[str, float], got: Mapping[str, float]) -> float:
    """How far the worst is from its share of what all get, as a part of that share."""
    fair = fair_shares(list(wanted.values()), sum(got.values()))
    off = [abs(got[name] / share - 1) for name, share in zip(wanted, fair, strict=True) if share]
    return max(off, default=0.0)


def settled_after(slots: Ints) -> int | None:
    """The slot in which deliveries first are what they will be; None if too little came."""
    if len(slots) < 2 * _SMOOTH or not slots[len(slots) // 2 :].any():
        return None
    later = float(slots[len(slots) // 2 :].mean())
    smooth = np.convolve(slots, np.ones(_SMOOTH) / _SMOOTH, mode="valid")
    near = np.flatnonzero(np.abs(smooth - later) <= _NEAR * later)
    return int(near[0]) if near.size else len(slots)


def swing_of(slots: Ints) -> float | None:
    """How far the worst second is from the mean, of it."""
    seconds = slots[: len(slots) // _SLOTS_PER_S * _SLOTS_PER_S].reshape(-1, _SLOTS_PER_S)
    sums = seconds.sum(axis=1)
    if len(sums) < 2 or not sums.any():
        return None
    return float(np.abs(sums / sums.mean() - 1).max())
