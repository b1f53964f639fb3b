"""Simulates one job (an experiment, a variant, a seed) and returns figures and trace hash.

Also checks, before anything is simulated, that a job can be built, measured and written.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any, Final

import msgspec

from penstock import __version__
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import seconds, to_seconds
from penstock.kernel.seeds import Seeds
from penstock.lab.builders.casts import CAST_TABLES
from penstock.lab.builders.channel import PUBLISHER, RECEIVERS
from penstock.lab.builders.network import build_scenario
from penstock.lab.experiment import Experiment
from penstock.lab.findings import Findings, findings_of
from penstock.lab.metrics import LAB_METRICS
from penstock.lab.result_names import result_name
from penstock.lab.scenario import Scenario, errors_at_key
from penstock.lab.toml_document import TomlDocument
from penstock.metrics.base import MetricType
from penstock.metrics.catalogue import find_metrics
from penstock.metrics.gather import Gather
from penstock.metrics.measurement import Measurement, columns_read
from penstock.metrics.run_info import RunInfo
from penstock.trace.records import Run
from penstock.trace.schema import HOSTS, RUNS, TABLES, Table
from penstock.tracefile.retention import Recording

# Progress reports per run.
PROGRESS_STEPS: Final = 200
# Tables that a recording gets when the run is over: no metric of a run in progress can read them.
_WRITTEN_LAST: Final = frozenset({RUNS.name, HOSTS.name})
_ORDERING_METRICS: Final = frozenset({"adaptivity", "detection", "late_drops", "residual"})


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run for one process: experiment, variant, seed and where its output goes."""

    experiment: Experiment
    document: TomlDocument
    profile: str
    variant: str
    seed: int
    # Directory of the trace, None for no trace.
    keep: Path | None = None
    # Directory of cached outcomes; with `resume`, a cached outcome is used.
    runs: Path | None = None
    resume: bool = False

    @property
    def run_id(self) -> str:
        """The name of the trace and of the cached outcome."""
        name = re.sub(r"[^A-Za-z0-9._+-]", "-", self.experiment.id)
        return f"{name}.{self.profile}.{self.variant}.{self.seed}"

    @property
    def length_s(self) -> float:
        """Simulated time in seconds, warm-up and drain included."""
        run = self.experiment.run
        return run.warmup_s + run.duration_s + run.drain_s


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one job by result name, with its trace hash and wall-clock time."""

    variant: str
    seed: int
    found: dict[str, Findings]
    trace_hash: str
    wall_s: float


def run_job(job: Job, progress: Callable[[float], None] = lambda _simulated_s: None) -> Outcome:
    """Simulates a job; `progress` is called 200 times with the simulated seconds."""
    started = perf_counter()
    experiment = job.experiment
    metrics = [*experiment_metrics(experiment, job.document).values()]
    tables = _recorded_tables(experiment, metrics)
    gather = Gather(columns_read(metrics))
    with Recording(
        job.run_id, keep=job.keep, replace=True, tables=tables, metrics=[gather.add]
    ) as recording:
        scenario = build_scenario(experiment, job.document, Seeds(job.seed), recording)
        row = _run_row(job)
        recorded = frozenset(table.name for table in tables)
        measurement = Measurement(
            RunInfo.of(job.run_id, row, recorded=recorded, hosts=scenario.hosts), metrics
        )
        gather.connect(measurement.update)
        _simulate(scenario, progress)
        done = recording.finish(row, scenario.hosts)
    gather.close()
    name_of = partial(result_name, experiment, job.variant)
    return Outcome(
        variant=job.variant,
        seed=job.seed,
        found=findings_of(measurement.finish(), [*experiment.orderings], name_of),
        trace_hash=done.trace_hash,
        wall_s=perf_counter() - started,
    )


def check_buildable(job: Job) -> None:
    """Builds the scenario and discards it, so that errors appear before any simulation."""
    with Recording("rehearsal", keep=None) as recording:
        build_scenario(job.experiment, job.document, Seeds(job.seed), recording)


def _simulate(scenario: Scenario, progress: Callable[[float], None]) -> None:
    events = scenario.events
    with _rare_collection():
        for step in range(1, PROGRESS_STEPS + 1):
            events.run(scenario.stop * step // PROGRESS_STEPS)
            progress(to_seconds(events.now))
        scenario.close()


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Makes garbage collection rare: a run creates millions of objects and few cycles."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def experiment_metrics(experiment: Experiment, document: TomlDocument) -> dict[str, MetricType]:
    """The metrics that an experiment file names, by name."""
    with errors_at_key(document, "measure", "metrics"):
        return find_metrics(experiment.measure.metrics, known=LAB_METRICS)


def _recorded_tables(experiment: Experiment, metrics: Sequence[MetricType]) -> list[Table]:
    record, read = experiment.record, columns_read(metrics)
    if experiment.streams is not None:
        sampled = ("streams", "crossings", "alerts", "links", "queues")
        return [TABLES[name] for name in ("edges", *sampled * bool(experiment.run.sample_s))]
    if experiment.casts is not None:
        return [TABLES[name] for name in ("edges", *CAST_TABLES)]
    names = ["publications", "arrivals"]
    names += ["expected"] * record.expected + ["deliveries"] * record.deliveries
    names += ["losses"] * (record.losses and bool(experiment.orderings))
    names += ["drops"] * record.drops + ["hops"] * record.hops
    names += ["edges"] * (experiment.network is not None)
    if experiment.run.sample_s:
        names += ["links", "queues"]
        names += ["tcp"] * bool(experiment.tcp or "tcp" in read)
    transport = experiment.transport
    recovers = transport is not None and transport.recovery.kind != "off"
    # If only some variants recover, the others record these tables empty.
    names += [name for name in ("requests", "repairs", "caches") if recovers or name in read]
    controls = transport is not None and transport.congestion.kind != "off"
    names += [name for name in ("feedback", "flows") if controls or name in read]
    if {"requests", "feedback"} & {*names}:
        names += ["signals"]
    return [TABLES[name] for name in names]


def _run_row(job: Job) -> Run:
    return Run(
        experiment=job.experiment.id,
        profile=job.profile,
        variant=job.variant,
        seed=job.seed,
        parameters=json.dumps(parameters(job.experiment), sort_keys=True),
        duration_ns=seconds(job.experiment.run.duration_s),
        code_version=__version__,
    )


def parameters(experiment: Experiment) -> dict[str, Any]:
    """The parameters of the simulation as plain values, without expectations."""
    tree = msgspec.to_builtins(experiment)
    assert isinstance(tree, dict)
    for key in ("variants", "profiles", "expect", "calibrated", "about"):
        tree.pop(key, None)
    return tree


def check_metrics(experiment: Experiment, document: TomlDocument) -> None:
    """Raises a UsageError for metrics without the tables, groups or phases they need."""
    metrics = experiment_metrics(experiment, document)
    recorded = {table.name for table in _recorded_tables(experiment, [*metrics.values()])}
    for name, metric in metrics.items():
        if name in _ORDERING_METRICS and not experiment.orderings:
            raise document.error(
                ("measure", "metrics"), f"{name} is of orderings, and there are none: write some"
            )
        # Arrivals, which are always recorded, are receipts enough.
        enough = recorded if "deliveries" in metric.READS else recorded | {"deliveries"}
        missing = columns_read([metric]).keys() - enough - metric.OPTIONAL
        if unheard := missing & _WRITTEN_LAST:
            raise document.error(
                ("measure", "metrics"),
                f"{name} reads {', '.join(sorted(unheard))}, which is only read from recorded"
                " traces: keep them, and name it with 'penstock pipeline --metric'",
            )
        if missing:
            raise document.error(
                ("measure", "metrics"),
                f"{name} needs {', '.join(sorted(missing))}: let record or run.sample_s have them"
                " recorded",
            )
    if {"pair_delays", "adaptivity", "loss_events"} & {*experiment.measure.metrics}:
        groups = [*experiment.clients] or [PUBLISHER, RECEIVERS]
        for group in experiment.measure.pair or ("",):
            if group not in groups:
                raise document.error(
                    ("measure", "pair"),
                    'write pair = ["publishers", "subscribers"], two groups of clients from '
                    + ", ".join(groups),
                )
    ample, phases = experiment.measure.ample, experiment.measure.phases
    if ample is not None and ample not in phases:
        raise document.error(
            ("measure", "ample"),
            f"write one of the phases: {', '.join(phases) or 'there are none'}",
        )
    for name, (low, high) in phases.items():
        whole = low == int(low) and high == int(high)
        if not whole or not low < high <= experiment.run.duration_s:
            raise document.error(
                ("measure", "phases", name),
                "a phase ends after it begins, and by the end of the run: write two whole"
                f" numbers of seconds within 0 to {experiment.run.duration_s:g}",
            )


def check_writable(directory: Path) -> None:
    """Raises a UsageError for a directory that cannot be written to."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot write into {directory}: {error.strerror}; choose another place with --out"
        ) from None
