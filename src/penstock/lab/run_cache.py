"""A cache of finished runs, valid for the same program, parameters and seed.

An outcome is stored with a fingerprint of all three. Any change to the sources
of the program invalidates it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from inspect import getsourcefile
from pathlib import Path

import msgspec

import penstock
from penstock.lab.atomic_file import write_atomically
from penstock.lab.single_run import Job, Outcome, experiment_metrics, parameters, run_job


class _CachedRun(msgspec.Struct):
    fingerprint: str
    outcome: Outcome


def run_or_load(job: Job, progress: Callable[[float], None]) -> Outcome:
    """Runs the job and caches its outcome; loads a cached one if it may resume without a trace."""
    if job.runs is None:
        return run_job(job, progress)
    path = job.runs / f"{job.run_id}.json"
    if job.resume and job.keep is None and (outcome := _load(path, fingerprint(job))) is not None:
        progress(job.length_s)
        return outcome
    outcome = run_job(job, progress)
    write_atomically(path, msgspec.json.encode(_CachedRun(fingerprint(job), outcome)))
    return outcome


def fingerprint(job: Job) -> str:
    """A hash of everything that the outcome depends on."""
    parameters_json = json.dumps(parameters(job.experiment), sort_keys=True)
    digest = sha256(f"{_source_hash()} {job.variant} {job.seed} {parameters_json}".encode())
    digest.update(_topology_file(job))
    digest.update(_own_metrics(job))
    return digest.hexdigest()


def _topology_file(job: Job) -> bytes:
    """The content of the topology file, of which parameters hold only the path; b"" if none."""
    network = job.experiment.network
    path = None if network is None else network.topology.path
    try:
        return b"" if path is None else Path(path).read_bytes()
    except OSError:
        # The network builder reports this error.
        return b""


def _own_metrics(job: Job) -> bytes:
    """The sources of metrics that are not part of this package; b"" if there are none."""
    metrics = experiment_metrics(job.experiment, job.document)
    files = [getsourcefile(metric) for name, metric in metrics.items() if ":" in name]
    return b"".join(Path(file).read_bytes() for file in files if file is not None)


def _load(path: Path, expected: str) -> Outcome | None:
    try:
        cached = msgspec.json.decode(path.read_bytes(), type=_CachedRun)
    except (OSError, msgspec.DecodeError):
        return None
    return cached.outcome if cached.fingerprint == expected else None


@cache
def _source_hash() -> str:
    """A hash of all sources of this package."""
    package = Path(penstock.__file__).parent
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
