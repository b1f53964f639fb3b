"""Where facts come from: `result.json`, or what the pipeline made of traces, or both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock import __version__
from penstock.kernel.errors import UsageError
from penstock.lab.experiment_files import catalogue
from penstock.lab.result import Result, read_result
from penstock.report.gold import facts_of_gold
from penstock.report.report_data import Facts
from penstock.report.result_directories import Place
from penstock.report.sweep import Sweep, varied


def facts_of(place: Place) -> list[Facts]:
    """A result, with what traces tell besides; without one, all that traces tell."""
    told = [] if place.gold is None else facts_of_gold(place.gold, place.traces)
    for facts in told:
        _check_version(facts.result, place.directory)
    if place.result is None:
        return told
    own = facts_of_result(place.result)
    return [next((own.with_more(more) for more in told if more.id == own.id), own)]


def facts_of_result(path: Path) -> Facts:
    """Reads the result that `penstock lab run` left in a directory."""
    result = read_result(path)
    _check_version(result, path)
    if not any(result.variants.values()):
        raise UsageError(f"{path} has no figures: run the experiment again, with a metric")
    source = catalogue().get(result.id)
    return Facts(result, about="" if source is None else source.experiment.about)


def subjects(every: Iterable[Facts]) -> list[Facts | Sweep]:
    """What gets a page: results of one experiment that differ in parameters share theirs."""
    groups: dict[tuple[str, str], list[Facts]] = {}
    for facts in every:
        groups.setdefault((facts.id, facts.result.profile), []).append(facts)
    found: list[Facts | Sweep] = []
    for group in groups.values():
        if len(group) > 1 and varied(group):
            found.append(Sweep(group))
        else:
            found += group
    return found


def _check_version(result: Result, path: Path) -> None:
    """What figures mean may change with a minor version."""
    if result.code_version.split(".")[:2] != __version__.split(".")[:2]:
        raise UsageError(
            f"{path} was made by penstock {result.code_version} and this is {__version__}:"
            " run it again, or use that version"
        )
