"""Checkers: what must hold in every run, watched from outside. One file each.

`watch.Watch` puts them around a network and collects what they object to;
`docs/swarm.md` says how to add one.
"""

from collections.abc import Callable
from typing import Final

from penstock.sim.checkers.agreement import Agreement
from penstock.sim.checkers.base import Checker
from penstock.sim.checkers.complete import Complete
from penstock.sim.checkers.conservation import Conservation
from penstock.sim.checkers.counting import Counting
from penstock.sim.checkers.crossings import Crossings
from penstock.sim.checkers.encoding import Encoding
from penstock.sim.checkers.exact import Exact
from penstock.sim.checkers.once import Once
from penstock.sim.checkers.tables import Tables

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
