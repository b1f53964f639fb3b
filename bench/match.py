"""How fast the matching index is, against trying every filter.

For each number of filters: messages matched per second by the index and by its
naive twin, whose answers must be the same; what an add and a remove cost while
matching goes on; and how much memory a filter takes. Then the same for filters
of ranges only and of text only, which have no equality to look up.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from itertools import cycle
from time import perf_counter
from typing import Final

from bench.result import Case, Note, Result
from bench.workload import Workload
from penstock.content.filter import Predicate
from penstock.content.index import MatchingIndex, NaiveIndex
from penstock.content.message import Message
from penstock.kernel.seeds import Seeds

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
OTHER_SIZES: Final = {"range": (1_000, 10_000, 100_000), "string": (1_000, 10_000, 100_000)}
RATIO_GOALS: Final = {1_000: ">= 30", 10_000: ">= 150", 100_000: ">= 300"}
RATE_GOALS: Final = {1_000_000: ">= 500"}
MESSAGES: Final = 400
# The naive twin is timed on fewer messages, and not at all where one would take a second.
NAIVE_FILTERS_MAX: Final = 100_000
CHURN: Final = 2_000


def run(note: Note) -> Result:
    """Measures everything; takes about three minutes, most of it to build a million filters."""
    result = Result("match", [])
    for size in SIZES:
        _measure(result, note, "mixed", size)
    for mix, sizes in OTHER_SIZES.items():
        for size in sizes:
            _measure(result, note, mix, size)
    return result


def _measure(result: Result, note: Note, mix: str, size: int) -> None:
    name = f"{size:,}" if mix == "mixed" else f"{mix} {size:,}"
    note(f"{name} filters: building")
    workload = Workload(Seeds(1), mix)
    predicates = [Predicate([f]) for f in workload.filters(size)]
    messages = workload.messages(MESSAGES)
    index: MatchingIndex[int] = MatchingIndex()
    start = perf_counter()
    for i, predicate in enumerate(predicates):
        index.add(i, predicate)
    cases = result.cases
    cases.append(Case(name, "build, per filter", (perf_counter() - start) / size * 1e6, "µs"))

    note(f"{name} filters: matching")
    fast = _seconds_per_message(index.match, messages)
    answers = [index.match(message) for message in messages]
    found = sum(map(len, answers)) / len(messages)
    cases.append(Case(name, "index", 1 / fast, "messages/s", RATE_GOALS.get(size, "")))
    cases.append(Case(name, "matches per message", found, ""))
    if size <= NAIVE_FILTERS_MAX:
        naive: NaiveIndex[int] = NaiveIndex()
        for i, predicate in enumerate(predicates):
            naive.add(i, predicate)
        some = messages[: max(4, min(MESSAGES, 400_000 // size))]
        slow = _seconds_per_message(naive.match, some, rounds=3)
        for message, answer in zip(some, answers, strict=False):
            assert sorted(answer) == naive.match(message), "the index and its twin differ"
        cases.append(Case(name, "naive", 1 / slow, "messages/s"))
        result.ratios[f"{name}: index/naive"] = slow / fast
        if mix == "mixed":
            result.ratio_goals[f"{name}: index/naive"] = RATIO_GOALS[size]

    note(f"{name} filters: adding and removing")
    _churn(cases, name, index, workload, messages)
    if mix == "mixed":
        note(f"{name} filters: weighing")
        cases.append(Case(name, "memory per filter", _bytes_per_filter(predicates), "B", "<= 1000"))


def _seconds_per_message(
    match: Callable[[Message], object], messages: list[Message], rounds: int = 7
) -> float:
    match(messages[0])
    return min(_timed(lambda: [match(m) for m in messages]) for _ in range(rounds)) / len(messages)


def _churn(
    cases: list[Case],
    name: str,
    index: MatchingIndex[int],
    workload: Workload,
    messages: list[Message],
) -> None:
    """New filters come and go, a message matched between each two."""
    newcomers = [Predicate([f]) for f in workload.filters(CHURN)]
    stream = cycle(messages)
    first = len(index)
    adding = removing = 0.0
    for i, predicate in enumerate(newcomers):
        start = perf_counter()
        index.add(first + i, predicate)
        adding += perf_counter() - start
        index.match(next(stream))
    for i in range(CHURN):
        start = perf_counter()
        index.remove(first + i)
        removing += perf_counter() - start
        index.match(next(stream))
    cases.append(Case(name, "add while matching", adding / CHURN * 1e6, "µs", "<= 50"))
    cases.append(Case(name, "remove while matching", removing / CHURN * 1e6, "µs", "<= 50"))


def _bytes_per_filter(predicates: list[Predicate]) -> float:
    """What the index itself takes; the predicates are there already and shared."""
    some = predicates[:100_000]
    gc.collect()
    tracemalloc.start()
    index: MatchingIndex[int] = MatchingIndex()
    for i, predicate in enumerate(some):
        index.add(i, predicate)
    used, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / len(some)


def _timed(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start
