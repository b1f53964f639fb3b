"""Gaps as programs are told of them."""

from __future__ import annotations

import asyncio
from time import time_ns
from typing import Final

from penstock.api.errors import GapError, RefusedError
from penstock.api.loss import Loss
from penstock.api.message import Fate
from penstock.guaranteed.client import Missed
from penstock.live.guaranteed.stream_names import StreamNames

# To ask the broker what is to blame.
_ASK_S: Final = 1.0


def loss_of(gap: Missed, stream: str) -> Loss:
    """What a gap costs, at most."""
    now_ns = time_ns()
    return Loss(
        publisher=f"{gap.pubend:016x}",
        epoch=0,
        stream=stream,
        first=None,
        count=gap.messages,
        fate=Fate.LOST,
        reason=gap.reason.name.lower(),
        detected_ns=now_ns,
        ended_ns=now_ns,
    )


async def gap_error(loss: Loss, durable: str | None, names: StreamNames) -> GapError:
    """The error for a gap, with the retention that is to blame, if the broker says it in time."""
    found = None
    if loss.reason == "retention" and loss.stream is not None:
        try:
            async with asyncio.timeout(_ASK_S):
                found = await names.retention(loss.stream)
        except (TimeoutError, RefusedError):
            pass
    if found is None:
        return GapError(loss, durable)
    bounds = [str(bound) for bound in (found.size, found.age) if bound is not None]
    return GapError(loss, durable, ", ".join([*bounds, found.overflow]))
