"""What metrics cost: in a run of the lab, over a file, in parts, and in memory.

The lab's metrics are compared with recording the same messages, each of which arrives and is
delivered; those over a file with reading it; parts of a run with the whole of it. All times
are CPU times, the least of several in turn.

`PENSTOCK_BENCH_MILLIONS` says how many millions of deliveries the recorded run has, as in
`5,20`; it is made in memory, which takes 200 bytes a delivery.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.metrics.lab import LabCost, kept_bytes, lab_cost
from bench.metrics.part_case import PartCost, run_part
from bench.metrics.recorded import file_cost, same_results
from bench.pipeline.subprocess_case import run_in_subprocess
from bench.pipeline.traces import make_runs, make_tables
from bench.result import Case, Note, Result
from bench.sizes import chosen_millions
from penstock.metrics.catalogue import find_metrics
from penstock.metrics.gather import GATHER_ROWS
from penstock.trace.collector import BATCH_ROWS
from penstock.tracefile.measure import Part, measure, merge_parts

LAB_METRICS: Final = ("received", "false_negatives", "fifo_order", "delays")
FILE_METRICS: Final = ("received", "fifo_order", "delays")
# They count and add up, however long a run is.
COUNTING_METRICS: Final = ("received", "fifo_order", "delays", "inversions", "late_drops")
LEDGER_METRICS: Final = ("false_negatives",)
GATHERED: Final = (BATCH_ROWS, 8_192, GATHER_ROWS, 32_768, 65_536)
PARTS: Final = 4
MILLION: Final = 1_000_000
RECORDED_MILLIONS: Final = 5
# 4 GB to make one.
RECORDED_MILLIONS_MAX: Final = 20

_RECORDS: Final = ("arrivals", "deliveries")
_LAB_GOAL: Final = "<= 0.3"
_FILE_GOAL: Final = ">= 0.2"
_PART_TIME_GOAL: Final = "<= 0.75"
_PART_MEMORY_GOAL: Final = "<= 0.3"
# A tenth more than before metrics of the lab and of the pipeline became one.
_TASK_GOAL: Final = "<= 381"
# Bytes of a message: lists and histograms have room to grow.
_COUNTING_GOAL: Final = "<= 0.1"
_LEDGER_GOAL: Final = "<= 24.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured, and how often."""

    lab_messages: int = 400_000
    lab_rounds: int = 9
    # Deliveries of the recorded run.
    recorded: Sequence[int] = (RECORDED_MILLIONS * MILLION,)
    recorded_rounds: int = 3
    # What one task measures, run after run.
    task_runs: int = 20
    task_deliveries: int = MILLION
    # Two lengths of a run, in messages.
    kept: tuple[int, int] = (MILLION, 3 * MILLION)


@dataclass(frozen=True, slots=True)
class _Found:
    cases: list[Case]
    ratios: dict[str, float]
    goals: dict[str, str]


def run(note: Note, sizes: Sizes | None = None) -> Result:
    """The lab first, then recorded runs, then memory."""
    result = Result("metrics", [])
    if sizes is None:
        sizes = _chosen_sizes(result.notes)
    for found in _all(note, sizes):
        result.cases.extend(found.cases)
        result.ratios.update(found.ratios)
        result.ratio_goals.update(found.goals)
    return result


def _chosen_sizes(notes: list[str]) -> Sizes:
    chosen = chosen_millions([RECORDED_MILLIONS])
    fitting = [millions for millions in chosen if millions <= RECORDED_MILLIONS_MAX]
    if fitting != chosen:
        notes.append(f"runs of more than {RECORDED_MILLIONS_MAX} million were left out")
    return Sizes(recorded=[size * MILLION for size in fitting or [RECORDED_MILLIONS]])


def _all(note: Note, sizes: Sizes) -> Iterator[_Found]:
    yield _lab(note, sizes)
    for deliveries in sizes.recorded:
        with TemporaryDirectory(prefix="penstock-bench-") as place:
            yield from _recorded(note, Path(place), deliveries, sizes.recorded_rounds)
    yield _memory(note, sizes)


def _lab(note: Note, sizes: Sizes) -> _Found:
    tables = make_tables(0, sizes.lab_messages)
    two = [tables[name] for name in _RECORDS]
    three = [tables["expected"], *two]
    metrics = [*find_metrics(LAB_METRICS).values()]
    ways = {f"gathered to {rows:,}": (two, rows) for rows in GATHERED}
    usual = f"gathered to {GATHER_ROWS:,}"
    # Only then is there anything for the ledger to match.
    matched = f"{usual}, with expected"
    ways[matched] = (three, GATHER_ROWS)
    costs: dict[str, list[LabCost]] = {name: [] for name in ways}
    for number in range(sizes.lab_rounds):
        for name, (fed, rows) in ways.items():
            note(f"lab: {name}, round {number + 1} of {sizes.lab_rounds}")
            costs[name].append(lab_cost(fed, metrics, gather_rows=rows))
    # Recording costs the same however its batches are gathered.
    two_ns, three_ns = (
        min(cost.recording_ns for name in ways if ways[name][0] is fed for cost in costs[name])
        for fed in (two, three)
    )
    metrics_ns = {name: min(cost.metrics_ns for cost in costs[name]) for name in ways}
    unit = "ns/message"
    cases = [
        Case("lab: recording", "CPU", two_ns, unit),
        Case("lab: recording, with expected", "CPU", three_ns, unit),
        *(Case(f"lab: metrics, {name}", "CPU", metrics_ns[name], unit) for name in ways),
    ]
    ratios = {
        f"lab: metrics, {name} / recording": metrics_ns[name] / (two_ns if fed is two else three_ns)
        for name, (fed, _) in ways.items()
    }
    goals = {f"lab: metrics, {name} / recording": _LAB_GOAL for name in (usual, matched)}
    return _Found(cases, ratios, goals)


