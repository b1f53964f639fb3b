"""What a benchmark found, in the form programs read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TypeAlias

Note: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One figure; `goal` is the bound it should keep, written as people read it, e.g. `<= 4`."""

    case: str
    metric: str
    value: float
    unit: str
    goal: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """Figures of one benchmark, and ratios between them taken in the same run."""

    bench: str
    cases: list[Case]
    ratios: dict[str, float] = field(default_factory=dict)
    ratio_goals: dict[str, str] = field(default_factory=dict)
    # What was left out, and how to have it.
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """The documented shape of `penstock bench NAME --json`."""
        return {
            "bench": self.bench,
            "cases": [
                {"case": c.case, "metric": c.metric, "value": c.value, "unit": c.unit}
                for c in self.cases
            ],
            "ratios": self.ratios,
        }


def seconds_per_call(
    call: Callable[[], object], *, budget_s: float = 0.3, rounds: int = 5
) -> float:
    """The quietest of several timed rounds; noise only ever adds time."""
    number = 1
    while (spent := _timed(call, number)) < budget_s / rounds / 4 and number < 1 << 24:
        number *= max(2, min(10, int(budget_s / rounds / max(spent, 1e-9))))
    number = max(1, int(number * budget_s / rounds / max(spent, 1e-9)))
    return min(_timed(call, number) for _ in range(rounds)) / number


def _timed(call: Callable[[], object], number: int) -> float:
    start = perf_counter_ns()
    for _ in range(number):
        call()
    return (perf_counter_ns() - start) / 1e9
