"""Proofs that rates are ideal, which need not know how they were found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linprog

from tests.fairness.oracle import Edge, Oracle


def loads(oracle: Oracle, active: list[str], rates: Mapping[str, float], edge: Edge) -> list[float]:
    """Of each session on an edge the most that anyone below gets."""
    most: dict[str, float] = {}
    for k in active:
        if edge in oracle.path[k]:
            most[oracle.session[k]] = max(most.get(oracle.session[k], 0.0), rates[k])
    return list(most.values())


def most_unfair(oracle: Oracle, active: list[str], rates: Mapping[str, float]) -> float:
    """Max-min: each has an edge that is full, on which no session has more than it.

    How far from that is who is furthest, in parts; or how much too full an edge is.
    """
    worst = 0.0
    for k in active:
        excuse = 1.0
        for edge in oracle.path[k]:
            capacity = oracle.capacity[edge]
            if capacity is not None:
                found = loads(oracle, active, rates, edge)
                spare = float(capacity) - sum(found)
                worst = max(worst, -spare / float(capacity))
                excuse = min(excuse, max(spare / float(capacity), max(found) / rates[k] - 1))
        worst = max(worst, excuse)
    return worst


def gap(oracle: Oracle, active: list[str], rates: Mapping[str, float]) -> float:
    """Proportional: how far Σ log rate may be from the largest there can be.

    It is concave, so no other rates r' gain more than Σ (r' − r)/r, and a linear
    program says how large that gets: over rates, and the load of each session on
    each edge.
    """
    places = {k: at for at, k in enumerate(active)}
    rows, limits = [], []
    for edge, capacity in oracle.capacity.items():
        sessions = {oracle.session[k] for k in active if edge in oracle.path[k]}
        if capacity is None or not sessions:
            continue
        for name in sorted(sessions):
            places[f"{name} on {edge}"] = len(places)
        rows.append({places[f"{name} on {edge}"]: 1.0 for name in sessions})
        limits.append(float(capacity))
        for k in active:
            if edge in oracle.path[k]:
                rows.append({places[k]: 1.0, places[f"{oracle.session[k]} on {edge}"]: -1.0})
                limits.append(0.0)
    matrix = np.zeros((len(rows), len(places)))
    for at, row in enumerate(rows):
        matrix[at, list(row)] = list(row.values())
    weight = np.zeros(len(places))
    weight[: len(active)] = [-1.0 / rates[k] for k in active]
    found = linprog(weight, A_ub=matrix, b_ub=limits, method="highs")
    assert found.success
    return float(-found.fun) - len(active)
