"""How many ask, and how many answer, when very many lose the same message.

A group of so many subscribers never gets a message; half as many others do. All run the
real machines, on a network that carries every frame to everyone, each after a
delay of its own:

    tree    members hang on the routers of a random tree, 5 to 200 ms from one another:
            who is close to another hears it early, and holds its peace
    star    everyone is 100 ms from everyone: nothing but chance tells who is first

    publisher answers    as it does by default
    publisher is gone    its messages are asked for, and hundreds of others could answer

Each case is seen cold, at the first loss ever, and warm, after twenty that the same
members shared. A run is new members on a new tree; the time is from when the message
left until the last of the group has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Final

from bench.repair_storm.group import (
    DEFAULT,
    LITERAL,
    LITERAL_WITH_PUBLISHER,
    Outcome,
    StormCase,
    StormGroup,
)
from bench.result import Case, Note, Result
from penstock.kernel.instant import SECOND
from penstock.kernel.seeds import Seeds

SIZES: Final = (10, 100, 1_000, 10_000)
WARM_AFTER: Final = 20
# New groups per size; what is large takes long.
RUNS: Final = {10: 40, 100: 20, 1_000: 4, 10_000: 1}
# On a star SRM's timers silence hardly anyone, which takes an hour to see for thousands.
STAR_SIZES: Final = (1_000,)
GOALS: Final = {("requests", "mean"): "<= 10", ("repairs", "mean"): "<= 5"}
GOAL_SIZE: Final = 1_000


def run(note: Note) -> Result:
    """Every case, cold and warm; a quarter of an hour."""
    cases = []
    for case in storm_cases():
        cases += measure(note, case, runs_of(case), losses_of(case))
    return Result(
        "storm",
        cases,
        notes=[
            "requests and repairs are for one loss that so many share;"
            " it is repaired when the last of them has the message"
        ],
    )


def measure(note: Note, case: StormCase, runs: int, losses: int) -> list[Case]:
    """So many groups, each of which loses so many messages one after another."""
    cold, warm = [], []
    for number in range(runs):
        outcomes: list[Outcome] = []
        place = f"{case.name}: group {number + 1} of {runs}"
        # A large group takes its time to be built, and one loss of it may take minutes.
        note(place)
        group = StormGroup(case, Seeds(number), on_progress=partial(_note_progress, note, place))
        for outcome in group.losses(losses):
            outcomes.append(outcome)
            note(f"{place}, loss {len(outcomes)} of {losses}")
        cold.append(outcomes[0])
        warm += outcomes[WARM_AFTER:]
    has_goals = case.size == GOAL_SIZE and case.settings is DEFAULT
    cases = figures(f"{case.name}, cold", cold, has_goals=has_goals)
    return cases + (figures(f"{case.name}, warm", warm, has_goals=has_goals) if warm else [])


def _note_progress(note: Note, place: str, text: str) -> None:
    note(f"{place}, {text}")


def runs_of(case: StormCase) -> int:
    """What storms takes long to see."""
    return RUNS[case.size] if case.settings is DEFAULT else max(1, RUNS[case.size] // 2)


def losses_of(case: StormCase) -> int:
    """Cold, and then warm; but SRM among ten thousand takes minutes for the first already."""
    is_slow = case.settings is not DEFAULT and case.size > GOAL_SIZE
    return 1 if is_slow else 1 + WARM_AFTER


def storm_cases() -> Iterator[StormCase]:
    """All that are compared, the quick ones first."""
    for size in SIZES:
        for answers in (True, False):
            yield StormCase(size=size, publisher_answers=answers)
            literal = LITERAL_WITH_PUBLISHER if answers else LITERAL
            yield StormCase(size=size, settings=literal, publisher_answers=answers)
    for size in STAR_SIZES:
        for answers in (True, False):
            yield StormCase(size=size, publisher_answers=answers, is_star=True)


def figures(name: str, outcomes: Sequence[Outcome], *, has_goals: bool) -> list[Case]:
    """What one case came to."""
    cases = []
    for metric in ("requests", "repairs"):
        values = [getattr(outcome, metric) for outcome in outcomes]
        for how, value in (("mean", fmean(values)), ("most", max(values))):
            goal = GOALS.get((metric, how), "") if has_goals else ""
            cases.append(Case(name, f"{metric}, {how}", value, "a loss", goal))
    last_s = fmean(outcome.spent_ns for outcome in outcomes) / SECOND
    cases.append(Case(name, "last repaired", last_s, "s"))
    given_up = sum(outcome.given_up for outcome in outcomes)
    if given_up:
        cases.append(Case(name, "given up", given_up, "members", "<= 0"))
    return cases
