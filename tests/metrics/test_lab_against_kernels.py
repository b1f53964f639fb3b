"""Kernels find in kept traces what the lab's metrics saw during the runs.

Compares all figures, series and quantiles that both have, in every variant of every quick
profile. `EXCEPTIONS` lists the known differences; once one is gone, so must be its entry.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from math import isclose
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pytest

from penstock.lab.experiment import Experiment
from penstock.lab.experiment_files import catalogue
from penstock.lab.result import Result
from penstock.lab.result_names import result_name
from tests.metrics.compare_results import gold_rows
from tests.quick_profiles import QuickRun, QuickRuns, is_in_pipeline

TOLERANCE: Final = 1e-12
# Kernels read quantiles over messages from bins of 0.1 ms; quantiles over pairs are exact.
FROM_BINS: Final = re.compile(r"(|delivery_|repaired_)delay_p\d+|request_to_repair_p\d+")
HALF_A_BIN_MS: Final = 0.05

# Names that are the kernels' for a metric of the lab.
RENAMED: Final = {
    "flow_table": ["flow_table_mean"],
    "missed_deliveries": ["false_negatives"],
    "missed_ratio": ["false_negative_ratio"],
    "publications": ["publications", "sent"],
    "extra_delay_pairs_ms": ["extra_delay_mean"],
}
# The lab reports these for the network, kernels for its only ordering.
OF_THE_ORDERING: Final = re.compile(
    r"missed_deliveries|missed_ratio|repaired|(delivery|repaired)_delay_.*"
)


class Known(NamedTuple):
    """A known difference."""

    # In the specification of the metrics.
    number: str
    reason: str
    experiments: frozenset[str]


_WITH_CONTROL: Final = frozenset(
    {"C-1", "M-5.9", "M-5.10", "M-5.11", "M-5.12", "M-5.14", "M-5.17", "demo"}
)
_D3: Final = Known(
    "D3",
    "the lab averages the use of all samples, kernels divide bits sent by bits possible",
    frozenset({"M-5.10", "M-5.11"}),
)
_D4: Final = Known(
    "D4",
    "the lab leaves out the drain, and receivers that got nothing; kernels count both",
    frozenset({"C-1", "M-5.11", "M-5.14", "M-5.17", "demo"}),
)
_D8: Final = Known(
    "D8",
    "without requests or repairs the lab has no figure; kernels report 0",
    frozenset({"M-4.5", "M-5.17", "demo"}),
)
_D10: Final = Known(
    "D10",
    "the lab counts rows by instant, warm-up included; kernels distinct flows by second",
    _WITH_CONTROL,
)
_D11: Final = Known(
    "D11",
    "the figure counts messages offered, although the series of this name counts those sent",
    _WITH_CONTROL,
)
# Figures only.
EXCEPTIONS: Final[Mapping[str, Known]] = {
    "bottleneck_use": _D3,
    "jain": _D4,
    "requests": _D8,
    "messages_asked_for": _D8,
    "repairs": _D8,
    "messages_repaired": _D8,
    "recovery_bytes": _D8,
    "flow_table as flow_table_mean": _D10,
    "publications as sent": _D11,
}
# Some of the metrics that are compared, and not only zeros.
COMPARED: Final = {
    "M-3.11": {
        *("violations", "violations_removed", "descents", "inversions", "held_share"),
        *("false_negatives", "loss_precision", "loss_recall", "extra_delay_pairs_p90"),
        "extra_delay_pairs_ms as extra_delay_mean",
    },
    "M-4.5": {
        *("missed_deliveries as false_negatives", "repaired", "header_bytes", "recovery_bytes"),
        *("requests_not_duplicated", "repairs_not_duplicated", "hit_ratio", "cache_limit_max"),
        *("delivery_delay_mean", "repaired_delay_p80", "request_to_repair_p80", "requests"),
    },
    "M-5.9": {
        *("publications", "deliveries", "sent", "rate_limited", "dropped_at_source", "jain"),
        *("feedback_rate", "ack_rate", "bottleneck_use", "queue_full_packets", "queue_max"),
        "received.subscribers-1",
    },
}

NETWORK: Final = ""
# One of a figure, one of each second, or one of each percentile.
Numbers: TypeAlias = Sequence[float]
KINDS: Final = ("figures", "series", "quantiles")


class Place(NamedTuple):
    """One result name of the lab."""

    variant: str
    result: str
    # Orderings of the kernels that it stands for; the first that has a metric counts.
    orderings: tuple[str, ...]

    @property
    def is_network(self) -> bool:
        return NETWORK in self.orderings


class Pair(NamedTuple):
    """One metric in one place; None where it is lacking."""

    kind: str
    metric: str
    # Also the kernels' name, if it is another.
    name: str
    place: Place
    lab: Numbers | None
    kernels: Numbers | None

    @property
    def differs(self) -> bool:
        return next(self._differences(), None) is not None

    def __str__(self) -> str:
        example = next(self._differences(), "equal")
        return f"{self.place.result}: {self.kind} {self.name}: {example}"

    def _differences(self) -> Iterator[str]:
        near = HALF_A_BIN_MS if FROM_BINS.fullmatch(self.metric) else 0.0
        both = zip_longest(self.lab or (), self.kernels or ())
        for place, (one, other) in enumerate(both):
            if None in (one, other) or not isclose(one, other, rel_tol=TOLERANCE, abs_tol=near):
                yield f"[{place}] {one} in the lab, {other} by kernels"


class Kernels:
    """What kernels find in one run."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        # By kind, ordering and metric.
        self._found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        kinds = {"figures": "figures", "seconds": "series", "pairs": "quantiles"}
        for row in rows:
            if row["table"] in kinds:
                key = kinds[row["table"]], row["ordering"], row["metric"]
                self._found[key].append(row["value"])

    def numbers(self, kind: str, metric: str, orderings: Iterable[str]) -> Numbers | None:
        for ordering in orderings:
            found = self._found.get((kind, ordering, metric))
            if found is not None and kind == "quantiles":
                return list(np.quantile(found, np.linspace(0, 1, 101)))
            if found is not None:
                return found
        return None


