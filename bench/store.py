"""Earlier results, kept for each machine, so that a run can show what changed.

Figures from different machines must not be compared, so each has its own file
below the user's state directory.
"""

from __future__ import annotations

import json
import os
import platform
from hashlib import blake2b
from pathlib import Path

from bench.result import Result


def machine_name() -> str:
    """Tells machines and interpreters apart by what makes figures comparable."""
    facts = (platform.node(), platform.machine(), _processor(), str(os.cpu_count()))
    digest = blake2b("\n".join(facts).encode(), digest_size=4).hexdigest()
    return f"{platform.machine()}-python{platform.python_version()}-{digest}"


def store_path(bench: str) -> Path:
    """Where the last result of a benchmark on this machine is."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "penstock" / "bench" / machine_name() / f"{bench}.json"


def load_last(bench: str) -> dict[tuple[str, str], float]:
    """The figures of the last run by case and metric; none if there was no readable one."""
    try:
        document = json.loads(store_path(bench).read_text())
        return {(c["case"], c["metric"]): float(c["value"]) for c in document["cases"]}
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return {}


def save(result: Result) -> bool:
    """Keeps a result for the next run to compare with; False where that is not possible."""
    try:
        path = store_path(result.bench)
        fresh = path.with_suffix(".new")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps(result.as_json()))
        fresh.replace(path)
    except (OSError, RuntimeError):  # no room, or no home
        return False
    return True


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), "")
