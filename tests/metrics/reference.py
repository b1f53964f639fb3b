"""Writes the tables of `docs/reference/metrics.md` from what the metrics declare.

    python -m tests.metrics.reference

Everything below the line `MARKER` is generated: folders and metrics in the order of the
catalogue, each metric with the docstring of its module and its outputs. The text above the line
is written by hand and stays.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Final

from penstock.lab.metrics import LAB_METRICS
from penstock.metrics.base import AdditiveMetric, Entity, MetricType, Output, Window
from penstock.metrics.catalogue import ON_REQUEST, find_metric
from penstock.metrics.measurement import columns_read

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
COMMAND: Final = "python -m tests.metrics.reference"
MARKER: Final = f"<!-- From here on the page is generated: {COMMAND} -->"

_WINDOWS: Final = {
    Window.RUN: "run",
    Window.EXPERIMENT: "experiment",
    Window.AFTER_WARMUP: "after warm-up",
}
_HEADS: Final = ("output", "unit", "of", "window", "phases", "kinds", "meaning")


def regenerated(page: str) -> str:
    """The page with its tables written anew."""
    by_hand, marker, _ = page.partition(MARKER)
    assert marker, f"{PAGE.name} lacks the line {MARKER}"
    return f"{by_hand}{MARKER}\n" + "".join(f"\n{block}\n" for block in _blocks())


def _blocks() -> Iterator[str]:
    folders = {package: list(own) for package, own in groupby(LAB_METRICS, key=_package)}
    yield "\n".join(_contents(folders))
    for package, names in folders.items():
        yield f"## {_folder(package)}"
        yield _docstring(package).split("\n\n")[0]
        for name in names:
            yield from _metric_blocks(name, find_metric(name, known=LAB_METRICS))


def _contents(folders: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield "| folder | metrics |"
    yield "|---|---|"
    for package, names in folders.items():
        folder = _folder(package)
        yield f"| [{folder}](#{folder}) | {', '.join(f'[{name}](#{name})' for name in names)} |"


def _metric_blocks(name: str, metric: MetricType) -> Iterator[str]:
    yield f"### {name}"
    yield _docstring(metric.__module__)
    yield _how_it_is_measured(name, metric)
    yield "\n".join(_table(metric.OUTPUTS))


def _package(name: str) -> str:
    return LAB_METRICS[name].partition(":")[0].rpartition(".")[0]


def _folder(package: str) -> str:
    """The folder within `metrics`; `lab` for metrics that only the lab has."""
    return package.removeprefix("penstock.metrics.").removeprefix("penstock.").partition(".")[0]


def _docstring(module: str) -> str:
    return inspect.getdoc(import_module(module)) or ""


def _how_it_is_measured(name: str, metric: MetricType) -> str:
    tables = ", ".join(f"`{table}`" for table in columns_read([metric]))
    sentences = [f"Reads {tables}." if tables else "Reads no table."]
    is_additive = issubclass(metric, AdditiveMetric)
    sentences += ["Can be measured in parts." if is_additive else "Needs whole runs."]
    sentences += ["On request."] * (name in ON_REQUEST)
    return " ".join(sentences)


def _table(outputs: Sequence[Output]) -> Iterator[str]:
    yield _row(_HEADS)
    yield "|---" * len(_HEADS) + "|"
    before = ""
    for output in outputs:
        # Outputs of one distribution share the first half of their meaning.
        shared, _, own = output.meaning.rpartition(": ")
        meaning = f"… {own}" if shared and shared == before else output.meaning
        before = shared or output.meaning
        yield _row(
            (
                f"`{output.name}`",
                output.unit,
                "" if output.entity is Entity.RUN else output.entity,
                _WINDOWS[output.window],
                "yes" if output.phased else "",
                "" if output.kinds == ("value",) else ", ".join(output.kinds),
                meaning,
            )
        )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(regenerated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
