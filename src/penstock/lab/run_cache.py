"""Finished runs that need not be run again: same program, same parameters, same seed.

An outcome is kept beside a fingerprint of all three. A run of another program,
or of the same with one line changed, is run anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

import penstock
from penstock.lab.atomic_file import write_atomically
from penstock.lab.single_run import Job, Outcome, parameters, run_job


class _CachedRun(msgspec.Struct):
    fingerprint: str
    outcome: Outcome


def run_or_load(job: Job, progress: Callable[[float], None]) -> Outcome:
    """Runs the job and keeps its outcome; a kept one will do if asked, and no trace is wanted."""
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
    """Of everything that the outcome depends on."""
    parameters_json = json.dumps(parameters(job.experiment), sort_keys=True)
    digest = sha256(f"{_source_hash()} {job.variant} {job.seed} {parameters_json}".encode())
    digest.update(_topology_file(job))
    return digest.hexdigest()


def _topology_file(job: Job) -> bytes:
    """What is in it, for parameters have only its name; nothing where there is none."""
    network = job.experiment.network
    path = None if network is None else network.topology.path
    try:
        return b"" if path is None else Path(path).read_bytes()
    except OSError:
        # Whoever builds the network will say so.
        return b""


def _load(path: Path, expected: str) -> Outcome | None:
    try:
        cached = msgspec.json.decode(path.read_bytes(), type=_CachedRun)
    except (OSError, msgspec.DecodeError):
        return None
    return cached.outcome if cached.fingerprint == expected else None


@cache
def _source_hash() -> str:
    """A hash of our own sources."""
    package = Path(penstock.__file__).parent
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
