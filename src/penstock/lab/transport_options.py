"""Converts the transport parts and orderings of an experiment file into settings.

Does not know results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.lab.schema.transport import (
    CongestionPart,
    ConstantOrdering,
    DefaultOrdering,
    LiteralOrdering,
    OffOrdering,
    Ordering,
    RecoveryPart,
    TransportPart,
)
from penstock.transport.congestion import settings as congestion
from penstock.transport.congestion.settings import CongestionSettings
from penstock.transport.order.latch import ConditionalLatch
from penstock.transport.recovery import settings as recovery
from penstock.transport.recovery.settings import RecoverySettings
from penstock.transport.settings import (
    DEFAULT,
    OFF,
    EndpointSettings,
    OrderingSettings,
    RecordSettings,
    constant,
    literal,
)


def ordering_settings(ordering: Ordering) -> OrderingSettings:
    """The ordering settings of a subscription with this ordering."""
    match ordering:
        case OffOrdering():
            return OFF
        case ConstantOrdering():
            latch_ns = _milliseconds(ordering.latch_ms)
            settings = constant(latch_ns, record_used=ordering.record)
        case LiteralOrdering():
            settings = literal(
                ordering.chance, record_used=ordering.record, as_printed=ordering.as_printed
            )
        case DefaultOrdering():
            settings = replace(
                DEFAULT,
                latch=ConditionalLatch(ordering.chance),
                record_used=ordering.record,
                empirical=ordering.empirical,
            )
    return replace(
        settings,
        late=ordering.late,
        max_delay_ns=_milliseconds(ordering.max_delay_ms),
        hold_for_repair_ns=_milliseconds(ordering.hold_for_repair_ms),
    )


def endpoint_settings(part: TransportPart | None) -> EndpointSettings:
    """The settings of all endpoints; defaults if the file has no transport part."""
    part = part or TransportPart()
    return EndpointSettings(
        record=RecordSettings(
            size=part.record,
            cover_ns=None if part.cover_ms is None else _milliseconds(part.cover_ms),
            numbers=tuple(part.numbers),
            bloom=None
            if part.bloom_bits is None
            else BloomParams(part.bloom_bits, part.bloom_hashes),
        ),
        recovery=None if part.recovery.kind == "off" else recovery_settings(part.recovery),
        congestion=None if part.congestion.kind == "off" else congestion_settings(part.congestion),
    )


_LAWS: Final = {
    "default": congestion.DEFAULT,
    "literal": congestion.LITERAL,
    "window": congestion.WINDOW,
}


def congestion_settings(part: CongestionPart) -> CongestionSettings:
    """The settings of congestion control."""
    settings = _LAWS[part.kind]
    return replace(
        settings,
        nominal_bytes=part.nominal_bytes,
        increase=settings.increase if part.increase is None else part.increase,
        initial_rate_mps=part.initial_rate,
        queue_max=part.queue,
        # Publishers in an experiment never wait: a full queue drops messages.
        policy=part.policy,
        strict=part.strict,
    )


def recovery_settings(part: RecoveryPart) -> RecoverySettings:
    """The settings of recovery."""
    settings = recovery.LITERAL if part.kind == "literal" else recovery.DEFAULT
    cache = replace(settings.cache, k_min=part.cache_min, k_max=part.cache_max)
    repairs_own, width, designates = part.publisher_answers, part.ask_width, part.names_first
    timers = settings.timers
    if width is not None:
        timers = replace(timers, ask_width=width, width_min=min(width, timers.width_min))
    if part.answer_width is not None:
        timers = replace(
            timers,
            answer_width=part.answer_width,
            width_min=min(part.answer_width, timers.width_min),
        )
    if part.ask_first is not None:
        timers = replace(
            timers, ask_first=part.ask_first, first_min=part.ask_first, first_max=part.ask_first
        )
    return replace(
        settings,
        cache=cache,
        timers=timers,
        names_first=settings.names_first if designates is None else designates,
        publisher_answers=settings.publisher_answers if repairs_own is None else repairs_own,
        volunteers=part.volunteers,
        digests=part.digests,
        tracks=part.tracks,
    )


def _milliseconds(value: float) -> Duration:
    return round(value * MILLISECOND)
