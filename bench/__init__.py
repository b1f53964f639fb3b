"""Benchmarks that compare alternatives in one run, because machines are noisy.

Each benchmark listed in `BENCHES` is a module with a `run(note)` that returns a
`Result`; `note` takes a line of progress. Knows nothing of how results are printed.
"""

from importlib import import_module
from typing import Final

from bench.result import Note, Result

BENCHES: Final = {
    "match": "messages matched per second: the index against its naive twin",
    "bloom": "subset tests and message encoding",
    "wire": "encoding and decoding a DATA frame",
    "ordering": "messages received, ordered and handed over per second",
    "storm": "requests and repairs for a loss that thousands share, and how they grow",
    "congestion": "messages published per second while others limit up to 1000 flows",
    "effairness": "seconds to judge a network by the effair ideal, and how they grow with it",
    "metrics": "what metrics cost a run of the lab, a recorded run and its parts",
    "pipeline": "metrics over 20 million deliveries: tasks on Spark, Polars, DuckDB",
    "guaranteed": "durable streams beside JetStream and RabbitMQ: messages a second, CPU, disk",
    "sim": "packet-hops simulated per second on a chain of 8 routers",
    "sweep": "what Spark costs a sweep, over the same runs in plain processes",
}

# Where the name on the command line is not the module's.
_MODULES: Final = {"storm": "repair_storm"}


def module_name(name: str) -> str:
    """Where one of `BENCHES` is."""
    return f"{__name__}.{_MODULES.get(name, name)}"


def run(name: str, note: Note) -> Result:
    """Runs one of `BENCHES`; only its own module is loaded, and what that needs."""
    result: Result = import_module(module_name(name)).run(note)
    return result
