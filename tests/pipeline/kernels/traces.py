"""Traces at random: small, in order or not, with duplicates, nulls and tables that are lacking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.trace.batch import Packer
from penstock.trace.fates import DropReason, MissingState, PublisherFate, ReceiverFate
from penstock.trace.records import (
    Arrival,
    CacheSample,
    Delivery,
    Drop,
    Edge,
    Expected,
    Feedback,
    FlowSample,
    LinkSample,
    Loss,
    Publication,
    QueueSample,
    Repair,
    Request,
    Row,
    Run,
    Signal,
)
from penstock.trace.schema import TABLES
from penstock.tracefile.writer import RunWriter

SUBSCRIBERS = ("s-1", "s-2", "s-3")
PUBLISHERS = ("p-1", "p-2")
ORDERINGS = ("off", "default")
KINDS: tuple[type[Row], ...] = (
    Publication, Expected, Arrival, Delivery, Loss, LinkSample, QueueSample, Drop, Edge, Request,
    Repair, Signal, CacheSample, Feedback, FlowSample,
)  # fmt: skip


@dataclass
class Trace:
    """Rows by table; a table that was not recorded is not there."""

    run: Run
    tables: dict[str, list[Row]] = field(default_factory=dict)

    def rows(self, kind: type[Row]) -> list[Row]:
        return self.tables.get(kind.TABLE, [])

    def write(self, directory: Path, name: str) -> None:
        recorded = [TABLES[table] for table in self.tables]
        writer = RunWriter(directory, name, tables=recorded)
        for table, rows in self.tables.items():
            if rows:
                writer.add(Packer(TABLES[table]).pack(rows))
        writer.commit(self.run)


def trace(*rows: Row, duration_ns: int = 2 * SECOND, recorded: Sequence[type[Row]] = ()) -> Trace:
    """These rows; their tables were recorded, and those that are named."""
    tables: dict[str, list[Row]] = {kind.TABLE: [] for kind in recorded}
    for row in rows:
        tables.setdefault(type(row).TABLE, []).append(row)
    return Trace(run_of("{}", duration_ns, 1), tables)


def random_trace(draw: Random, seed: int = 1) -> Trace:
    """Anything that the schema allows."""
    warmup = draw.choice(["{}", '{"run": {"warmup_s": 0.5}}'])
    run = run_of(warmup, draw.choice([0, SECOND // 2, 2 * SECOND, 3 * SECOND + 1]), seed)
    makers = (
        publication, expected, arrival, delivery, loss, link, queue, drop, edge, request, repair,
        signal, cache, feedback, flow,
    )  # fmt: skip
    found = Trace(run)
    for kind, make in zip(KINDS, makers, strict=True):
        if draw.random() < 0.85:
            rows: list[Row] = [make(draw) for _ in range(draw.choice([0, 1, 5, 30]))]
            if rows and draw.random() < 0.5:
                rows += draw.choices(rows, k=3)
            if kind.TIME and draw.random() < 0.6:
                rows.sort(key=lambda row: getattr(row, row.TIME or "") or 0)
            found.tables[kind.TABLE] = rows
    return found


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


def _time(draw: Random) -> int:
    return draw.choice([0, draw.randrange(4 * SECOND), draw.randrange(4) * SECOND])


def _maybe(draw: Random, value: int) -> int | None:
    return value if draw.random() < 0.8 else None


def publication(draw: Random) -> Publication:
    at, fate = _maybe(draw, _time(draw)), draw.choice([*PublisherFate])
    who, size, header = draw.choice(PUBLISHERS), draw.choice([9, 9, 40]), draw.randrange(9)
    seq = _maybe(draw, draw.randrange(9))
    return Publication(who, 0, seq, _time(draw), at, size, fate, "data", header)


def _message(draw: Random) -> tuple[str, int, int]:
    return draw.choice(PUBLISHERS), draw.choice([0, 0, 0, 7]), draw.randrange(8)


def expected(draw: Random) -> Expected:
    return Expected(*_message(draw), draw.choice(SUBSCRIBERS), _time(draw))


def arrival(draw: Random) -> Arrival:
    at = _time(draw)
    # Clocks may differ, and a message may take longer than bins are laid out for.
    left = at - draw.choice([0, 3 * MILLISECOND + 7, -50_000, 20 * SECOND])
    return Arrival(draw.choice(SUBSCRIBERS), *_message(draw), left, at, 2, False)


def delivery(draw: Random) -> Delivery:
    a = arrival(draw)
    ended = a.arrived_ns + draw.choice([0, 0, MILLISECOND // 3, 5 * MILLISECOND])
    fate = draw.choice([ReceiverFate.DELIVERED, ReceiverFate.DELIVERED, *ReceiverFate])
    return Delivery(
        draw.choice(ORDERINGS), a.subscriber, a.publisher, a.epoch, a.seq, a.published_ns,
        _maybe(draw, a.arrived_ns), _maybe(draw, ended), None, fate,
    )  # fmt: skip


def loss(draw: Random) -> Loss:
    at = _time(draw)
    return Loss(
        draw.choice(ORDERINGS), draw.choice(SUBSCRIBERS), *_message(draw), at, "gap",
        _maybe(draw, at + draw.randrange(SECOND)), MissingState.LOST, None,
        draw.choice([ReceiverFate.GIVEN_UP, ReceiverFate.DELIVERED_LATE]),
    )  # fmt: skip


def link(draw: Random) -> LinkSample:
    packets = [draw.choice([0, 0, 3]) for _ in range(5)]
    capacity = _maybe(draw, draw.choice([8_000, 1_000_000]))
    period = draw.choice([SECOND, SECOND // 2])
    name = draw.choice(["B1-B2", "B2-B1", "B1-s-1"])
    return LinkSample(_time(draw), name, period, capacity, draw.randrange(999), *packets)


def queue(draw: Random) -> QueueSample:
    peak = _maybe(draw, draw.randrange(99))
    return QueueSample(_time(draw), draw.choice(["B1-B2", "B2-B1"]), 1, draw.randrange(99), peak)


def edge(draw: Random) -> Edge:
    """Of a star; not always is there a way to everybody, or only one."""
    who = draw.choice([*SUBSCRIBERS, *PUBLISHERS])
    ends = (who, "B1") if who in PUBLISHERS else ("B1", who)
    return Edge(*ends, {"s-1": 40, "p-1": 100}.get(who), 1_000_000)


def drop(draw: Random) -> Drop:
    """Of a message, or of something else."""
    who = draw.choice([*PUBLISHERS, None])
    reason = draw.choice([*DropReason])
    return Drop(_time(draw), "B1", reason, "data", 9, None, None, None, who, 0, 1)


def request(draw: Random) -> Request:
    round_ = draw.choice([0, 0, 1, 2])
    return Request(draw.choice(SUBSCRIBERS), *_message(draw), _time(draw), round_, 70)


def repair(draw: Random) -> Repair:
    """Also of what nobody asked for, and before anybody did."""
    at = _time(draw)
    who, whom = draw.choice([*SUBSCRIBERS, *PUBLISHERS]), draw.choice(SUBSCRIBERS)
    return Repair(who, whom, *_message(draw), at, at, draw.random() < 0.5, 120)


def signal(draw: Random) -> Signal:
    kind = draw.choice(["digest", "track", "ack"])
    return Signal(
        draw.choice(SUBSCRIBERS), draw.choice(PUBLISHERS), kind, _time(draw), draw.randrange(99)
    )


def cache(draw: Random) -> CacheSample:
    limit = draw.choice([5, draw.randrange(300)])
    return CacheSample(
        _time(draw),
        draw.choice([*SUBSCRIBERS, *PUBLISHERS]),
        draw.choice(PUBLISHERS),
        *(2, limit, 99, 1, 0),
    )


def feedback(draw: Random) -> Feedback:
    """Often several flows of one frame."""
    who, whose = draw.choice(SUBSCRIBERS), draw.choice(PUBLISHERS)
    at, name = _time(draw), draw.choice(["a = 1", "a = 2"])
    return Feedback(who, whose, name, at, MILLISECOND, 0.1, 5.0, 4.0, 2.0, True, 60)


def flow(draw: Random) -> FlowSample:
    name, quota = draw.choice(["a = 1", "a = 2", "b = 1"]), draw.choice([0.0, 2.5, 40.0])
    sent = draw.choice([0.0, 2.0, 39.0])
    by = draw.choice([*SUBSCRIBERS, None])
    return FlowSample(_time(draw), draw.choice(PUBLISHERS), name, by, quota, sent, 3)
