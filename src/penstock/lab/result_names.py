"""What the results of an experiment are called; knows nothing of what they hold.

A run has figures of the network as a whole, which stand under the name of the
variant, and figures of each ordering. These stand under the ordering's name, or
where there are several variants under VARIANT.ORDERING. An ordering "off" of the
only variant "off" shares its name: what the network does is what it shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from penstock.kernel.errors import UsageError
from penstock.lab.experiment import Experiment


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
