"""One publisher, one broker, one durable subscriber: our streams beside JetStream and RabbitMQ.

A run publishes for a while with so many messages unconfirmed, and lasts until the subscriber has
acknowledged the last one. Systems take turns and each round begins with another one, so that a
disturbance hits all. Only one server runs at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Final

from bench.guaranteed.clients import Consumed, Published
from bench.guaranteed.disk_sync import sync_times_ns
from bench.guaranteed.processes import ProcessError, RoleProcess, ServerProcess
from bench.guaranteed.role import PublishFor, Ready
from bench.guaranteed.systems import (
    JETSTREAM_SYNCED,
    OURS,
    RABBITMQ_CLASSIC,
    RABBITMQ_QUORUM,
    SYSTEMS,
    System,
)
from bench.result import Case, Note, Result

IN_FLIGHT: Final = (1, 100, 1_000)
# Of delivered messages: ours to those of each that syncs as we do.
RATIO_GOALS: Final = {1_000: ">= 4", 100: ">= 2.5"}
CONFIRMATION_GOAL: Final = "<= 0.5"
# Before and after each run with one in flight.
_SYNCS: Final = 200
_OPENS_WITHIN_S: Final = 30.0
# A subscriber that lags gets so much longer than its publisher.
_LAGS_AT_MOST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run: seconds of each run, and of what goes before it."""

    rounds: int = 3
    seconds: float = 3.0
    warm_up_s: float = 0.7
    in_flight: Sequence[int] = IN_FLIGHT


FULL_EXTENT: Final = Extent()


@dataclass(frozen=True, slots=True)
class Run:
    """What one run came to; CPU is in seconds for each message."""

    confirmed_per_s: float
    delivered_per_s: float
    latencies_ns: list[int]
    cpu_s: Mapping[str, float]


