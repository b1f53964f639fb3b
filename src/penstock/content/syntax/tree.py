"""The syntax tree of a filter, before it is normalised.

`true` is the conjunction of nothing, `false` the disjunction of nothing; `at` is the position in
the text where the node begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.content.constraint import Constraint


@dataclass(frozen=True, slots=True)
class Leaf:
    """One constraint."""

    constraint: Constraint
    at: int


@dataclass(frozen=True, slots=True)
class Negation:
    """`not child`."""

    child: Node
    at: int


@dataclass(frozen=True, slots=True)
class Conjunction:
    """All of the children."""

    children: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Any of the children."""

    children: tuple[Node, ...]
    at: int


Node: TypeAlias = Leaf | Negation | Conjunction | Disjunction
