"""Results of casts as small as they can be, with the numbers of no run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.lab.findings import Findings
from penstock.lab.result import estimates
from penstock.report.report_data import ReportData
from tests.report.made_up import plain

# Of the shipped protocol, for 200 routers.
DEFAULT: dict[str, float] = {
    "repairs_of_unicast": 0.451,
    "repair_nodes_of_unicast": 0.288,
    "yardstick_repairs.unicast": 1,
    "yardstick_repairs.publisher_only": 0.45,
    "yardstick_repairs.caches": 0.373,
    "yardstick_nodes.publisher_only": 0.274,
    "yardstick_nodes.caches": 0.239,
    "needs_of_unicast": 0.021,
    "feedback_of_unicast": 0.05,
    "yardstick_feedback.pgm": 3.6,
    "yardstick_feedback.exact_bitmaps": 0.3,
    "aggregation.messages": 0.9,
    "aggregation.bytes": 0.87,
    "aggregation.packets": 0.97,
    "cast_relays": 2.4,
    "reports_sent.publisher": 0,
    "reports_sent.relay": 8,
    "reports_sent.subscriber": 90,
    "reports_received.publisher": 9,
    "reports_received.relay": 40,
    "reports_received.subscriber": 0,
    "cast_setup": 0.4,
    "cast_time": 20.3,
    "cast_time_bound": 20.08,
    "cast_time_over_bound": 1.011,
    "cast_unfinished": 0,
}
LITERAL = DEFAULT | {
    "repairs_of_unicast": 2.96,
    "repair_nodes_of_unicast": 1.14,
    "needs_of_unicast": 0.67,
    "feedback_of_unicast": 0.67,
    "aggregation.messages": 0.6,
    "aggregation.bytes": 0.55,
    "aggregation.packets": 0.5,
    "cast_relays": 24,
    "reports_sent.relay": 5_000,
    "reports_sent.subscriber": 20_000,
    "reports_received.publisher": 900,
    "reports_received.relay": 19_000,
    "cast_time": 24.2,
    "cast_time_over_bound": 1.205,
}


def casts(
    variants: Mapping[str, Mapping[str, float]],
    *,
    id_: str = "mine",
    packets: int = 20_000,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    seeds: int = 1,
) -> ReportData:
    """Variants with their figures; a variant named `…-500` has 500 routers, others 200."""

    def parameters(name: str) -> dict[str, Any]:
        own = {"routers": 500 if name.endswith("-500") else 200, "packets": packets}
        return {"casts": {"hold_s": 0.1, **own, **(settings or {}).get(name, {})}}

    def found(figures: Mapping[str, float], seed: int) -> Findings:
        return Findings(figures={k: (v * (1 + 0.02 * seed), "") for k, v in figures.items()})

    result = plain(
        list(variants),
        id=id_,
        variants={
            name: estimates([found(figures, seed) for seed in range(seeds)])
            for name, figures in variants.items()
        },
        parameters={name: parameters(name) for name in variants},
        series={name: {} for name in variants},
    )
    return ReportData(result)
