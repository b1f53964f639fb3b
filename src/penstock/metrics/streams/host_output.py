"""What metrics of streams report of each broker."""

from __future__ import annotations

from penstock.metrics.base import Entity, Output


def host_output(name: str, meaning: str, *, unit: str) -> Output:
    """A series by second, and a value of the experiment and of each phase."""
    return Output(
        name=name,
        unit=unit,
        entity=Entity.HOST,
        kinds=("value", "series"),
        phased=True,
        meaning=meaning,
    )
