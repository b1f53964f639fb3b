"""The lab's own metrics are found by name."""

from __future__ import annotations

import pytest

from penstock.lab.metrics.room import LAB_METRICS
from penstock.metrics.catalogue import METRICS, find_metric


@pytest.mark.parametrize("name", LAB_METRICS)
def test_each_name_leads_to_its_class(name: str) -> None:
    found = find_metric(name, known=LAB_METRICS)
    assert found.__name__.lower() == name.replace("_", "")
    assert name not in METRICS
