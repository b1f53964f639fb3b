"""What was written, before it is put into normal form.

`true` is the conjunction of nothing, `false` the disjunction of nothing; `at` is
where the node begins in the text.
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
