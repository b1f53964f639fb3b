"""Converts an application's ordering options into transport settings."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import Literal, TypeAlias

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import seconds
from penstock.transport.order.latch import ConditionalLatch, Latch
from penstock.transport.settings import OrderingSettings

Late: TypeAlias = Literal["deliver", "drop"]


def ordering_of(
    base: OrderingSettings,
    *,
    order: bool | None = None,
    max_delay: float | None = None,
    violation_probability: float | None = None,
    late: Late | None = None,
    previous_latch: Latch | None = None,
) -> OrderingSettings:
    """`base` with the given options replaced; `max_delay` is in seconds.

    `previous_latch` is restored when ordering is turned on again. Without ordering nothing waits
    and nothing is late, so options about either are refused.
    """
    latch = base.latch
    if order is not None and order != (latch is not None):
        latch = (previous_latch or ConditionalLatch()) if order else None
    if latch is None:
        _refuse(max_delay=max_delay, violation_probability=violation_probability, late=late)
    if violation_probability is not None:
        latch = ConditionalLatch(finite_number("violation_probability", violation_probability))
    if max_delay is not None:
        base = replace(base, max_delay_ns=seconds(finite_number("max_delay", max_delay)))
    return replace(base, latch=latch, late=base.late if late is None else late)


def finite_number(name: str, value: object) -> float:
    """The value as a float; refuses text, booleans, infinities and NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} is a finite number, not {value!r}")
    try:
        found = float(value)
    except OverflowError:
        raise UsageError(f"{name} is a finite number: this one is too large") from None
    if not isfinite(found):
        raise UsageError(f"{name} is a finite number, not {value!r}")
    return found


def seconds_of(name: str, value: object) -> float:
    """A duration in seconds, given by an application; 0 or more."""
    found_s = finite_number(name, value)
    if found_s < 0:
        raise UsageError(f"{name} is a number of seconds, 0 or more, not {found_s:g}")
    return found_s


def _refuse(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} needs order: leave it out, or order=False")
