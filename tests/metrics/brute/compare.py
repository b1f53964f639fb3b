"""What metrics reported in the form of `brute_force`, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from penstock.metrics.results import Results
from tests.metrics.brute.run import Key

_SHOWN = 20


def keyed(results: Results) -> dict[Key, float]:
    """All numbers that metrics reported; each key must occur once."""
    found: dict[Key, float] = {}
    for key, value in _numbers(results):
        assert key not in found, f"{key} was reported twice"
        found[key] = value
    return found


def _numbers(results: Results) -> Iterator[tuple[Key, float]]:
    for key, value in results.values.items():
        yield Key("value", key.metric, key.ordering, key.entity, key.phase), value
    for pairs in results.pairs:
        for name, peer, value in zip(pairs.names, pairs.peers, pairs.values.tolist(), strict=True):
            yield Key("pair", pairs.metric, pairs.ordering, name, at=peer), value
    for key, series in results.series.items():
        for at, value in zip(series.seconds.tolist(), series.values.tolist(), strict=True):
            yield Key("series", key.metric, key.ordering, key.entity, at=at), value
    for key, (bins, counts) in results.histograms.items():
        for at, count in zip(bins.tolist(), counts.tolist(), strict=True):
            yield Key("histogram", key.metric, key.ordering, at=at), count
    for key, curve in results.curves.items():
        for at, value in enumerate(curve):
            yield Key("curve", key.metric, key.ordering, key.entity, at=at), value


def assert_same(found: dict[Key, float], expected: dict[Key, float]) -> None:
    """Names the keys that differ."""
    wrong = [
        f"{key}: found {found.get(key, 'nothing')}, expected {expected.get(key, 'nothing')}"
        for key in sorted(found.keys() | expected.keys(), key=str)
        if not _is_same(found.get(key), expected.get(key))
    ]
    assert not wrong, "\n".join([f"{len(wrong)} numbers differ:", *wrong[:_SHOWN]])


def _is_same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
