"""One predicate for several that want messages of one pubend."""

from __future__ import annotations

from penstock.content.covering import minimal
from penstock.content.filter import Predicate
from penstock.content.limits import FILTERS_MAX
from penstock.guaranteed.stream_item import EVERYTHING


def union(predicates: list[Predicate]) -> Predicate:
    """What matches any of them, or more where that would be too long to say."""
    filters = minimal(f for predicate in predicates for f in predicate.filters)
    return Predicate(filters) if len(filters) <= FILTERS_MAX else EVERYTHING
