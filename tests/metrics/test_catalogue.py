"""Every metric of the catalogue declares what it does, and works alone."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from penstock.kernel.errors import UsageError
from penstock.metrics.base import Entity, Metric, Output
from penstock.metrics.catalogue import METRICS, ON_REQUEST, _load, find_metric, find_metrics
from penstock.metrics.measurement import outputs_of
from penstock.metrics.results import Results
from penstock.metrics.views import ledger, receipts
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Batch
from penstock.trace.records import Publication
from penstock.trace.schema import TABLES
from penstock.tracefile.measure import measure
from tests.metrics.brute import Key
from tests.metrics.brute.compare import assert_same, keyed
from tests.metrics.brute.traces import random_trace

KINDS = {"value", "series", "histogram", "curve", "sketch"}
VIEWS = {
    receipts.NAME: {*dir(Receipts)},
    ledger.NAME: set[str](),
}
CLASSES = find_metrics(METRICS)
# The first has rows in every table, phases and groups.
SEEDS = (3231, 3, 4)


class Rows(Metric[Batch]):
    """A metric of one's own: counts drops."""

    READS: ClassVar = {"drops": ("dropped_ns",)}
    OUTPUTS: ClassVar = (Output(name="rows", unit="rows", meaning="rows of drops"),)

    def update(self, batch: Batch) -> None:
        """Counts nothing."""

    def finish(self, out: Results) -> None:
        """Reports nothing."""


class CountsRows(Rows):
    """Looks at no column."""

    READS: ClassVar = {"publications": ()}
    OUTPUTS: ClassVar = (Output(name="lines", unit="rows", meaning="rows of publications"),)
    rows = 0

    def update(self, batch: Batch) -> None:
        """Counts rows."""
        assert not batch.columns
        self.rows += batch.rows

    def finish(self, out: Results) -> None:
        """Reports them."""
        out.add_value("lines", self.rows)


class OtherEntity(Rows):
    """Reports a name of the catalogue, of another entity."""

    OUTPUTS: ClassVar = (
        Output(name="expected", unit="rows", entity=Entity.REASON, meaning="something else"),
    )


HEAD = """
from penstock.metrics.base import AdditiveMetric, Entity, Metric, Output
A = Output(name="mine_a", unit="s", meaning="")
class Base(Metric):
    READS = {"drops": ("dropped_ns",)}
    OUTPUTS = (A,)
    def update(self, batch): ...
    def finish(self, out): ...
class Unread(Metric):
    OUTPUTS = (A,)
    def update(self, batch): ...
    def finish(self, out): ...
class Unreported(Metric):
    READS = {}
    def update(self, batch): ...
    def finish(self, out): ...
class Half(Base, AdditiveMetric): ...
class X(Base):
    """

LOAD_FAILURES = {
    'READS = {"dorps": ("dropped_ns",)}': "reads 'dorps', which is no table: did you mean 'drops'",
    'READS = {"drops": ("at",)}': "reads 'at' of drops, which has no such column: choose from",
    'READS = {"drops": ("dropped_ns")}': "reads 'dropped_ns' of drops: write a tuple",
    'READS = {"receipts": ("fate",)}': "reads 'fate' of receipts, which has no such column",
    'READS = {"ledger": ("seq",)}': "reads 'seq' of ledger, which has no such column: write",
    'READS = ("drops",)': "does not say what it reads: write READS",
    "OUTPUTS = (A)": "does not say what it reports: write OUTPUTS",
    "OUTPUTS = (A, 'b')": "does not say what it reports",
    "OUTPUTS = (A, A)": "declares mine_a of a run twice: rename one",
    'OUTPUTS = (A, Output(name="mine_a", unit="1", entity=Entity.LINK, meaning=""))': (
        "declares mine_a in 's' and in '1': a name has one unit"
    ),
    "pass\nraise ValueError('two\\nlines')": "fails with ValueError: two lines; mend it",
    "pass\nraise SystemExit(3)": "fails with SystemExit: 3; mend it",
    "pass\nthis is no Python": "fails with SyntaxError: ",
}


@pytest.mark.parametrize("name", METRICS)
def test_outputs_say_what_they_are(name: str) -> None:
    for output in CLASSES[name].OUTPUTS:
        assert output.unit.strip(), output.name
        assert output.meaning.strip(), output.name
        assert not output.meaning.endswith("."), output.name
        assert output.kinds, output.name
        assert {*output.kinds} <= KINDS, output.name


