"""How hosts recover what they missed: for how long, at whose cost, and how near to the best.

A host *recovers* in a phase if it is behind in its first sample, which may have been taken as the
phase begins: a pubend that it reads is more than 1.5 s behind the clock, or in recovery. It has
recovered with the first sample in which none is. A host that does not has no time of recovery, and
its span goes on to the end of the phase.

The *bound* is the time that a link needs for what had to cross it in that span: first crossings,
and repairs that the relay behind it needed. No recovery can be shorter than that of its slowest
link.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import numpy as np

from penstock.fairness.jain import jain
from penstock.kernel.instant import SECOND, Duration, Instant, seconds
from penstock.metrics.base import Entity, Metric, Output
from penstock.metrics.network.link_samples import rate_at
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Flags, Floats, Ints

_BEHIND_NS: Final[Duration] = 3 * SECOND // 2
# Publishers have their full rate when they have so many percent of it for so long.
_FULL_PERCENT: Final = 98
_FULL_NS: Final[Duration] = 2 * SECOND
_BITS_PER_BYTE: Final = 8
_NUMBERS: Final = (
    "sampled_ns",
    "published_messages",
    "behind_ns",
    "nack_window_ns",
    "demanded_messages",
)
_STREAMS: Final = (*_NUMBERS, "broker", "pubend", "is_recovering", "doubt_rate")


class StreamRecovery(Metric[Batch]):
    """Keeps samples: when a host has recovered is known after the sums that end there."""

    READS: ClassVar = {
        "streams": _STREAMS,
        "crossings": ("sampled_ns", "link", "necessary_bytes"),
        "links": ("sampled_ns", "link", "capacity_bps"),
    }
    OPTIONAL: ClassVar = frozenset({"crossings", "links"})
    KEEPS_BYTES_PER_ROW: ClassVar = 64
    OUTPUTS: ClassVar = tuple(
        Output(name=name, unit=unit, entity=Entity.HOST, phased=True, meaning=meaning)
        for name, unit, meaning in (
            (
                "recovered_after",
                "s",
                "time until a host that is behind when a phase begins no longer is; 0 for one"
                " that is not, and nothing if that does not come about in the phase",
            ),
            (
                "recovery_publish_rate",
                "messages/s",
                "messages that all brokers confirmed to publishers while a host recovered",
            ),
            (
                "recovery_publish_share",
                "1",
                "the same messages by those that publishers would have published",
            ),
            (
                "recovery_publish_jain",
                "1",
                "Jain's index over pubends of messages confirmed while a host recovered",
            ),
            (
                "recovery_bound",
                "s",
                "time that a link needed for what had to cross it while a host recovered, of the"
                " link that needed most",
            ),
            ("recovery_over_bound", "1", "`recovered_after` by `recovery_bound`"),
            (
                "full_rate_after",
                "s",
                "time from the end of a recovery until publishers first have 98 % of what they"
                " want over two seconds",
            ),
            (
                "recovery_doubt_rate_max",
                "s/s",
                "the largest that a sample found of the smoothed rate of doubt horizons, mean over"
                " pubends, while a host recovered",
            ),
            ("recovery_window", "s", "how far ahead a host asked for repairs while it recovered"),
        )
    )

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._streams: Final[list[Batch]] = []
        # Columns: instant, link, bytes; instant, link, rate.
        self._crossed: Final[list[Ints]] = []
        self._rates: Final[list[Ints]] = []

    def update(self, batch: Batch) -> None:
        """Keeps the next samples."""
        if batch.table.name == "streams":
            self._streams.append(batch.only(_STREAMS))
            return
        sampled_ns, link = batch.integers("sampled_ns"), batch.codes("link")
        if batch.table.name == "crossings":
            self._crossed.append(np.stack([sampled_ns, link, batch.integers("necessary_bytes")]))
        else:
            # A null rate, of a link without a limit, is 0.
            self._rates.append(np.stack([sampled_ns, link, batch.integers("capacity_bps")]))

    def finish(self, out: Results) -> None:
        """Each host in each phase."""
        if not (self._streams and self.run.phase_bounds):
            return
        streams, crossings = _Streams(self._streams), _Crossings(self._crossed, self._rates)
        names = self.run.codes.names("broker")
        for phase, (low_s, high_s) in self.run.phase_bounds.items():
            low, high = (self.run.origin + seconds(bound) for bound in (low_s, high_s))
            for host in streams.hosts():
                own = streams.between(low, high) & (streams.broker == host) & streams.is_read
                if own.any():
                    found = _recovery(streams, crossings, own, low, high)
                    for name, value in found:
                        out.add_value(name, value, entity=names[host], phase=phase)


class _Streams:
    """All samples of streams, column by column."""

    def __init__(self, batches: list[Batch]) -> None:
        def joined(name: str) -> Ints:
            return np.concatenate([batch.integers(name) for batch in batches])

        def present(name: str) -> Flags:
            return np.concatenate([batch.present(name) for batch in batches])

        self.sampled_ns: Final = joined("sampled_ns")
        self.broker: Final = joined("broker")
        self.pubend: Final = joined("pubend")
        self.published: Final = joined("published_messages")
        self.demanded: Final = joined("demanded_messages")
        self.has_demand: Final = present("demanded_messages")
        self.window_ns: Final = joined("nack_window_ns")
        self.has_window: Final = present("nack_window_ns")
        self.doubt_rate: Final[Floats] = np.concatenate([b.reals("doubt_rate") for b in batches])
        self.has_doubt_rate: Final = present("doubt_rate")
        self.is_read: Final = present("behind_ns")
        self.is_behind: Final[Flags] = (joined("behind_ns") > _BEHIND_NS) | joined(
            "is_recovering"
        ).astype(np.bool_)

    def hosts(self) -> list[int]:
        """Codes of brokers with readers."""
        return np.unique(self.broker[self.is_read]).tolist()  # type: ignore[no-any-return]

    def between(self, low: Instant, high: Instant) -> Flags:
        """Samples that were taken then, also at the very beginning."""
        return np.asarray((self.sampled_ns >= low) & (self.sampled_ns <= high))

    def within(self, low: Instant, high: Instant) -> Flags:
        """Samples that describe a time within these bounds: a sample ends what it describes."""
        return np.asarray((self.sampled_ns > low) & (self.sampled_ns <= high))

    def full_rate_at(self, since: Instant, until: Instant) -> Instant | None:
        """When publishers first have what they want; None if that is not known, or never so."""
        if not self.has_demand.any():
            return None
        sampled_ns = self.sampled_ns[self.has_demand & self.within(since, until)]
        instants: list[Instant] = [since, *np.unique(sampled_ns).tolist()]
        for at in instants:
            last = self.has_demand & self.within(at - _FULL_NS, at)
            published, demanded = self.published[last].sum(), self.demanded[last].sum()
            if 100 * published >= _FULL_PERCENT * demanded:
                return at
        return None


class _Crossings:
    """All samples of crossings, with the time that their links needed for them."""

    def __init__(self, crossed: list[Ints], rates: list[Ints]) -> None:
        nothing = np.zeros((3, 0), np.int64)
        self._sampled_ns, self._link, size_bytes = np.concatenate([nothing, *crossed], axis=1)
        rate_ns, rate_link, rate_bps = np.concatenate([nothing, *rates], axis=1)
        self._needed_s: Final = np.zeros(self._link.size)
        for link in np.unique(self._link).tolist():
            own, its = self._link == link, (rate_link == link) & (rate_bps > 0)
            rate, is_known = rate_at(rate_ns[its], rate_bps[its], self._sampled_ns[own])
            self._needed_s[own] = np.divide(
                size_bytes[own] * _BITS_PER_BYTE, rate, out=np.zeros(rate.size), where=is_known
            )

    def needed_s(self, low: Instant, high: Instant) -> float:
        """Time that the link needed that needed most; 0 if no rate is known."""
        inside = (self._sampled_ns > low) & (self._sampled_ns <= high)
        return max(np.bincount(self._link[inside], self._needed_s[inside]), default=0.0)


def _recovery(
    streams: _Streams, crossings: _Crossings, own: Flags, low: Instant, high: Instant
) -> Iterator[tuple[str, float]]:
    """What is to be told of one host in one phase; `own` are its samples."""
    end = _recovered_at(streams.sampled_ns[own], streams.is_behind[own], low)
    bound_s = crossings.needed_s(low, high if end is None else end)
    if end is not None:
        yield "recovered_after", (end - low) / SECOND
        full_at = streams.full_rate_at(end, high)
        if full_at is not None:
            yield "full_rate_after", (full_at - end) / SECOND
        if bound_s:
            yield "recovery_over_bound", (end - low) / SECOND / bound_s
    last = high if end is None else end
    span = streams.within(low, last)
    if not span.any():
        return
    if bound_s:
        yield "recovery_bound", bound_s
    published = int(streams.published[span].sum())
    yield "recovery_publish_rate", published * SECOND / (last - low)
    demanded = int(streams.demanded[span].sum())
    if demanded:
        yield "recovery_publish_share", published / demanded
    by_pubend = [
        int(streams.published[span & (streams.pubend == pubend)].sum())
        for pubend in np.unique(streams.pubend[span]).tolist()
    ]
    yield "recovery_publish_jain", jain(by_pubend)
    windows = streams.window_ns[own & span & streams.has_window]
    if windows.size:
        yield "recovery_window", windows.mean() / SECOND
    rated = own & span & streams.has_doubt_rate
    if rated.any():
        _, instant = np.unique(streams.sampled_ns[rated], return_inverse=True)
        means = np.bincount(instant, streams.doubt_rate[rated]) / np.bincount(instant)
        yield "recovery_doubt_rate_max", means.max()


def _recovered_at(sampled_ns: Ints, is_behind: Flags, low: Instant) -> Instant | None:
    """When a host is behind no longer: at `low` if it is not in its first sample; maybe never."""
    instants, place = np.unique(sampled_ns, return_inverse=True)
    behind = np.bincount(place, is_behind, minlength=instants.size)
    if not behind[0]:
        return low
    caught_up = np.flatnonzero(behind == 0)
    return int(instants[caught_up[0]]) if caught_up.size else None
