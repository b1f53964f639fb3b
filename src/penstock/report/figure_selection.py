"""Which figures a page has: every family that finds something to draw, or else the plain ones."""

from __future__ import annotations

from penstock.report.figure import Figure
from penstock.report.figures import (
    bottleneck,
    calibrated,
    delay_laws,
    detection_curves,
    detection_grid,
    extra_delay,
    false_negatives,
    feedback,
    generic,
    latch,
    one_pair,
    rates,
    recovery_delays,
    recovery_traffic,
    response,
    shares,
    violations,
    workload,
)
from penstock.report.report_data import ReportData

# In the order of the page: what differs first, then what it was measured on.
FAMILIES = (
    bottleneck,
    shares,
    feedback,
    response,
    false_negatives,
    recovery_delays,
    recovery_traffic,
    violations,
    extra_delay,
    latch,
    detection_curves,
    detection_grid,
    calibrated,
    one_pair,
    delay_laws,
    workload,
    rates,
)


def figures_of(facts: ReportData) -> list[Figure]:
    """At least one, if anything was measured."""
    found = [figure for family in FAMILIES for figure in family.figures(facts)]
    return found or generic.figures(facts)
