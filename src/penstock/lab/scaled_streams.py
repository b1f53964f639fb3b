"""Makes an experiment with guaranteed streams smaller: lower rates, shorter times.

The file says what was published, and a profile by how much less of it is run. Amounts shrink with
both, so that queues fill and caches forget in the same proportions. Messages keep their size, and
links their delay.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from penstock.lab.schema.guaranteed import (
    StreamControl,
    StreamFailure,
    StreamLimit,
    StreamScale,
    StreamsPart,
    StreamWorker,
)

_Spell = TypeVar("_Spell", StreamLimit, StreamFailure, StreamWorker)
_QUEUE_BYTES_MIN = 1_000


def scaled(part: StreamsPart) -> StreamsPart:
    """The same experiment at its scale, which is 1 from there on."""
    scale = part.scale
    if scale == StreamScale():
        return part
    amounts = scale.rates * scale.times
    link, workload = part.link, part.workload
    queue_bytes = max(_QUEUE_BYTES_MIN, round(link.queue_bytes / amounts))
    return replace(
        part,
        workload=replace(workload, rate=workload.rate / scale.rates),
        link=replace(link, queue_bytes=queue_bytes),
        limits=[
            replace(_sooner(each, scale), kb_per_s=each.kb_per_s / scale.rates)
            for each in part.limits
        ],
        failures=[_sooner(each, scale) for each in part.failures],
        workers=[
            replace(_sooner(each, scale), messages_per_s=each.messages_per_s / scale.rates)
            for each in part.workers
        ],
        control=_control(part.control, scale),
        scale=StreamScale(),
    )


def _sooner(spell: _Spell, scale: StreamScale) -> _Spell:
    to_s = None if spell.to_s is None else spell.to_s / scale.times
    return replace(spell, from_s=spell.from_s / scale.times, to_s=to_s)


def _control(control: StreamControl, scale: StreamScale) -> StreamControl:
    """What is asked for in one range stays: messages are further apart."""
    retry = control.retry
    return replace(
        control,
        window_s=control.window_s / scale.times,
        reach_s=control.reach_s / scale.times,
        retry=retry if isinstance(retry, str) else retry / scale.times,
        retry_min_s=control.retry_min_s / scale.times,
        receive_window_s=control.receive_window_s / scale.times,
        cache_s=control.cache_s / scale.times,
        cache_bytes=max(1, round(control.cache_bytes / (scale.rates * scale.times))),
    )
