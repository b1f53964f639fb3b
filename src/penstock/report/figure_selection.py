"""Selects the figures of a page: those of every family with data, otherwise the generic ones."""

from __future__ import annotations

from penstock.report.figure import Figure
from penstock.report.figures import (
    alert_rates,
    bottleneck,
    calibrated,
    cast_aggregation,
    cast_feedback,
    cast_repairs,
    cast_reports,
    cast_sweep,
    cast_times,
    delay_laws,
    detection_curves,
    detection_grid,
    doubt_rates,
    extra_delay,
    false_negatives,
    feedback,
    generic,
    latch,
    nack_windows,
    one_pair,
    rates,
    recovery_delays,
    recovery_gain,
    recovery_traffic,
    response,
    shares,
    stream_queues,
    streams,
    violations,
    workload,
)
from penstock.report.report_data import ReportData

# In the order of the page: comparisons first, then the workload.
FAMILIES = (
    cast_sweep,
    cast_repairs,
    cast_feedback,
    cast_aggregation,
    cast_reports,
    cast_times,
    recovery_gain,
    streams,
    nack_windows,
    stream_queues,
    alert_rates,
    doubt_rates,
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
    """All figures of a page; at least one if anything was measured."""
    found = [figure for family in FAMILIES for figure in family.figures(facts)]
    return found or generic.figures(facts)
