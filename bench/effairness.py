"""How long it takes to judge a large network by the effair ideal, and how that grows.

A random tree of hosts, each below one chosen at random, and as many of them however
many receivers there are, so that ways are as long. Sessions begin at the root and
have ten receivers each, anywhere in the tree. A link lets through about as much as
sessions use it, so that many fill up, and everybody is in everybody's way.

Growth with receivers is measured at a fixed number of distinct times at which anyone
joins or has all its data. To have just so many, the times come first: who joins and
who is to finish when is drawn, and amounts are what the ideal then gives. Growth with
the number of times is measured apart, at one size.

    compiled       the loops compiled by numba, which itself is not timed
    plain          the same loops as they are written
    proportional   the other ideal, compiled

What is timed begins with a described network and ends with indices.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from math import inf
from time import process_time
from typing import Final, TypeAlias

import numpy as np

from bench.result import Case, Note, Result
from penstock.fairness.arrays import Floats, Ints
from penstock.fairness.contention import contention_of
from penstock.fairness.effair import Allocation
from penstock.fairness.effairness import effairness
from penstock.fairness.maxmin import MaxMin
from penstock.fairness.network import Link, Network, Receiver, Sender, Session
from penstock.fairness.proportional import Proportional
from penstock.fairness.routes import Plan, streams_of
from penstock.kernel.seeds import Seeds

TIMES: Final = 100
RECEIVERS: Final = (100, 1_000, 10_000, 100_000)
PLAIN_RECEIVERS: Final = (100, 1_000, 10_000)
PROPORTIONAL_RECEIVERS: Final = (100, 1_000, 10_000)
# Growth with the number of times, of so many receivers.
GROWING_TIMES: Final = (20, 200, 2_000)
FIXED_RECEIVERS: Final = 2_000

RECEIVERS_PER_SESSION: Final = 10
HOSTS: Final = 1_000
DELAY_MAX: Final = 20
# From one of the distinct times to the next.
INTERVAL: Final = 100.0
# Runs shorter than this are repeated, and the quickest counts: noise only adds time.
QUICK_S: Final = 20.0
ROUNDS: Final = 3
NEAR_LINEAR: Final = "<= 1.2"

MakeAllocation: TypeAlias = Callable[[], Allocation]
COMPILED: Final[MakeAllocation] = partial(MaxMin, work_min=0)
PLAIN: Final[MakeAllocation] = partial(MaxMin, work_min=inf)
PROPORTIONAL: Final[MakeAllocation] = partial(Proportional, work_min=0)


@dataclass(frozen=True, slots=True)
class Workload:
    """A network, and when each receiver is to finish by the ideal."""

    network: Network
    finish: Floats


def run(note: Note) -> Result:
    """Each size in turn, for each way of doing it."""
    result = Result("effairness", [])
    if find_spec("numba") is None:
        result.notes.append("numba is not installed: what is called compiled is plain")
    note("compiling")
    for allocation in (COMPILED, PROPORTIONAL):
        effairness(workload(100, 10, allocation()).network, allocation())
    spent = _sizes(result, note, "compiled", RECEIVERS, COMPILED)
    plain = _sizes(result, note, "plain", PLAIN_RECEIVERS, PLAIN)
    _sizes(result, note, "proportional", PROPORTIONAL_RECEIVERS, PROPORTIONAL)
    _times(result, note)
    largest = PLAIN_RECEIVERS[-1]
    result.ratios[f"plain/compiled, {largest:,} receivers"] = plain[largest] / spent[largest]
    return result


def workload(receivers: int, times: int, allocation: Allocation) -> Workload:
    """As many distinct times of joining as of finishing, `times` in all, by this ideal."""
    chance = Seeds(1).generator("effairness", str(receivers), str(times))
    network, shift = _tree(receivers, chance)
    network = _narrowed(network, chance)
    half = times // 2
    joins = chance.permutation(np.arange(receivers) % half)
    ends = half + chance.permutation(np.arange(receivers) % half)
    data = _data(network, joins, ends, times, allocation)
    # At a host something happens as much later as its data take to come there.
    finish = ends * INTERVAL + shift
    slower = chance.uniform(1.0, 2.0, receivers)
    columns = zip(joins * INTERVAL + shift, finish, slower, data, strict=True)
    facts = ((float(j), float(j + (f - j) * s), float(d)) for j, f, s, d in columns)
    sessions = tuple(
        replace(session, receivers=tuple(
            replace(receiver, join=join, leave=leave, data=amount)
            for receiver, (join, leave, amount) in zip(session.receivers, facts, strict=False)
        ))
        for session in network.sessions
    )  # fmt: skip
    return Workload(Network(network.links, sessions), finish)


def seconds(network: Network, make_allocation: MakeAllocation) -> float:
    """How long the processor takes for one judgement; what others do does not count."""
    best = inf
    for _ in range(ROUNDS):
        gc.collect()
        start = process_time()
        effairness(network, make_allocation())
        best = min(best, process_time() - start)
        if best > QUICK_S:
            break
    return best


def growth(spent: dict[int, float]) -> float:
    """The exponent of the power law that fits times by size best."""
    sizes, times = np.log(list(spent)), np.log(list(spent.values()))
    return float(np.polyfit(sizes, times, 1)[0])


def _sizes(
    result: Result, note: Note, name: str, sizes: tuple[int, ...], make_allocation: MakeAllocation
) -> dict[int, float]:
    spent = {}
    for size in sizes:
        note(f"{name}: {size:,} receivers")
        network = workload(size, TIMES, make_allocation()).network
        spent[size] = seconds(network, make_allocation)
        result.cases.append(Case(f"{name}, {size:,} receivers", "time", spent[size], "s"))
        if name == "compiled":
            memory = _memory_mb(network, make_allocation)
            result.cases.append(Case(f"{name}, {size:,} receivers", "memory", memory, "MB"))
    _grown(result, name, "receivers", spent, NEAR_LINEAR if name == "compiled" else "")
    return spent


def _times(result: Result, note: Note) -> None:
    spent = {}
    for times in GROWING_TIMES:
        note(f"{times:,} times")
        spent[times] = seconds(workload(FIXED_RECEIVERS, times, COMPILED()).network, COMPILED)
        case = f"compiled, {FIXED_RECEIVERS:,} receivers at {times:,} times"
        result.cases.append(Case(case, "time", spent[times], "s"))
    _grown(result, "compiled", "times", spent, "")


def _grown(result: Result, name: str, what: str, spent: dict[int, float], goal: str) -> None:
    """Over the whole range, and at its upper end, where fixed costs do not hide it."""
    last = dict(list(spent.items())[-2:])
    for part, bound in ((spent, goal), (last, goal)):
        case = f"{name}, {min(part):,} to {max(part):,} {what}"
        result.cases.append(Case(case, "growth", growth(part), "exponent", bound))


def _memory_mb(network: Network, make_allocation: MakeAllocation) -> float:
    """The most that is in use at once, beyond the network itself."""
    gc.collect()
    tracemalloc.start()
    effairness(network, make_allocation())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def _tree(receivers: int, chance: np.random.Generator) -> tuple[Network, Floats]:
    """A network whose links let everything through, and the delay to each receiver."""
    count = max(1, receivers // RECEIVERS_PER_SESSION)
    links = []
    delay = np.zeros(HOSTS)
    for host in range(1, HOSTS):
        # One link at the root, which all sessions share.
        above = int(chance.integers(min(1, host - 1), host))
        far = int(chance.integers(1, DELAY_MAX))
        delay[host] = delay[above] + far
        links.append(Link(start=f"h{above}", end=f"h{host}", delay=far))
    place = chance.integers(1, HOSTS, receivers)
    parts = np.array_split(np.arange(receivers), count)
    sessions = tuple(_session(number, part, place) for number, part in enumerate(parts))
    return Network(tuple(links), sessions), delay[place]


def _session(number: int, part: Ints, place: Ints) -> Session:
    members = tuple(
        Receiver(id=f"r{r}", host=f"h{place[r]}", join=0.0, leave=1.0, data=1.0) for r in part
    )
    return Session(id=f"s{number}", sender=Sender(host="h0"), receivers=members)


def _narrowed(network: Network, chance: np.random.Generator) -> Network:
    """Each link lets through half to twice as much as sessions use it."""
    used = np.bincount(streams_of(network, Plan(network)).link, minlength=len(network.links))
    capacity = np.maximum(used, 1) * chance.uniform(0.5, 2.0, len(used))
    pairs = zip(network.links, capacity.tolist(), strict=True)
    return Network(tuple(replace(link, capacity=c) for link, c in pairs), network.sessions)


def _data(network: Network, joins: Ints, ends: Ints, times: int, allocation: Allocation) -> Floats:
    """What each receiver gets between two of the distinct times."""
    streams = streams_of(network, Plan(network))
    contention = contention_of(network, streams, [True] * len(joins))
    data = contention.bound * (ends - joins) * INTERVAL
    for block in contention.blocks():
        ideal = allocation.on(block)
        got = np.zeros(len(block.receivers))
        begin, end = joins[block.receivers], ends[block.receivers]
        for now in range(times):
            active = np.flatnonzero((begin <= now) & (now < end))
            if len(active):
                got[active] += ideal.rates(active) * INTERVAL
        data[block.receivers] = got
    return data
