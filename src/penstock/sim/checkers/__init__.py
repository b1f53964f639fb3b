"""Checkers: invariants of every run, observed from outside. One file each.

`checker_runner.CheckerRunner` attaches them to a network and collects their violations;
`docs/swarm.md` says how to add one.
"""

from collections.abc import Callable
from typing import Final

from penstock.sim.checkers.base import Checker
from penstock.sim.checkers.broker_bounds import BrokerBounds
from penstock.sim.checkers.conservation import Conservation
from penstock.sim.checkers.convergence import Convergence
from penstock.sim.checkers.counter_accuracy import CounterAccuracy
from penstock.sim.checkers.crossings import Crossings
from penstock.sim.checkers.encoding import Encoding
from penstock.sim.checkers.no_duplicates import NoDuplicates
from penstock.sim.checkers.no_false_negatives import NoFalseNegatives
from penstock.sim.checkers.only_matching import OnlyMatching

# In the order in which they are called.
ALL: Final[tuple[Callable[[], Checker], ...]] = (
    OnlyMatching,
    NoDuplicates,
    Encoding,
    Crossings,
    NoFalseNegatives,
    BrokerBounds,
    Conservation,
    CounterAccuracy,
    Convergence,
)
