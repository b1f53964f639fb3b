"""Every metric of the catalogue declares what it does, and works alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from penstock.kernel.errors import UsageError
from penstock.metrics.base import Metric, Output
from penstock.metrics.catalogue import METRICS, ON_REQUEST, find_metric, find_metrics
from penstock.metrics.measurement import outputs_of
from penstock.metrics.results import Results
from penstock.metrics.views import ledger, receipts
from penstock.metrics.views.receipts import Receipts
from penstock.trace.batch import Batch
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
SEEDS = (207, 3, 4)


class Rows(Metric[Batch]):
    """A metric of one's own: counts drops."""

    READS: ClassVar = {"drops": ("dropped_ns",)}
    OUTPUTS: ClassVar = (Output(name="rows", unit="rows", meaning="rows of drops"),)

    def update(self, batch: Batch) -> None:
        """Counts nothing."""

    def finish(self, out: Results) -> None:
        """Reports nothing."""


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