def places_of(experiment: Experiment, variant: str) -> list[Place]:
    """All result names of a run; an ordering may share its name with the network."""
    found: dict[str, tuple[str, ...]] = {}
    for ordering in (*experiment.orderings, None):
        name = result_name(experiment, variant, ordering)
        found[name] = (*found.get(name, ()), ordering or NETWORK)
    return [Place(variant, name, orderings) for name, orderings in found.items()]


def lab_numbers(result: Result, kind: str, name: str) -> dict[str, Numbers]:
    """All metrics of one kind under one result name."""
    if kind == "figures":
        return {metric: [value] for metric, value in result.figures.get(f"{name}.1", {}).items()}
    return dict((result.series if kind == "series" else result.quantiles).get(name, {}))


def pairs_of(run: QuickRun) -> Iterator[Pair]:
    """All metrics that both have for the network, or for orderings, in any variant."""
    experiment = run.experiment
    kernels = {variant: Kernels(gold_rows(run.traces, id_)) for variant, id_ in run.runs.items()}
    everywhere = [place for variant in run.runs for place in places_of(experiment, variant)]
    for kind in KINDS:
        for is_network in (True, False):
            places = [place for place in everywhere if place.is_network is is_network]
            lab = {place: lab_numbers(run.result, kind, place.result) for place in places}
            metrics = dict.fromkeys(metric for own in lab.values() for metric in own)
            for metric, theirs in ((m, t) for m in metrics for t in RENAMED.get(m, [m])):
                is_of_ordering = is_network and OF_THE_ORDERING.fullmatch(metric)
                found = {
                    place: kernels[place.variant].numbers(
                        kind, theirs, experiment.orderings if is_of_ordering else place.orderings
                    )
                    for place in places
                }
                if any(numbers is not None for numbers in found.values()):
                    name = metric if theirs == metric else f"{metric} as {theirs}"
                    for place in places:
                        yield Pair(kind, metric, name, place, lab[place].get(metric), found[place])


EXPERIMENTS: Final = [
    id_ for id_, source in catalogue().items() if is_in_pipeline(source.experiment)
]


@pytest.mark.parametrize("id_", EXPERIMENTS)
def test_kernels_find_what_the_lab_saw(id_: str, quick_run: QuickRuns) -> None:
    pairs = list(pairs_of(quick_run(id_)))
    # One example of each is enough.
    differences = {(p.kind, p.name): str(p) for p in reversed(pairs) if p.differs}
    known = {("figures", name) for name, own in EXCEPTIONS.items() if id_ in own.experiments}
    assert [text for key, text in differences.items() if key not in known] == []
    assert known - differences.keys() == set(), "no longer different: remove it from EXCEPTIONS"
    compared = {pair.name for pair in pairs if pair.lab and any(pair.lab)}
    assert compared
    assert compared >= COMPARED.get(id_, set())


def test_every_exception_shows_in_experiments_that_are_run() -> None:
    for name, known in EXCEPTIONS.items():
        assert known.experiments, name
        assert known.experiments <= {*EXPERIMENTS}, name
