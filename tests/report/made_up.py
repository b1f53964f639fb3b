"""Results as small as they can be that still have everything a page asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.lab.expectations import judge_expectation
from penstock.lab.experiment_files import ExperimentFile, find_experiment
from penstock.lab.findings import Findings
from penstock.lab.result import Result, estimates, means
from penstock.lab.result_names import result_names
from penstock.lab.single_run import parameters
from penstock.metrics.sketches import Bins, Points, Sketch

# Of the network, and of each ordering, by metric of an experiment's file.
NETWORK: dict[str, dict[str, tuple[float, str]]] = {
    "received": {
        "deliveries": (4000, "deliveries"),
        "false_negatives": (80, "deliveries"),
        "false_negative_ratio": (0.02, ""),
        "delivery_rate_peak": (412.5, "/s"),
    },
    "fifo_order": {
        "violations": (300, "messages"),
        "violation_ratio": (0.03, ""),
        "violations_with_deliveries": (0.95, ""),
    },
    "delays": {"delay_p50": (110.0, "ms"), "delay_clusters": (4, "clusters")},
    "pair_delays": {"pair_correlation": (0.99, "")},
    "delay_laws": {
        f"{name}.{brokers}": (value, unit)
        for brokers in (3, 5)
        for name, value, unit in (
            ("samples", 2000.0, "messages"),
            ("delay_ks", 0.01, ""),
            ("delay_gamma_ks", 0.02, ""),
            ("difference_scale", 4.9, "ms"),
            ("difference_ks", 0.03, ""),
            ("tail_0.05", 0.045, ""),
            ("tail_0.01", 0.009, ""),
        )
    },
    "workload": {
        "messages_with_2_or_fewer": (0.52, ""),
        "receivers_max": (11, ""),
        "pair_match_p80": (0.07, ""),
        "pair_match_max": (0.1, ""),
    },
    "links": {"bottleneck_use": (0.9, ""), "overload_from": (200, "s")},
    "adaptivity": {"violation_chance": (0.1, ""), "chance_with_rate": (0.97, "")},
    "shared_losses": {"shared_losses": (100, "messages")},
    "detection": {"missed": (80, "deliveries")},
    "response": {"response.rtt_10ms.p_0.01": (1123.3, "/s")},
    "fairness": {"jain": (0.97, "")},
    "feedback": {"feedback_rate": (7.5, "/s")},
    "source_fates": {
        "offered": (900, "messages"),
        "sent": (850, "messages"),
        "rate_limited": (200, "messages"),
        "dropped_at_source": (50, "messages"),
    },
    "stream_recovery": {
        "recovered_after.SB1.back": (0, "s"),
        "recovered_after.SB2.back": (2, "s"),
        "recovery_publish_rate.SB2.back": (130, "messages/s"),
    },
    "cast_completion": {
        "cast_setup": (0.4, "s"),
        "cast_time": (20.3, "s"),
        "cast_time_bound": (20.1, "s"),
        "cast_time_over_bound": (1.01, ""),
        "cast_unfinished": (0, "receivers"),
        "completion_time": (20.2, "s"),
    },
    "cast_reports": {"aggregation.messages": (0.9, ""), "aggregation.bytes": (0.87, "")},
    "requests": {
        "repaired": (40, "deliveries"),
        "header_bytes": (130, "B"),
        "recovery_bytes": (6, "B"),
        "requests_not_duplicated": (0.95, ""),
        "repairs_not_duplicated": (0.9, ""),
        "hit_ratio": (0.97, ""),
        "cache_limit_mean": (8, "messages"),
        **{
            f"{name}_{share}": (base * by, "ms")
            for name, base in (
                ("delivery_delay", 110),
                ("repaired_delay", 900),
                ("request_to_repair", 150),
            )
            for share, by in (("mean", 1.0), ("p50", 0.9), ("p80", 1.5), ("p99", 3.0))
        },
    },
}
ORDERING: dict[str, dict[str, tuple[float, str]]] = {
    "late_drops": {
        "violations": (12, "messages"),
        "violation_ratio": (0.001, ""),
        "violations_removed": (0.96, ""),
        "late_drops": (0, "messages"),
        "held_share": (0.1, ""),
        "extra_delay_mean": (0.4, "ms"),
        "extra_delay_pairs_p50": (0, "ms"),
        "extra_delay_pairs_p90": (1.5, "ms"),
        "extra_delay_pairs_max": (9.5, "ms"),
    },
    "detection": {
        "losses_declared": (40, "messages"),
        "loss_precision": (0.97, ""),
        "loss_recall": (0.6, ""),
    },
    "adaptivity": {"pair_held": (400, "messages"), "latch_with_rate": (0.96, "")},
    "requests": {"false_negatives": (80, "deliveries")},
    "residual": {"missing": (500, "messages"), "residual": (0.06, "")},
    "shared_losses": {f"detected.{others}": (0.3 + 0.05 * others, "") for others in range(5)},
}
SERIES = {
    "received": ("deliveries", "false_negatives"),
    "source_fates": ("sent",),
    "fifo_order": ("violations",),
    "requests": ("requests", "repairs"),
    "receivers": ("received.narrow", "received.wide"),
    "stream_rates": ("publish_rate", "reading_rate.SB1", "reading_rate.SB2"),
    "doubt_horizon": ("doubt_rate_smooth.SB1", "doubt_rate_smooth.SB2"),
    "nack_window": ("nack_window.SB1", "nack_window.SB2"),
    "queue_lengths": ("queue_bytes.PB-IB",),
    "alerts": (
        *("alerts_normal", "alert_rate_sum_normal"),
        *("alerts_recovering", "alert_rate_sum_recovering"),
    ),
    "response": ("response_at_p", "response_at_rtt_ms", "response.rtt_10ms", "response.p_0.01"),
    "loss_events": ("loss_event_rate.ideal", "allowed_rate.ideal"),
    "adaptivity": ("pair_publications", "pair_out_of_order", "pair_violation_chance"),
}
SKETCHES: dict[str, dict[str, Sketch]] = {
    "delay_laws": {
        "delays.3": Bins(
            start=100, width=4, counts=[30, 50, 20, 9], above=1, law=[99, 0.3, 0.4, 0.5]
        ),
        "differences.3": Bins(start=-6, width=3, counts=[10, 40, 45, 14], law=[2.1]),
        "delays.5": Bins(start=205, width=5, counts=[10, 60, 40], law=[200, *[0.4] * 5]),
        "differences.5": Bins(start=-8, width=4, counts=[20, 35, 36, 18], law=[3.2]),
    },
    "pair_delays": {
        "pair_delays": Points(x=[110, 120.5, 400], y=[120.5, 130, 420], total=7000),
        "pair_differences.low": Bins(start=-2, width=1, counts=[50, 150, 160, 40], law=[0.8]),
        "pair_differences.high": Bins(start=-2, width=1, counts=[30, 70, 65, 35], law=[0.9]),
    },
}
LATCHES = ("pair_held", "pair_latch_mean_ms", "pair_latch_max_ms")


def made_up(id_: str, *, seeds: Sequence[int] = (1, 2), sets: Sequence[str] = ()) -> Result:
    """A quick result of an experiment of the catalogue that nobody ran."""
    source = find_experiment(id_)
    by_name = findings_of(id_, seeds)
    experiments = {
        variant: source.resolve("quick", variant, sets)[0] for variant in source.experiment.variants
    }
    return Result(
        id=source.experiment.id,
        profile="quick",
        seeds=list(seeds),
        trace_hash="ab" * 32,
        variants={name: estimates(own) for name, own in by_name.items()},
        expect=[
            judge_expectation(expectation, by_name, {})
            for expectation in source.experiment.expect
            if "quick" in expectation.profiles
        ],
        parameters={variant: parameters(e) for variant, e in experiments.items()},
        trace_hashes={f"{v}.{seed}": "cd" * 32 for v in experiments for seed in seeds},
        series={name: means([f.series for f in own]) for name, own in by_name.items()},
        quantiles={name: means([f.quantiles for f in own]) for name, own in by_name.items()},
        sketches={name: own[0].sketches for name, own in by_name.items()},
    )


def findings_of(id_: str, seeds: Sequence[int]) -> dict[str, list[Findings]]:
    """What the runs of such a result found, by name, one for each seed."""
    source = find_experiment(id_)
    names = result_names(source.experiment)
    return {name: [_findings(source, name, seed) for seed in seeds] for name in names}


def plain(names: Sequence[str], **extra: Any) -> Result:
    """Of an experiment that no family knows: a figure and a series of each name."""
    given: dict[str, Any] = {
        "id": "mine",
        "profile": "quick",
        "seeds": [1],
        "trace_hash": "ef" * 32,
        "variants": {
            name: estimates([Findings(figures={"noise": (float(place), "dB")})])
            for place, name in enumerate(names)
        },
        "expect": [],
        "parameters": {name: {"title": "something else"} for name in names},
        "series": {name: {"noise": [1.0, 2.0, 3.0]} for name in names},
    }
    return Result(**(given | extra))


def _findings(source: ExperimentFile, name: str, seed: int) -> Findings:
    experiment = source.experiment
    is_network = name in experiment.variants
    ordering = next((o for o in experiment.orderings if name in (o, f"{_head(name, o)}.{o}")), None)
    found = Findings(figures={}, series={}, quantiles={}, sketches={})
    for metric in experiment.measure.metrics:
        if is_network:
            _add(found, NETWORK.get(metric, {}), seed)
            found.sketches.update(SKETCHES.get(metric, {}))
            for series in SERIES.get(metric, ()):
                found.series[series] = [float(10 * second + seed) for second in range(6)]
        if ordering is not None:
            _add(found, ORDERING.get(metric, {}), seed)
            if metric == "adaptivity":
                found.series.update({latch: [0.0, 1.0, 2.0, 0.5] for latch in LATCHES})
            if metric == "requests":
                missed = [float(10 * second + seed) for second in range(6)]
                found.series["false_negatives"] = missed
            if metric == "late_drops":
                steps = [seed * share / 10 for share in range(101)]
                found.quantiles["extra_delay_pairs_ms"] = steps
    return found


def _add(found: Findings, figures: dict[str, tuple[float, str]], seed: int) -> None:
    for name, (value, unit) in figures.items():
        found.figures[name] = (value * (1 + 0.01 * seed), unit)


def _head(name: str, ordering: str) -> str:
    return name.removesuffix(f".{ordering}")
