"""How many packets a second the simulator carries over a hop.

A chain of 8 routers, 50 flows of 1000 packets a second, 284 bytes each, and
drop-tail queues; the last link is too narrow, so that the queue is full and
drops. A packet-hop is a packet that a link took.

    links     bare functions that forward, the same with jitter and loss on each
              link, and hosts that each drive a machine; packets are numbers
    brokers   the overlay's brokers, which find destinations and match filters
    tracing   the same, recorded
    in_simpy  the chain as SimPy's documentation would write it
    ns3       the chain in ns-3, which builds real IP packets

Bare links, hosts and SimPy must deliver and drop the very same packets; brokers
and ns-3 say in their own modules what they do besides.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, TypeAlias

from bench.result import Case, Note, Result
from bench.sim import ns3
from bench.sim.brokers import NEW_MESSAGES, BrokerChain
from bench.sim.chain import CHANCY, PLAIN, SPAN_NS
from bench.sim.in_simpy import in_simpy
from bench.sim.links import over_hosts, over_links
from bench.sim.tracing import TracedChain
from penstock.kernel.instant import Duration

ROUNDS: Final = 3
# A broker does some thirty times what a bare link does, so chains of them run for shorter, but
# in more turns: what is to be told apart is a few per cent.
BROKER_SPAN_NS: Final = SPAN_NS // 10
TURNS: Final = 4

# Packet-hops, packets that came through, and how long it took.
Outcome: TypeAlias = tuple[int, int, float]
Simulation: TypeAlias = Callable[[], Outcome]

LINKS: Final = "bare links"
CHANCY_LINKS: Final = "links with jitter and loss"
HOSTS: Final = "hosts with machines"
SIMPY: Final = "SimPy"
NS3: Final = "ns-3"
BROKERS: Final = "brokers, 1000 filters"
NEW_BROKERS: Final = "brokers, every message new"
TRACED: Final = "brokers, traced, nothing kept"
RETAINED: Final = "brokers, traced into files"

SAME_PACKETS: Final = (LINKS, HOSTS, SIMPY)
CASE_GOALS: Final = {LINKS: ">= 500000"}
RATIOS: Final = (
    (LINKS, SIMPY, ">= 6"),
    (LINKS, NS3, ">= 3"),
    (BROKERS, NS3, ">= 0.5"),
)


def run(note: Note) -> Result:
    """Measures each way in turn, several times, and keeps the quickest: noise only adds time."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        left_out: list[str] = []
        simple = {**links(), **peers(directory, note, left_out)}
        rates, found = _measure(simple, brokers(directory, note), note)
    same = {name: found[name] for name in SAME_PACKETS if name in found}
    assert len(set(same.values())) == 1, f"the same chain gave different results: {same}"
    result = Result("sim", [], notes=left_out)
    for name, rate in rates.items():
        goal = CASE_GOALS.get(name, "")
        result.cases.append(Case(name, "speed", rate, "packet-hops/s", goal))
    for name in (TRACED, RETAINED):
        extra = (rates[BROKERS] / rates[name] - 1) * 100
        result.cases.append(Case(name, "tracing extra", extra, "%", "<= 25"))
    for one, other, goal in RATIOS:
        if other in rates:
            key = f"{one}/{other}"
            result.ratios[key] = rates[one] / rates[other]
            result.ratio_goals[key] = goal
    return result


def links() -> dict[str, Simulation]:
    """Our own links and hosts, which know no protocol."""
    return {
        LINKS: _timed(partial(over_links, PLAIN), SPAN_NS),
        CHANCY_LINKS: _timed(partial(over_links, CHANCY), SPAN_NS),
        HOSTS: _timed(over_hosts, SPAN_NS),
    }


def peers(directory: Path, note: Note, left_out: list[str]) -> dict[str, Simulation]:
    """The other simulators that this machine has; programs are compiled into `directory`."""
    ways: dict[str, Simulation] = {}
    if find_spec("simpy") is None:
        left_out.append("SimPy is not installed: its case is left out")
    else:
        ways[SIMPY] = _timed(in_simpy, SPAN_NS)
    note("compiling for ns-3")
    try:
        program = ns3.build(directory)
    except ns3.Ns3MissingError as error:
        left_out.append(f"ns-3 is left out: {error}; to install it: {ns3.HOW_TO_INSTALL}")
    else:
        ways[NS3] = partial(_in_ns3, program)
    return ways


def brokers(directory: Path, note: Note) -> dict[str, Simulation]:
    """Chains of brokers, built and warmed up here; traces are written into `directory`."""
    note("brokers learn what their clients want")
    runs = {
        BROKERS: BrokerChain().run,
        TRACED: TracedChain(None).run,
        RETAINED: TracedChain(directory / "traces").run,
        NEW_BROKERS: BrokerChain(messages=NEW_MESSAGES).run,
    }
    return {name: _timed(way, BROKER_SPAN_NS) for name, way in runs.items()}


def _measure(
    simple: dict[str, Simulation], others: dict[str, Simulation], note: Note
) -> tuple[dict[str, float], dict[str, tuple[int, int]]]:
    """The best rate of each way, and what it carried; the others take turns more often."""
    ways = {**simple, **others}
    best = dict.fromkeys(ways, 0.0)
    found: dict[str, tuple[int, int]] = {}
    for number in range(ROUNDS):
        for name in [*simple, *list(others) * TURNS]:
            note(f"{name}: round {number + 1} of {ROUNDS}")
            gc.collect()  # what one way left behind, another should not pay for
            hops, arrived, spent_s = ways[name]()
            found[name] = hops, arrived
            best[name] = max(best[name], hops / spent_s)
    return best, found


def _timed(simulate: Callable[[Duration], tuple[int, int]], span_ns: Duration) -> Simulation:
    def timed() -> Outcome:
        start = perf_counter()
        hops, arrived = simulate(span_ns)
        return hops, arrived, perf_counter() - start

    return timed


def _in_ns3(program: Path) -> Outcome:
    found = ns3.simulate(program, SPAN_NS)
    return found.hops, found.arrived, found.spent_s
