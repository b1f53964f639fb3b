"""From what an application says about order to what the transport is set to."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import seconds
from penstock.transport.latch import Conditional
from penstock.transport.settings import OrderingSettings

Late: TypeAlias = Literal["deliver", "drop"]


def ordering_of(
    before: OrderingSettings,
    *,
    order: bool | None = None,
    max_delay: float | None = None,
    violation_probability: float | None = None,
    late: Late | None = None,
) -> OrderingSettings:
    """`before`, but for what is given; `max_delay` is in seconds."""
    latch = before.latch
    if order is not None and order != (latch is not None):
        latch = Conditional() if order else None
    if violation_probability is not None:
        if latch is None:
            raise UsageError("a violation probability needs order: leave one of them out")
        latch = Conditional(violation_probability)
    if late not in (None, "deliver", "drop"):
        raise UsageError(f'late is "deliver" or "drop", not {late!r}')
    return replace(
        before,
        latch=latch,
        max_delay_ns=before.max_delay_ns if max_delay is None else seconds(max_delay),
        late=late or before.late,
    )
