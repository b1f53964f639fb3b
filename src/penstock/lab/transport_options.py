"""What a file says of transport and orderings, as settings; and what their results are called.

A run has figures of the network as a whole, which stand under the name of the
variant, and figures of each ordering. These stand under the ordering's name, or
where there are several variants under VARIANT.ORDERING. An ordering "off" of the
only variant "off" shares its name: what the network does is what it shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from penstock.content.bloom import BloomParams
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.lab.experiment import Experiment
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
    """How a subscription orders that is to do what the file says."""
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
    """How all endpoints are set up."""
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
    """How publishers are slowed down."""
    settings = _LAWS[part.kind]
    return replace(
        settings,
        nominal_bytes=part.nominal_bytes,
        increase=settings.increase if part.increase is None else part.increase,
        initial_rate_mps=part.initial_rate,
        queue_max=part.queue,
        # In an experiment nobody waits: what there is no room for is dropped.
        policy=part.policy,
        strict=part.strict,
    )


def recovery_settings(part: RecoveryPart) -> RecoverySettings:
    """How lost messages are got back."""
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


def result_name(experiment: Experiment, variant: str, ordering: str | None) -> str:
    """What the figures of an ordering are called, or with None those of the network."""
    if ordering is None:
        return variant
    return ordering if len(experiment.variants) == 1 else f"{variant}.{ordering}"


def result_names(experiment: Experiment) -> list[str]:
    """All that a result may have, each once."""
    return list(dict.fromkeys(result_names_of(experiment, experiment.variants)))


def result_names_of(experiment: Experiment, variants: Collection[str]) -> list[str]:
    """All that these variants may have."""
    unknown = [name for name in variants if name not in experiment.variants]
    if unknown:
        known = ", ".join(experiment.variants)
        raise UsageError(f"{experiment.id} has no variant {unknown[0]!r}; there are {known}")
    return [
        result_name(experiment, variant, ordering)
        for variant in experiment.variants
        if variant in variants
        for ordering in (None, *experiment.orderings)
    ]


def orderings_by_variant(experiment: Experiment, names: Collection[str]) -> dict[str, list[str]]:
    """The variants, and of each the orderings, that these results come from."""
    unknown = [name for name in names if name not in result_names(experiment)]
    if unknown:
        raise UsageError(f"{experiment.id} has no variant {unknown[0]!r}")
    found = {v: list(_selected_orderings(experiment, v, names)) for v in experiment.variants}
    return {
        variant: orderings for variant, orderings in found.items() if orderings or variant in names
    }


def with_only_orderings(experiment: Experiment, names: Collection[str]) -> Experiment:
    """The same experiment with these orderings alone: none sees anything of the others.

    One is kept in any case: without a transport it would be another network.
    """
    selected = {name: o for name, o in experiment.orderings.items() if name in names}
    selected = selected or dict(list(experiment.orderings.items())[:1])
    return msgspec.structs.replace(experiment, orderings=selected)


def _selected_orderings(
    experiment: Experiment, variant: str, names: Collection[str]
) -> Iterator[str]:
    for ordering in experiment.orderings:
        if result_name(experiment, variant, ordering) in names:
            yield ordering


def _milliseconds(value: float) -> Duration:
    return round(value * MILLISECOND)
