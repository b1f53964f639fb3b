"""Traces at random: small, in order or not, with restarts, duplicates, nulls and gaps.

Tables are missing or empty, some names occur in one table only, and nothing need fit together:
a message may arrive that nobody sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar, cast

from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.trace.alert_kind import AlertKind
from penstock.trace.batch import Packer
from penstock.trace.fates import DropReason, MissingState, PublisherFate, ReceiverFate
from penstock.trace.host_role import HostRole
from penstock.trace.records import (
    Arrival,
    CacheSample,
    CrossingSample,
    Delivery,
    Drop,
    Edge,
    Expected,
    Feedback,
    FlowSample,
    Host,
    LinkSample,
    Loss,
    Publication,
    QueueSample,
    Repair,
    Request,
    Row,
    Run,
    Signal,
    StreamAlert,
    StreamSample,
    TcpSample,
)
from penstock.trace.schema import TABLES
from penstock.tracefile.writer import RunWriter
from tests.metrics.brute.cast_rows import CastRows

R = TypeVar("R", bound=Row)

# Most traces are of seconds. Rates swing from the tenth on, and smoothing begins with minutes.
DURATIONS = (0, SECOND // 2, *3 * (2 * SECOND,), *3 * (3 * SECOND + 1,), 12 * SECOND, 121 * SECOND)
LINKS = ("B1-B2", "B2-B1", "B1-s-1")
# Metrics may rely on the order of their rows, which nobody restores.
ALWAYS_SORTED = (LinkSample, TcpSample)


@dataclass
class Trace:
    """Rows by table; a table that was not recorded is not there."""

    run: Run
    tables: dict[str, list[Row]] = field(default_factory=dict)
    hosts: Sequence[Host] = ()

    def rows(self, kind: type[R]) -> list[R]:
        return cast(list[R], self.tables.get(kind.TABLE, []))

    def in_order(self) -> Trace:
        """The same rows in order of time."""
        tables = {name: sorted(rows, key=time_of) for name, rows in self.tables.items()}
        return Trace(self.run, tables, self.hosts)

    def write(self, directory: Path, name: str) -> None:
        recorded = [TABLES[table] for table in self.tables]
        writer = RunWriter(directory, name, tables=recorded)
        for table, rows in self.tables.items():
            if rows:
                writer.add(Packer(TABLES[table]).pack(rows))
        writer.commit(self.run, self.hosts)


def time_of(row: Row) -> Instant:
    """When a record was made; 0 if it does not say."""
    return (getattr(row, row.TIME) if row.TIME else None) or 0


def trace(*rows: Row, duration_ns: int = 2 * SECOND, recorded: Sequence[type[Row]] = ()) -> Trace:
    """These rows; their tables were recorded, and those that are named."""
    tables: dict[str, list[Row]] = {kind.TABLE: [] for kind in recorded}
    for row in rows:
        tables.setdefault(type(row).TABLE, []).append(row)
    return Trace(run_of("{}", duration_ns, 1), tables)


def run_of(parameters: str, duration_ns: int, seed: int) -> Run:
    return Run(
        experiment="random",
        profile="quick",
        variant="off",
        seed=seed,
        parameters=parameters,
        duration_ns=duration_ns,
        code_version="0",
    )


def random_trace(seed: int) -> Trace:
    """Anything that the schema allows."""
    return _Drawing(Random(seed)).trace(seed)


class _Drawing:
    """Draws one trace."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw
        self._duration_ns = draw.choice(DURATIONS)
        self._warmup_s = draw.choice([0, 0.5])
        self._period_ns = draw.choice([SECOND, SECOND // 2])
        self._publishers = ["p-1", "p-2"]
        # Some metrics treat many receivers in another way.
        self._is_crowd = draw.random() < 0.05
        self._subscribers = [f"s-{n}" for n in range(1, 41 if self._is_crowd else 4)]
        self._orderings = ["off", "default"]
        self._has_own_names = draw.random() < 0.5
        messages = draw.randrange(1, 20)
        self._messages = [
            (draw.choice(self._publishers), draw.choice([0, 0, 7]), draw.randrange(8))
            for _ in range(messages)
        ]

    def trace(self, seed: int) -> Trace:
        run = run_of(json.dumps(self._parameters()), self._duration_ns, seed)
        made = Trace(run, hosts=self._hosts())
        makers: dict[type[Row], Callable[[], Row]] = {
            Publication: self.publication, Expected: self.expected, Arrival: self.arrival,
            Delivery: self.delivery, Loss: self.loss, Request: self.request, Repair: self.repair,
            Signal: self.signal, Feedback: self.feedback, FlowSample: self.flow,
            CacheSample: self.cache, Edge: self.edge, LinkSample: self.link, TcpSample: self.tcp,
            QueueSample: self.queue, StreamSample: self.stream, CrossingSample: self.crossing,
            StreamAlert: self.alert, Drop: self.drop,
        }  # fmt: skip
        casts = CastRows(self._draw, self._subscriber, self._publishers[0], self._time)
        makers |= casts.makers()
        for kind, make in makers.items():
            if self._draw.random() < 0.85:
                made.tables[kind.TABLE] = self._rows(kind, make)
        return made

    def _rows(self, kind: type[Row], make: Callable[[], Row]) -> list[Row]:
        draw, everyone = self._draw, (self._publishers, self._subscribers, self._orderings)
        if self._has_own_names and draw.random() < 0.3:
            names = [f"{letter}-{kind.TABLE}" for letter in "pso"]
            self._publishers, self._subscribers, self._orderings = (
                [*some, name] for some, name in zip(everyone, names, strict=True)
            )
        rows = [make() for _ in range(120 if self._is_crowd else draw.choice([0, 1, 5, 30]))]
        self._publishers, self._subscribers, self._orderings = everyone
        if rows and draw.random() < 0.5:
            rows += draw.choices(rows, k=3)
        if kind in ALWAYS_SORTED or draw.random() < 0.6:
            rows.sort(key=time_of)
        return rows

    def _parameters(self) -> dict[str, object]:
        draw, whole_s = self._draw, self._duration_ns // SECOND
        found: dict[str, object] = {"run": {"warmup_s": self._warmup_s}} if self._warmup_s else {}
        if draw.random() < 0.5:
            found["orderings"] = {"default": {}, "silent": {}}
        if whole_s and draw.random() < 0.7:
            cut = 2 if whole_s >= 12 else 1
            phases = {"early": [0.0, cut], "late": [cut, float(whole_s)], "all": [0, whole_s]}
            ample = draw.choice([None, "early"])
            groups = ("publishers", "receivers")
            found["measure"] = {"phases": phases, "ample": ample, "pair": groups}
        return found

    def _hosts(self) -> list[Host]:
        roles = {"publishers": HostRole.PUBLISHER, "receivers": HostRole.SUBSCRIBER}
        names = {"publishers": self._publishers, "receivers": self._subscribers}
        found = [Host(n, group, roles[group], "B1") for group, own in names.items() for n in own]
        return [*found, Host("B1", "", HostRole.BROKER)] if self._draw.random() < 0.8 else []

    def _time(self) -> Instant:
        last = round(self._warmup_s * SECOND) + self._duration_ns + SECOND
        draw = self._draw
        return draw.choice([0, draw.randrange(last), draw.randrange(last // SECOND + 1) * SECOND])

    def _sampled(self) -> Instant:
        """Mostly at the end of a period."""
        at, origin = self._time(), round(self._warmup_s * SECOND)
        periods = (at - origin) // self._period_ns
        return origin + periods * self._period_ns if self._draw.random() < 0.8 else at

    def _maybe(self, value: int) -> int | None:
        return value if self._draw.random() < 0.8 else None

    def _publisher(self) -> str:
        return self._draw.choice(self._publishers)

    def _subscriber(self) -> str:
        return self._draw.choice(self._subscribers)

    def _message(self) -> tuple[str, int, int]:
        """Often one of a few, so that tables fit together; else any."""
        if self._draw.random() < 0.8:
            return self._draw.choice(self._messages)
        return self._publisher(), self._draw.choice([0, 0, 7]), self._draw.randrange(8)

    def publication(self) -> Publication:
        draw = self._draw
        who, epoch, seq = self._message()
        return Publication(
            *(who, epoch, self._maybe(seq), self._time(), self._maybe(self._time())),
            *(draw.choice([9, 9, 40]), draw.choice([*PublisherFate]), "data", draw.randrange(9)),
        )

    def expected(self) -> Expected:
        return Expected(*self._message(), self._subscriber(), self._time())

    def arrival(self) -> Arrival:
        at = self._time()
        # Clocks may differ, and a message may take longer than bins are laid out for.
        left = at - self._draw.choice([0, 3 * MILLISECOND + 7, -50_000, 20 * SECOND])
        return Arrival(self._subscriber(), *self._message(), left, at, 2, False)

    def delivery(self) -> Delivery:
        a, draw = self.arrival(), self._draw
        ended = a.arrived_ns + draw.choice([0, 0, MILLISECOND // 3, 5 * MILLISECOND])
        fate = draw.choice([ReceiverFate.DELIVERED, ReceiverFate.DELIVERED, *ReceiverFate])
        return Delivery(
            *(draw.choice(self._orderings), a.subscriber, a.publisher, a.epoch, a.seq),
            *(a.published_ns, self._maybe(a.arrived_ns), self._maybe(ended), None, fate),
        )

    def loss(self) -> Loss:
        draw, at = self._draw, self._time()
        return Loss(
            *(draw.choice(self._orderings), self._subscriber(), *self._message(), at, "gap"),
            *(self._maybe(at + draw.randrange(SECOND)), draw.choice([*MissingState])),
            *(self._maybe(at), draw.choice([*ReceiverFate, MissingState.IRRELEVANT])),
        )

    def request(self) -> Request:
        times_before = self._draw.choice([0, 0, 1, 2])
        return Request(self._subscriber(), *self._message(), self._time(), times_before, 70)

    def repair(self) -> Repair:
        """Also of what nobody asked for, and before anybody did."""
        at, draw = self._time(), self._draw
        who = draw.choice([*self._subscribers, *self._publishers])
        return Repair(who, self._subscriber(), *self._message(), at, at, draw.random() < 0.5, 120)

    def signal(self) -> Signal:
        kind, size = self._draw.choice(["digest", "track", "ack"]), self._draw.randrange(99)
        return Signal(self._subscriber(), self._publisher(), kind, self._time(), size)

    def feedback(self) -> Feedback:
        """Often several flows of one frame."""
        flow = self._draw.choice(["a = 1", "a = 2"])
        who = self._subscriber(), self._publisher()
        return Feedback(*who, flow, self._time(), MILLISECOND, 0.1, 5.0, 4.0, 2.0, True, 60)

    def flow(self) -> FlowSample:
        draw = self._draw
        return FlowSample(
            *(self._sampled(), self._publisher(), draw.choice(["a = 1", "a = 2", "b = 1"])),
            *(draw.choice([*self._subscribers, None]), draw.choice([0.0, 2.5, 40.0])),
            *(draw.choice([0.0, 2.0, 39.0]), 3),
        )

    def cache(self) -> CacheSample:
        draw = self._draw
        node = draw.choice([*self._subscribers, *self._publishers])
        limit = draw.choice([5, draw.randrange(300)])
        return CacheSample(self._sampled(), node, self._publisher(), 2, limit, 99, 1, 0)

    def edge(self) -> Edge:
        """Of a star; not always is there a way to everybody, or only one."""
        who = self._draw.choice([*self._subscribers, *self._publishers])
        ends = (who, "B1") if who in self._publishers else ("B1", who)
        return Edge(*ends, {"s-1": 40, "p-1": 100}.get(who), 1_000_000)

    def link(self) -> LinkSample:
        """Of any use, or of about all that a slow link bears."""
        draw = self._draw
        capacity = self._maybe(draw.choice([8_000, 8_000, 1_000_000]))
        sent = draw.choice([draw.randrange(1, 999), draw.randrange(960, 1040)])
        packets = [draw.choice([0, 0, 3]) for _ in range(5)]
        return LinkSample(
            self._sampled(), draw.choice(LINKS), self._period_ns, capacity, sent, *packets
        )

    def tcp(self) -> TcpSample:
        draw = self._draw
        where, arrived = draw.choice([*LINKS, *LINKS, "B2-B3"]), draw.randrange(600)
        return TcpSample(
            *(self._sampled(), draw.choice(["t-1", "t-2"]), where, arrived, arrived),
            *(draw.randrange(3), draw.randrange(2), 4.0, None),
        )

    def queue(self) -> QueueSample:
        draw, where = self._draw, self._draw.choice(["B1-B2", "B2-B1", "B3-B1"])
        peak = self._maybe(draw.randrange(99))
        return QueueSample(
            self._sampled(), where, 1, draw.choice([draw.randrange(99), 2_500]), peak
        )

    def stream(self) -> StreamSample:
        draw, broker = self._draw, self._draw.choice(["PB", "SB1", "SB2"])
        counts = (draw.choice([0, 7]), draw.choice([0, 0, 5]), draw.choice([0, 0, 4]))
        behind = self._maybe(draw.randrange(3 * SECOND)) if broker != "PB" else None
        return StreamSample(
            sampled_ns=self._sampled(),
            broker=broker,
            pubend=draw.choice(["PB-1", "PB-2"]),
            period_ns=self._period_ns,
            published_messages=counts[0],
            wanted_messages=counts[1],
            delivered_messages=counts[2],
            behind_ns=behind,
            nack_window_ns=self._maybe(SECOND),
            is_recovering=draw.random() < 0.2,
            demanded_messages=draw.choice([0, 7, 9]) if broker == "PB" else None,
            doubt_rate=draw.choice([0.5, 1.0, 4.0]) if behind is not None else None,
        )

    def crossing(self) -> CrossingSample:
        """Also of links that were not sampled."""
        draw = self._draw
        return CrossingSample(
            sampled_ns=self._sampled(),
            link=draw.choice(["PB-IB", *LINKS[:2]]),
            pubend="PB-1",
            first_messages=draw.choice([0, 3]),
            repair_messages=draw.choice([0, 3]),
            repeat_messages=draw.choice([0, 3]),
            necessary_bytes=draw.choice([0, 700]),
        )

    def alert(self) -> StreamAlert:
        kind, rate = self._draw.choice([*AlertKind]), self._draw.choice([0.0, 0.5, 3.0])
        return StreamAlert(self._time(), "PB", self._draw.choice(["PB-1", "PB-2"]), 4, kind, rate)

    def drop(self) -> Drop:
        """Of a message, or of something else."""
        message = self._message() if self._draw.random() < 0.7 else (None, None, None)
        where, reason = self._draw.choice(["B1", "p-1-B1"]), self._draw.choice([*DropReason])
        return Drop(self._time(), where, reason, "data", 9, None, None, None, *message)
