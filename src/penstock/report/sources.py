"""Loads report data from `result.json`, from gold tables, or from both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock import __version__
from penstock.kernel.errors import UsageError
from penstock.lab.experiment_files import catalogue
from penstock.lab.result import Result, read_result
from penstock.report.gold import report_data_of_gold
from penstock.report.report_data import ReportData
from penstock.report.result_directories import ResultDirectory
from penstock.report.sweep import Sweep, varied_parameters


def report_data_of(directory: ResultDirectory) -> list[ReportData]:
    """The result with the data of its traces; without a result, the data of all traces."""
    from_traces = (
        [] if directory.gold is None else report_data_of_gold(directory.gold, directory.traces)
    )
    for facts in from_traces:
        _check_version(facts.result, directory.directory)
    if directory.result is None:
        return from_traces
    own = report_data_of_result(directory.result)
    return [next((own.merged_with(more) for more in from_traces if more.id == own.id), own)]


def report_data_of_result(path: Path) -> ReportData:
    """Reads the result that `penstock lab run` left in a directory."""
    result = read_result(path)
    _check_version(result, path)
    if not any(result.variants.values()):
        raise UsageError(f"{path} has no figures: run the experiment again, with a metric")
    experiment_file = catalogue().get(result.id)
    return ReportData(
        result, about="" if experiment_file is None else experiment_file.experiment.about
    )


def subjects(every: Iterable[ReportData]) -> list[ReportData | Sweep]:
    """Groups data by page: results of one experiment with different parameters share a page."""
    groups: dict[tuple[str, str], list[ReportData]] = {}
    for facts in every:
        groups.setdefault((facts.id, facts.result.profile), []).append(facts)
    found: list[ReportData | Sweep] = []
    for group in groups.values():
        if len(group) > 1 and varied_parameters(group):
            found.append(Sweep(group))
        else:
            found += group
    return found


def _check_version(result: Result, path: Path) -> None:
    """Refuses results of another minor version, because the meaning of figures may differ."""
    if result.code_version.split(".")[:2] != __version__.split(".")[:2]:
        raise UsageError(
            f"{path} was made by penstock {result.code_version} and this is {__version__}:"
            " run it again, or use that version"
        )
