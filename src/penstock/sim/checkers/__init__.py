"""Checkers: what must hold in every run, watched from outside. One file each.

`watch.Watch` puts them around a network and collects what they object to;
`docs/swarm.md` says how to add one.
"""

from collections.abc import Callable
from typing import Final

from penstock.sim.checkers.base import Checker
from penstock.sim.checkers.broker_bounds import Tables
from penstock.sim.checkers.conservation import Conservation
from penstock.sim.checkers.convergence import Agreement
from penstock.sim.checkers.counter_accuracy import Counting
from penstock.sim.checkers.crossings import Crossings
from penstock.sim.checkers.encoding import Encoding
from penstock.sim.checkers.no_duplicates import Once
from penstock.sim.checkers.no_false_negatives import Complete
from penstock.sim.checkers.only_matching import Exact

# In the order in which they are told and asked.
ALL: Final[tuple[Callable[[], Checker], ...]] = (
    Exact,
    Once,
    Encoding,
    Crossings,
    Complete,
    Tables,
    Conservation,
    Counting,
    Agreement,
)
