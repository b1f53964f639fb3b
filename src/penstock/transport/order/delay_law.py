"""The law of delay differences: the sum of two Laplacians of one scale.

Everything here is in units of the scale b: the law is linear in it. Two messages
that cross the same brokers within a short time differ in delay by X with

    P(X > u·b) = (2 + u)/4 · exp(−u)        for u ≥ 0,

and symmetrically below 0. Does not know samples: `delay_estimator` estimates b.
"""

from __future__ import annotations

from math import exp, log
from typing import Final

_PRECISION: Final = 1e-13


def tail(u: float) -> float:
    """P(X > u·b), for u ≥ 0."""
    return (2 + u) / 4 * exp(-u)


def tail_quantile(p: float) -> float:
    """[F1] Return the u ≥ 0 with P(X > u·b) = p; 0 if p ≥ 0.5.

    Newton's method on u − ln((2 + u)/4) + ln p, which is increasing and convex for u ≥ 0;
    the solution is the branch W₋₁ of Lambert's function.
    """
    if p >= 0.5:
        return 0.0
    target = -log(p)
    # The iteration u = target + ln((2 + u)/4) converges; two steps give a good start.
    u = target + log((2 + target) / 4)
    while True:
        step = (u - log((2 + u) / 4) - target) * (2 + u) / (1 + u)
        u -= step
        if -_PRECISION * target < step < _PRECISION * target:
            return u


def tail_quantile_as_printed(p: float) -> float:
    """Return the paper's formula (3.5), on the principal branch: 1.88 to 2 for every p.

    Solves w·exp(w) = −4e⁻²·p for −1 ≤ w ≤ 0 and returns w + 2.
    """
    argument = -4 * exp(-2) * min(p, 0.5)
    w = argument
    while True:
        step = (w * exp(w) - argument) / (exp(w) * (1 + w))
        w -= step
        if -_PRECISION < step < _PRECISION:
            return w + 2