def _recorded(note: Note, place: Path, deliveries: int, rounds: int) -> Iterator[_Found]:
    size = _size(deliveries)
    note(f"making a run of {size}")
    (run_id,) = make_runs(place, deliveries, per_run=deliveries)
    note(f"{size}: reading and measuring")
    cost = file_cost(place, run_id, [*find_metrics(FILE_METRICS).values()], rounds=rounds)
    key = f"{size}: rows/s measured / rows/s read and decoded"
    yield _Found(
        [
            Case(f"{size}: read and decoded", "rows", cost.rows / cost.reading_s, "/CPU s"),
            Case(f"{size}: measured", "rows", cost.rows / cost.measuring_s, "/CPU s"),
        ],
        {key: cost.reading_s / cost.measuring_s},
        {key: _FILE_GOAL},
    )
    yield _parts(note, place, run_id, size, rounds)


def _parts(note: Note, place: Path, run_id: str, size: str, rounds: int) -> _Found:
    """Each part and the whole run in a process of its own."""
    whole = Part()
    ways = [whole, *(Part(number, PARTS) for number in range(PARTS))]
    costs: dict[Part, list[PartCost]] = {part: [] for part in ways}
    for number in range(rounds):
        for part in ways:
            name = "whole" if part is whole else f"part {part.number + 1} of {PARTS}"
            note(f"{size}: {name}, round {number + 1} of {rounds}")
            costs[part].append(run_part(place, run_id, LAB_METRICS, part))
    metrics = [*find_metrics(LAB_METRICS).values()]
    merged = merge_parts(place, run_id, metrics, [costs[part][-1].tallies for part in ways[1:]])
    assert same_results(merged, measure(place, run_id, metrics)), f"parts of {size} disagree"
    cpu_s = {part: min(cost.cpu_s for cost in costs[part]) for part in ways}
    memory_mb = {part: min(cost.memory_mb for cost in costs[part]) for part in ways}
    slowest_s, largest_mb = (max(of[part] for part in ways[1:]) for of in (cpu_s, memory_mb))
    time = f"{size}: slowest of {PARTS} parts / whole run"
    memory = f"{size}: memory of a part / of the whole run"
    return _Found(
        [
            Case(f"{size}: whole run", "CPU", cpu_s[whole], "s"),
            Case(f"{size}: slowest part", "CPU", slowest_s, "s"),
            Case(f"{size}: all parts", "CPU", sum(cpu_s.values()) - cpu_s[whole], "s"),
            Case(f"{size}: whole run", "memory", memory_mb[whole], "MB"),
            Case(f"{size}: largest part", "memory", largest_mb, "MB"),
        ],
        {time: slowest_s / cpu_s[whole], memory: largest_mb / memory_mb[whole]},
        {time: _PART_TIME_GOAL, memory: _PART_MEMORY_GOAL},
    )


def _memory(note: Note, sizes: Sizes) -> _Found:
    note("bytes that are kept of a message")
    counting, ledger = (
        [*find_metrics(names).values()] for names in (COUNTING_METRICS, LEDGER_METRICS)
    )
    counted = kept_bytes(["expected", *_RECORDS], counting, messages=sizes.kept)
    kept = kept_bytes(["expected", "arrivals"], ledger, messages=sizes.kept)
    task = f"a task, {sizes.task_runs} runs of {_size(sizes.task_deliveries)}"
    with TemporaryDirectory(prefix="penstock-bench-") as place:
        note(f"making {sizes.task_runs} runs of {_size(sizes.task_deliveries)}")
        deliveries = sizes.task_runs * sizes.task_deliveries
        runs = make_runs(Path(place), deliveries, per_run=sizes.task_deliveries)
        note(f"memory of {task}")
        peak_mb = run_in_subprocess("metrics", Path(place), runs).peak_mb
    return _Found(
        [
            Case("lab: counting metrics", "memory", counted, "B/message", _COUNTING_GOAL),
            Case("lab: ledger, without orderings", "memory", kept, "B/message", _LEDGER_GOAL),
            Case(task, "peak memory", peak_mb, "MB", _TASK_GOAL),
        ],
        {},
        {},
    )


def _size(deliveries: int) -> str:
    whole, rest = divmod(deliveries, MILLION)
    return f"{deliveries:,}" if rest else f"{whole} million"
