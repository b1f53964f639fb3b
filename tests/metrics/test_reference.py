"""The reference of metrics shows what the metrics declare."""

from __future__ import annotations

import re

import pytest

from penstock.lab.metrics import LAB_METRICS
from penstock.metrics.catalogue import find_metric
from tests.metrics.reference import COMMAND, PAGE, regenerated

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_metrics_declare() -> None:
    assert regenerated(TEXT) == TEXT, f"{PAGE.name} is out of date: run {COMMAND}"


def test_the_page_says_how_to_write_it_anew() -> None:
    assert f"`{COMMAND}`" in TEXT


def test_every_metric_has_a_section() -> None:
    assert re.findall(r"^### (\w+)$", TEXT, re.MULTILINE) == list(LAB_METRICS)


@pytest.mark.parametrize("name", LAB_METRICS)
def test_every_output_has_a_row(name: str) -> None:
    section = TEXT.split(f"\n### {name}\n")[1].split("\n### ")[0]
    shown = re.findall(r"^\| `(\S+)` \| (\S+) \|", section, re.MULTILINE)
    declared = find_metric(name, known=LAB_METRICS).OUTPUTS
    assert shown == [(output.name, output.unit) for output in declared]
