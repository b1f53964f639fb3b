"""The names of the results of an experiment; does not know what the results contain.

A run has figures of the whole network, which are named after the variant, and figures of each
ordering, which are named after the ordering, or VARIANT.ORDERING if there are several variants.
Where there is one ordering, the variant's name stands for it too, wherever the network has no
figure of its own.
An ordering "off" of the only variant "off" has the same name as the network's figures: without
ordering, a subscription shows what the network does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from penstock.kernel.errors import UsageError
from penstock.lab.experiment import Experiment


def result_name(experiment: Experiment, variant: str, ordering: str | None) -> str:
    """The name of the figures of an ordering, or of the network if it is None."""
    if ordering is None:
        return variant
    return ordering if len(experiment.variants) == 1 else f"{variant}.{ordering}"


def result_names(experiment: Experiment) -> list[str]:
    """All result names of an experiment, without duplicates."""
    return list(dict.fromkeys(result_names_of(experiment, experiment.variants)))


def result_names_of(experiment: Experiment, variants: Collection[str]) -> list[str]:
    """The result names of these variants; raises `UsageError` for an unknown variant."""
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


def only_orderings(experiment: Experiment) -> dict[str, str]:
    """By variant, the result name of its ordering, if there is just one of another name."""
    if len(experiment.orderings) != 1:
        return {}
    (ordering,) = experiment.orderings
    names = {variant: result_name(experiment, variant, ordering) for variant in experiment.variants}
    return {variant: name for variant, name in names.items() if name != variant}


def orderings_by_variant(experiment: Experiment, names: Collection[str]) -> dict[str, list[str]]:
    """The variants and orderings that produce these results."""
    unknown = [name for name in names if name not in result_names(experiment)]
    if unknown:
        raise UsageError(f"{experiment.id} has no variant {unknown[0]!r}")
    found = {v: list(_selected_orderings(experiment, v, names)) for v in experiment.variants}
    return {
        variant: orderings for variant, orderings in found.items() if orderings or variant in names
    }


def with_only_orderings(experiment: Experiment, names: Collection[str]) -> Experiment:
    """The same experiment with only these orderings; orderings do not affect each other.

    At least one is kept: without a transport the network would carry other traffic.
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
