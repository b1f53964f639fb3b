"""How TCP connections and the messages of the system share a link.

Rates are those of the link: bytes with all headers. What does not belong to TCP is *content*:
messages, and all that brokers and endpoints send besides. Its fair share of the link is that of
one connection. From the first segment on, content has *adapted* when, over half a second, it
first is at most a tenth of the link above its fair share. A connection has *risen* when it first
is at most a tenth of the link below. If that never happens, the time is that from the first
segment to the last.

Looks at the link of the first connection, and at all connections that cross it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeAlias

import numpy as np

from penstock.kernel.instant import SECOND, to_seconds
from penstock.metrics.base import Entity, Metric, Output, Window
from penstock.metrics.congestion.batches import joined
from penstock.metrics.results import Results
from penstock.metrics.run_info import RunInfo
from penstock.trace.batch import Batch, Flags, Floats, Ints

Columns: TypeAlias = dict[str, Ints]

# How close to the fair share is near, as a part of the link.
_NEAR: Final = 0.1
_SMOOTH_S: Final = 0.5
_KILO: Final = 1000
_BITS: Final = 8

_LINK_COLUMNS: Final = ("sampled_ns", "link", "period_ns", "sent_bytes", "capacity_bps")
_TCP_COLUMNS: Final = (
    *("sampled_ns", "link", "connection", "arrived_bytes", "resent_packets", "timeouts"),
)


class TcpSharing(Metric[Batch]):
    """The rate of each connection and of content, how they differ, and how soon they adapt."""

    READS: ClassVar = {"links": _LINK_COLUMNS, "tcp": _TCP_COLUMNS}
    OUTPUTS: ClassVar = (
        Output(
            name="tcp_kbps",
            unit="kbps",
            entity=Entity.CONNECTION,
            kinds=("value", "series"),
            phased=True,
            meaning="mean rate of the TCP connection on the shared link",
        ),
        Output(
            name="content_kbps",
            unit="kbps",
            kinds=("value", "series"),
            phased=True,
            meaning="mean rate of everything but TCP on the shared link",
        ),
        Output(
            name="share_difference",
            unit="1",
            phased=True,
            meaning="mean rate of a TCP connection minus that of content, by the link's capacity",
        ),
        Output(
            name="content_adapted_after",
            unit="s",
            meaning="time from the first TCP segment until content is near its fair share",
        ),
        Output(
            name="tcp_risen_after",
            unit="s",
            entity=Entity.CONNECTION,
            meaning="time from the first TCP segment until the connection is near its fair share",
        ),
        Output(
            name="tcp_resent",
            unit="segments",
            entity=Entity.CONNECTION,
            window=Window.RUN,
            meaning="segments that the TCP connection sent again",
        ),
        Output(
            name="tcp_timeouts",
            unit="timeouts",
            entity=Entity.CONNECTION,
            window=Window.RUN,
            meaning="how often the TCP connection's retransmission timer expired",
        ),
    )
    KEEPS_BYTES_PER_ROW: ClassVar[int] = 48

    def __init__(self, run: RunInfo) -> None:
        super().__init__(run)
        self._links: Final = _Samples(_LINK_COLUMNS)
        self._tcp: Final = _Samples(_TCP_COLUMNS)

    def update(self, batch: Batch) -> None:
        """Keeps samples of links, or of connections."""
        (self._links if batch.table.name == "links" else self._tcp).add(batch)

    def finish(self, out: Results) -> None:
        """Nothing if no connection, or no sample of its link, was recorded."""
        links, tcp = self._links.columns(), self._tcp.columns()
        if not tcp["link"].size:
            return
        link = tcp["link"][0]
        tcp = _only(tcp, tcp["link"] == link)
        # A sample of no time has no rate.
        links = _only(links, (links["link"] == link) & (links["period_ns"] > 0))
        if not links["link"].size:
            return
        names = self.run.codes.names("connection")
        connections = {
            names[code]: _only(tcp, tcp["connection"] == code)
            for code in np.unique(tcp["connection"]).tolist()
        }
        for name, columns in connections.items():
            out.add_value("tcp_resent", columns["resent_packets"].sum(), entity=name)
            out.add_value("tcp_timeouts", columns["timeouts"].sum(), entity=name)
        shared = _SharedLink(self.run, links, connections)
        shared.report_seconds(out)
        for phase, (low_s, high_s) in {
            "": (0, self.run.duration_s),
            **self.run.phase_bounds,
        }.items():
            shared.report_phase(phase, low_s, high_s, out)
        shared.report_adaptation(out)


class _Samples:
    """Columns of one table, kept batch by batch."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._batches: Final[dict[str, list[Ints]]] = {column: [] for column in columns}

    def add(self, batch: Batch) -> None:
        """Keeps the next rows."""
        for column, batches in self._batches.items():
            batches.append(batch.columns[column].values)

    def columns(self) -> Columns:
        """All rows; a link without a limit has a capacity of 0."""
        return {column: joined(batches) for column, batches in self._batches.items()}