@dataclass(slots=True)
class _Found:
    """All rounds."""

    runs: dict[tuple[System, int], list[Run]] = field(default_factory=dict)
    # Bare syncs around the runs of a system with one in flight: a disk is not always as quick.
    syncs_ns: dict[System, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def measure(
    note: Note, extent: Extent = FULL_EXTENT, *, systems: Sequence[System] = SYSTEMS
) -> Result:
    """Compares those of `systems` that are installed."""
    found = _Found()
    present = []
    for system in systems:
        if missing := system.missing():
            found.notes.append(f"without {system.name}: {missing}")
        else:
            present.append(system)
    failed: set[System] = set()
    for number in range(extent.rounds):
        start = number % len(present)
        for system in [*present[start:], *present[:start]]:
            if system in failed:
                continue
            place = f"round {number + 1} of {extent.rounds}, {system.name}"
            try:
                _run_system(note, place, system, extent, found)
            except ProcessError as error:
                if system is OURS:
                    raise
                # A comparison with some of them is better than none.
                failed.add(system)
                found.notes.append(f"no more of {system.name} after a failure: {error}")
    return _result(found)


def _run_system(note: Note, place: str, system: System, extent: Extent, found: _Found) -> None:
    note(f"{place}: starting")
    with TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as directory:
        syncs_ns = found.syncs_ns.setdefault(system, [])
        with system.start(Path(directory)) as server:
            for in_flight in extent.in_flight:
                note(f"{place}: {in_flight:,} in flight")
                syncs_ns += sync_times_ns(Path(directory), _SYNCS) if in_flight == 1 else []
                run = run_once(server, system, in_flight, extent, Path(directory))
                syncs_ns += sync_times_ns(Path(directory), _SYNCS) if in_flight == 1 else []
                found.runs.setdefault((system, in_flight), []).append(run)


def run_once(
    server: ServerProcess, system: System, in_flight: int, extent: Extent, directory: Path
) -> Run:
    """One run with a stream and clients of its own."""
    stream = f"bench-{in_flight}"

    def client(role: str) -> RoleProcess:
        log = directory / f"{role}-{in_flight}.log"
        return RoleProcess(role, system.name, server.address, stream, log)

    with client("subscriber") as subscriber, client("publisher") as publisher:
        for each in (subscriber, publisher):
            each.answer(Ready, _OPENS_WITHIN_S)
        roles: dict[str, RoleProcess | ServerProcess] = {
            "publisher": publisher,
            "broker": server,
            "subscriber": subscriber,
        }
        _phase(publisher, subscriber, PublishFor(extent.warm_up_s, in_flight))
        before = {role: process.cpu_s for role, process in roles.items()}
        order = PublishFor(extent.seconds, in_flight)
        published, consumed = _phase(publisher, subscriber, order)
        used = {role: process.cpu_s - before[role] for role, process in roles.items()}
    messages = published.messages
    return Run(
        confirmed_per_s=messages * 1e9 / (published.confirmed_ns - published.started_ns),
        delivered_per_s=messages * 1e9 / (consumed.acknowledged_ns - published.started_ns),
        latencies_ns=published.latencies_ns,
        cpu_s={role: spent / messages for role, spent in used.items()},
    )


def _phase(
    publisher: RoleProcess, subscriber: RoleProcess, order: PublishFor
) -> tuple[Published, Consumed]:
    subscriber.tell({})
    publisher.tell(order)
    published = publisher.answer(Published, order.seconds + _LAGS_AT_MOST_S)
    consumed = subscriber.answer(Consumed, _LAGS_AT_MOST_S)
    if consumed.messages != published.messages:
        raise ProcessError(
            f"{published.messages:,} messages were published, {consumed.messages:,} were read"
        )
    return published, consumed


def _result(found: _Found) -> Result:
    cases, ratios, ratio_goals = [], {}, {}
    if syncs_ns := [each for times_ns in found.syncs_ns.values() for each in times_ns]:
        cases.append(Case("bare fdatasync", "p50", _percentile_ms(syncs_ns, 50), "ms"))
        cases.append(Case("bare fdatasync", "p99", _percentile_ms(syncs_ns, 99), "ms"))
    delivered = {
        key: median(run.delivered_per_s for run in runs) for key, runs in found.runs.items()
    }
    for (system, in_flight), runs in sorted(
        found.runs.items(), key=lambda item: (item[0][1], SYSTEMS.index(item[0][0]))
    ):
        cases += _cases(system, in_flight, runs)
        cases += _confirmation_cases(system, runs, found.syncs_ns.get(system, []))
        if system is not OURS and (OURS, in_flight) in delivered:
            name = f"{OURS.name} / {system.name}, {in_flight:,} in flight"
            ratios[name] = delivered[OURS, in_flight] / delivered[system, in_flight]
            if system in _goal_peers(delivered, in_flight) and in_flight in RATIO_GOALS:
                ratio_goals[name] = RATIO_GOALS[in_flight]
    return Result("guaranteed", cases, ratios, ratio_goals, found.notes)


def _goal_peers(delivered: Mapping[tuple[System, int], float], in_flight: int) -> list[System]:
    """JetStream where it syncs, and of RabbitMQ's queues the quicker."""
    queues = [
        queue for queue in (RABBITMQ_CLASSIC, RABBITMQ_QUORUM) if (queue, in_flight) in delivered
    ]
    quicker = sorted(queues, key=lambda queue: delivered[queue, in_flight])[-1:]
    return [JETSTREAM_SYNCED, *quicker]


def _cases(system: System, in_flight: int, runs: Sequence[Run]) -> list[Case]:
    name = f"{system.name}, {in_flight:,} in flight"
    cases = [
        Case(name, "delivered", median(run.delivered_per_s for run in runs), "1/s"),
        Case(name, "confirmed", median(run.confirmed_per_s for run in runs), "1/s"),
    ]
    for role in runs[0].cpu_s:
        spent_us = median(run.cpu_s[role] for run in runs) * 1e6
        cases.append(Case(name, f"CPU of the {role}", spent_us, "µs a message"))
    in_all_us = median(sum(run.cpu_s.values()) for run in runs) * 1e6
    cases.append(Case(name, "CPU of all three", in_all_us, "µs a message"))
    return cases


def _confirmation_cases(
    system: System, runs: Sequence[Run], syncs_ns: Sequence[int]
) -> Iterator[Case]:
    """With one in flight: how long a confirmation takes, and how much of it is not the disk."""
    latencies_ns = [each for run in runs for each in run.latencies_ns]
    if not latencies_ns:
        return
    name = f"{system.name}, 1 in flight"
    p50_ms = _percentile_ms(latencies_ns, 50)
    yield Case(name, "confirmation, p50", p50_ms, "ms")
    yield Case(name, "confirmation, p99", _percentile_ms(latencies_ns, 99), "ms")
    goal = CONFIRMATION_GOAL if system is OURS else ""
    above_ms = p50_ms - _percentile_ms(syncs_ns, 50)
    yield Case(name, "p50 above a bare fdatasync", above_ms, "ms", goal)


def _percentile_ms(times_ns: Sequence[int], percent: int) -> float:
    return quantiles(times_ns, n=100)[percent - 1] / 1e6
