"""`python -m tests.hashes`: what runs hash to, compared with `tests/vectors/hashes.json`.

Covers every variant and seed of every experiment's quick profile (trace hashes) and seeds of
the swarm (trace hashes of brokers, facts hashes of endpoints, with and without congestion
control). A change that is not meant to change behaviour leaves all of them equal. `make hashes`
runs it; `--write` records what is found, in a commit that does nothing else and says why.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from penstock.lab.experiment_files import catalogue
from penstock.lab.experiment_runner import ExperimentPlan, plan_jobs
from penstock.lab.single_run import Job, run_job
from penstock.sim.swarm import run_swarm
from penstock.sim.swarm.endpoint_options import draw_controlled_options
from penstock.sim.swarm.endpoints import run_endpoints

VECTORS: Final = Path(__file__).parent / "vectors" / "hashes.json"
BROKER_SEEDS: Final = range(20)
ENDPOINT_SEEDS: Final = range(100)
CONTROLLED_SEEDS: Final = range(40)

# A name of what is run, and what gives its hash.
Case = tuple[str, Callable[[], str]]


def main() -> int:
    """Prints each difference; 1 if there is any."""
    parser = argparse.ArgumentParser(prog="python -m tests.hashes", description=__doc__)
    parser.add_argument("only", nargs="*", help="beginnings of names, such as swarm or M-5")
    parser.add_argument("--write", action="store_true", help="record what is found")
    arguments = parser.parse_args()
    recorded: dict[str, str] = json.loads(VECTORS.read_text()) if VECTORS.exists() else {}
    begins = tuple(arguments.only) or ("",)
    expected = {name: found for name, found in recorded.items() if name.startswith(begins)}
    found = dict(_hashes([case for case in _cases() if case[0].startswith(begins)]))
    names = sorted({*expected, *found})
    different = [name for name in names if expected.get(name) != found.get(name)]
    for name in different:
        print(f"{name}: {expected.get(name, 'new')} -> {found.get(name, 'gone')}")
    print(f"{len(found) - len(different)} of {len(found)} hashes are as recorded")
    if arguments.write:
        kept = {name: each for name, each in recorded.items() if name not in names}
        VECTORS.write_text(json.dumps({**kept, **found}, indent=1, sort_keys=True) + "\n")
        return 0
    return 1 if different else 0


def _cases() -> Iterator[Case]:
    for id_, source in catalogue().items():
        for job in plan_jobs(source, ExperimentPlan()):
            yield f"{id_}.{job.variant}.{job.seed}", partial(_trace_hash, job)
    for seed in BROKER_SEEDS:
        yield f"swarm.brokers.{seed}", partial(_brokers_hash, seed)
    for seed in ENDPOINT_SEEDS:
        yield f"swarm.endpoints.{seed}", partial(_endpoints_hash, seed)
    for seed in CONTROLLED_SEEDS:
        yield f"swarm.controlled.{seed}", partial(_controlled_hash, seed)


def _hashes(cases: list[Case]) -> Iterable[tuple[str, str]]:
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        futures = [(name, pool.submit(compute)) for name, compute in cases]
        for place, (name, future) in enumerate(futures, 1):
            yield name, future.result()
            if sys.stderr.isatty():
                print(f"\r{place} of {len(futures)}", end="\r", file=sys.stderr)


def _trace_hash(job: Job) -> str:
    return run_job(job, lambda _seconds: None).trace_hash


def _brokers_hash(seed: int) -> str:
    return run_swarm(seed).trace_hash


def _endpoints_hash(seed: int) -> str:
    return run_endpoints(seed).facts_hash


def _controlled_hash(seed: int) -> str:
    return run_endpoints(seed, options=draw_controlled_options(seed)).facts_hash


if __name__ == "__main__":
    sys.exit(main())