class _SharedLink:
    """The rates on one link, by sampling period."""

    def __init__(self, run: RunInfo, links: Columns, connections: Mapping[str, Columns]) -> None:
        self._run: Final = run
        self._period_ns: Final = int(links["period_ns"][0])
        self._periods: Final = -(-run.duration // self._period_ns)
        self._capacity_kbps: Final = self._by_period(links, "capacity_bps") / _KILO
        self._tcp_kbps: Final = {
            name: self._kbps(columns, "arrived_bytes") for name, columns in connections.items()
        }
        content_kbps = self._kbps(links, "sent_bytes")
        for rate in self._tcp_kbps.values():
            content_kbps = content_kbps - rate
        self._content_kbps: Final = content_kbps

    def report_seconds(self, out: Results) -> None:
        """The mean rate in each second."""
        out.add_series("content_kbps", self._by_second(self._content_kbps))
        for name, rate in self._tcp_kbps.items():
            out.add_series("tcp_kbps", self._by_second(rate), entity=name)

    def report_phase(self, phase: str, low_s: float, high_s: float, out: Results) -> None:
        """Mean rates between two seconds; nothing if the link was not sampled there."""
        part = slice(*(round(at_s * SECOND / self._period_ns) for at_s in (low_s, high_s)))
        if not self._content_kbps[part].size:
            return
        tcp_kbps = {name: float(rate[part].mean()) for name, rate in self._tcp_kbps.items()}
        for name, rate_kbps in tcp_kbps.items():
            out.add_value("tcp_kbps", rate_kbps, entity=name, phase=phase)
        content_kbps = float(self._content_kbps[part].mean())
        out.add_value("content_kbps", content_kbps, phase=phase)
        capacity_kbps = float(self._capacity_kbps[part].mean())
        if capacity_kbps:
            # Of several connections, their mean.
            ahead_kbps = sum(tcp_kbps.values()) / len(tcp_kbps) - content_kbps
            out.add_value("share_difference", ahead_kbps / capacity_kbps, phase=phase)

    def report_adaptation(self, out: Results) -> None:
        """How soon content and connections come near their fair shares of a limited link."""
        sending = np.flatnonzero(sum(self._tcp_kbps.values(), np.zeros(self._periods)))
        if not sending.size or not self._capacity_kbps.any():
            return
        during = slice(int(sending[0]), int(sending[-1]) + 1)
        fair_kbps = self._capacity_kbps / (1 + len(self._tcp_kbps))
        near_kbps = _NEAR * self._capacity_kbps
        room_kbps = fair_kbps + near_kbps - self._content_kbps
        out.add_value("content_adapted_after", self._reached_s(room_kbps[during]))
        for name, rate in self._tcp_kbps.items():
            excess_kbps = rate - fair_kbps + near_kbps
            out.add_value("tcp_risen_after", self._reached_s(excess_kbps[during]), entity=name)

    def _reached_s(self, margin: Floats) -> float:
        window = max(1, round(_SMOOTH_S * SECOND / self._period_ns))
        return to_seconds(reached(margin, window) * self._period_ns)

    def _by_second(self, rate: Floats) -> Floats:
        seconds = self._run.seconds
        second = np.arange(self._periods) * self._period_ns // SECOND
        periods = np.maximum(1, np.bincount(second, minlength=seconds))
        return np.asarray(np.bincount(second, rate, seconds) / periods)

    def _kbps(self, samples: Columns, column: str) -> Floats:
        return self._by_period(samples, column) * _BITS * SECOND / self._period_ns / _KILO

    def _by_period(self, samples: Columns, column: str) -> Floats:
        """A sample describes the period that it ends."""
        period = -(-(samples["sampled_ns"] - self._run.origin) // self._period_ns) - 1
        inside = (period >= 0) & (period < self._periods)
        sums = np.bincount(period[inside], samples[column][inside], self._periods)
        return sums.astype(np.float64)


def reached(margin: Floats, window: int) -> int:
    """After how many periods the margin is 0 or more over a window; all of them if it never is."""
    smooth = np.convolve(margin, np.ones(window) / window, mode="valid")
    found = np.flatnonzero(smooth >= 0)
    return int(found[0]) + window if found.size and len(margin) >= window else len(margin)


def _only(columns: Columns, rows: Flags) -> Columns:
    return {name: column[rows] for name, column in columns.items()}
