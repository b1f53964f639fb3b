"""How a link is shared between TCP connections and the messages that cross it.

Rates are those of the link: bytes with all headers, and of messages with what brokers and
endpoints say besides. What is not TCP's is *content*, and its fair share of the link is that
of one connection. After the first segment of all, content has *adapted* when, over half a
second, it first is at most a tenth of the link above that, and a connection has *risen* when
it first is at most as much below.

Looks at the link of the first connection, and at those that share it.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from penstock.kernel.instant import SECOND, to_seconds
from penstock.lab.metrics.base import Context, Figure, Floats, Ints, Metric, spread
from penstock.trace.batch import Batch, PackedColumn

_NEAR: Final = 0.1
_SMOOTH_S: Final = 0.5
_KILO: Final = 1000


class Tcp(Metric):
    """Each connection's rate, that of everything else, how they differ and how soon they do."""

    TABLES: ClassVar[tuple[str, ...]] = ("links", "tcp")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        # When samples of each were taken, and bytes since the one before.
        self._links: dict[str, _Samples] = {}
        self._connections: dict[str, _Samples] = {}
        self._capacity_bps: dict[str, list[Ints]] = {}
        # The link of each connection, and how often it sent again or gave up waiting.
        self._on: dict[str, str] = {}
        self._resent: dict[str, int] = {}
        self._timeouts: dict[str, int] = {}
        self._period_ns = SECOND

    def take(self, batch: Batch) -> None:
        """Rows of each link, or of each connection."""
        getattr(self, f"_take_{batch.table.name}")(batch)

    def figures(self) -> dict[str, Figure]:
        """Of the whole run, and of each phase."""
        if not self._on:
            return {}
        found: dict[str, Figure] = {}
        for name in self._sharing():
            found[f"tcp_resent.{name}"] = Figure(self._resent[name], "segments")
            found[f"tcp_timeouts.{name}"] = Figure(self._timeouts[name])
        whole = (0.0, to_seconds(self.context.duration))
        for name, (low, high) in {"": whole, **self.context.phases()}.items():
            ending = f".{name}" if name else ""
            found |= {f"{key}{ending}": own for key, own in self._of_phase(low, high).items()}
        return found | self._how_soon()

    def series(self) -> dict[str, list[float]]:
        """Kilobits in each second."""
        if not self._on:
            return {}
        rates = {f"tcp_kbps.{name}": self._kbps(name) for name in self._sharing()}
        rates["content_kbps"] = self._content_kbps()
        second = np.arange(self._slots) * self._period_ns // SECOND
        slots = np.maximum(1, np.bincount(second, minlength=self.context.seconds))
        return {
            name: (np.bincount(second, rate, self.context.seconds) / slots).tolist()
            for name, rate in rates.items()
        }

    def _of_phase(self, low_s: float, high_s: float) -> dict[str, Figure]:
        part = slice(*(round(at_s * SECOND / self._period_ns) for at_s in (low_s, high_s)))
        tcp_kbps = {name: float(self._kbps(name)[part].mean()) for name in self._sharing()}
        found = {f"tcp_kbps.{name}": Figure(rate, "kbps") for name, rate in tcp_kbps.items()}
        content_kbps = float(self._content_kbps()[part].mean())
        found["content_kbps"] = Figure(content_kbps, "kbps")
        # Of several connections, their mean.
        ahead_kbps = sum(tcp_kbps.values()) / len(tcp_kbps) - content_kbps
        found["share_difference"] = Figure(ahead_kbps / float(self._bears_kbps()[part].mean()))
        return found

    def _how_soon(self) -> dict[str, Figure]:
        rates = {name: self._kbps(name) for name in self._sharing()}
        begun = np.flatnonzero(sum(rates.values(), np.zeros(self._slots)))
        if not begun.size:
            return {}
        while_there = slice(int(begun[0]), int(begun[-1]) + 1)
        window = max(1, round(_SMOOTH_S * SECOND / self._period_ns))
        bears_kbps = self._bears_kbps()
        fair_kbps, near_kbps = bears_kbps / (1 + len(rates)), _NEAR * bears_kbps
        # How far each is on the right side.
        sides = {"content_adapted_after": fair_kbps + near_kbps - self._content_kbps()}
        for name, rate in rates.items():
            sides[f"tcp_risen_after.{name}"] = rate - fair_kbps + near_kbps
        return {
            name: Figure(to_seconds(reached(side[while_there], window) * self._period_ns), "s")
            for name, side in sides.items()
        }

    @property
    def _slots(self) -> int:
        return int(-(-self.context.duration // self._period_ns))

    def _sharing(self) -> list[str]:
        """The connections on the link that is looked at."""
        return [name for name, link in self._on.items() if link == self._link]

    @property
    def _link(self) -> str:
        return next(iter(self._on.values()))

    def _kbps(self, connection: str) -> Floats:
        return self._rate_kbps(self._connections[connection])

    def _content_kbps(self) -> Floats:
        content = self._rate_kbps(self._links[self._link])
        for name in self._sharing():
            content = content - self._kbps(name)
        return content

    def _bears_kbps(self) -> Floats:
        at_ns = self._links[self._link].at_ns
        bears_bps = spread(self._capacity_bps[self._link])
        return self._by_slot(spread(at_ns), bears_bps) / _KILO

    def _rate_kbps(self, samples: _Samples) -> Floats:
        own_bytes = self._by_slot(spread(samples.at_ns), spread(samples.own_bytes))
        return own_bytes * 8 * SECOND / self._period_ns / _KILO

    def _by_slot(self, at_ns: Ints, values: Ints) -> Floats:
        """A sample is taken at the end of what it tells of."""
        slots = -(-(at_ns - self.context.origin) // self._period_ns) - 1
        inside = (slots >= 0) & (slots < self._slots)
        return np.bincount(slots[inside], values[inside], self._slots).astype(np.float64)

    def _take_links(self, batch: Batch) -> None:
        columns = batch.columns
        if batch.rows:
            self._period_ns = int(columns["period_ns"].values[0])
        for name, rows in _rows_of(columns["link"]):
            self._links.setdefault(name, _Samples()).add(batch, "sent_bytes", rows)
            self._capacity_bps.setdefault(name, []).append(columns["capacity_bps"].values[rows])

    def _take_tcp(self, batch: Batch) -> None:
        columns = batch.columns
        links = columns["link"]
        for name, rows in _rows_of(columns["connection"]):
            self._on[name] = (links.names or [])[int(links.values[rows[0]])]
            self._connections.setdefault(name, _Samples()).add(batch, "arrived_bytes", rows)
            for counts, column in ((self._resent, "resent_packets"), (self._timeouts, "timeouts")):
                counts[name] = counts.get(name, 0) + int(columns[column].values[rows].sum())


class _Samples:
    """Of one link or one connection, batch by batch."""

    def __init__(self) -> None:
        self.at_ns: list[Ints] = []
        self.own_bytes: list[Ints] = []

    def add(self, batch: Batch, column: str, rows: Ints) -> None:
        """The next ones."""
        self.at_ns.append(batch.columns["sampled_ns"].values[rows])
        self.own_bytes.append(batch.columns[column].values[rows])


def reached(side: Floats, window: int) -> int:
    """After how many slots it is 0 or more over a window; all of them if it never is."""
    smooth = np.convolve(side, np.ones(window) / window, mode="valid")
    found = np.flatnonzero(smooth >= 0)
    return int(found[0]) + window if found.size and len(side) >= window else len(side)


def _rows_of(names: PackedColumn) -> list[tuple[str, Ints]]:
    """Of each name that there is, in order of code, where it stands."""
    rows = [np.flatnonzero(names.values == code) for code in range(len(names.names or ()))]
    return [(name, own) for name, own in zip(names.names or (), rows, strict=True) if own.size]