def test_an_output_is_declared_by_one_metric_only() -> None:
    declared = Counter((output.name, output.entity) for output in outputs_of(CLASSES.values()))
    assert [key for key, count in declared.items() if count > 1] == []


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_reads_columns_that_exist(name: str) -> None:
    known = {table: {column.name for column in TABLES[table].columns} for table in TABLES} | VIEWS
    for source, columns in CLASSES[name].READS.items():
        assert {*columns} <= known[source], source


def test_metrics_on_request_are_in_the_catalogue() -> None:
    assert {*METRICS} >= ON_REQUEST


def test_a_metric_finds_the_same_alone_as_among_all(tmp_path: Path) -> None:
    for seed in SEEDS:
        random_trace(seed).write(tmp_path, f"run.{seed}")
        among_all = keyed(measure(tmp_path, f"run.{seed}", [*CLASSES.values()]))
        alone: dict[Key, float] = {}
        for metric in CLASSES.values():
            alone |= keyed(measure(tmp_path, f"run.{seed}", [metric]))
        assert_same(alone, among_all)


def test_an_unknown_name_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UsageError) as refused:
        find_metric("fifo_ordr")
    assert str(refused.value).startswith(
        "there is no metric 'fifo_ordr': did you mean 'fifo_order'? choose from received, "
    )
    with pytest.raises(UsageError, match="no metric 'xyzzy': choose from"):
        find_metric("xyzzy")


def test_a_class_of_ones_own_is_found_by_module_and_name() -> None:
    assert find_metric(f"{__name__}:Rows") is Rows


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mine.bursts:Bursts", "cannot import the metric 'mine.bursts:Bursts' .*: is mine on"),
        (f"{__name__}:Bursts", "has no metric 'Bursts': name a class that extends Metric"),
        (f"{__name__}:Counter", "has no metric 'Counter': name a class that extends Metric"),
        (f"{__name__}:SEEDS", "has no metric 'SEEDS'"),
        (f"{__name__}:", "has no metric ''"),
    ],
)
def test_errors_about_a_class_are_one_line(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        find_metric(name)
    assert "\n" not in str(refused.value)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes a module whose class X has this body; returns the module's name."""
    module = "metric_of_mine"

    def write(body: str) -> str:
        (tmp_path / f"{module}.py").write_text(HEAD + body + "\n")
        return module

    monkeypatch.syspath_prepend(tmp_path)
    _load.cache_clear()
    yield write
    _load.cache_clear()
    sys.modules.pop(module, None)


@pytest.mark.parametrize("body", LOAD_FAILURES)
def test_a_slip_in_a_declaration_is_refused_in_one_line(
    body: str, written: Callable[[str], str]
) -> None:
    name = f"{written(body)}:X"
    with pytest.raises(UsageError, match=re.escape(LOAD_FAILURES[body])) as refused:
        find_metrics([name])
    assert "\n" not in str(refused.value)
    assert repr(name) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Unread", "does not say what it reads"),
        ("Unreported", "does not say what it reports"),
        ("Half", "is abstract: name a class that has report, tally"),
        ("Metric", "has no metric 'Metric': name a class that extends Metric"),
        ("AdditiveMetric", "has no metric 'AdditiveMetric'"),
    ],
)
def test_a_class_that_is_not_complete_is_refused(
    name: str, says: str, written: Callable[[str], str]
) -> None:
    module = written("pass")
    assert find_metrics([f"{module}:X"])
    with pytest.raises(UsageError, match=says):
        find_metric(f"{module}:{name}")


def test_a_metric_without_columns_gets_its_rows(tmp_path: Path) -> None:
    made = random_trace(SEEDS[0])
    made.write(tmp_path, "run.1")
    assert made.rows(Publication)
    found = measure(tmp_path, "run.1", [CountsRows]).values.values()
    assert [*found] == [len(made.rows(Publication))]


def test_a_class_under_two_names_counts_once() -> None:
    place = METRICS["delays"]
    assert [*find_metrics(["delays", place])] == ["delays"]
    assert [*find_metrics([place])] == ["delays"]


def test_a_name_of_the_catalogue_is_taken_for_every_entity() -> None:
    with pytest.raises(UsageError, match=r"'received' and '.*:OtherEntity' both report expected"):
        find_metrics([f"{__name__}:OtherEntity"])


@pytest.mark.parametrize("name", [":Base", ".mine:X"])
def test_a_place_without_a_whole_module_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="names no metric: write MODULE:CLASS"):
        find_metric(name)
