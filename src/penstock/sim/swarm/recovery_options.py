"""Draws the recovery settings of the endpoints of a swarm run."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final
from typing import Literal as OneOf

from penstock.kernel.instant import MILLISECOND
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.settings import DEFAULT, LITERAL, RecoverySettings

_NO_SCOPE: Final = (None,) * 6


def draw_recoveries(rng: Random) -> tuple[RecoverySettings | None, ...]:
    """Recovery settings, assigned to clients in turn; (None,) for a run without recovery.

    All endpoints of a run send requests in the same way, else they would not receive one
    another's.
    """
    if rng.random() < 0.6:
        return (None,)
    requests_as: OneOf["class", "message"] = "class" if rng.random() < 0.7 else "message"
    drawn = [_draw_recovery(rng) for _ in range(rng.randint(1, 3))]
    recoveries = [replace(recovery, requests_as=requests_as) for recovery in drawn]
    return (*recoveries, None) if rng.random() < 0.15 else tuple(recoveries)


def _draw_recovery(rng: Random) -> RecoverySettings:
    """Mostly the defaults, with delays short enough for repairs within the run."""
    is_literal = rng.random() < 0.25
    base = LITERAL if is_literal else DEFAULT
    settings = replace(
        base,
        cache=_draw_cache(rng, base.cache),
        volunteers=rng.random() < 0.8,
        distance_ns=rng.choice((5, 20)) * MILLISECOND,
        group_min=rng.choice((2, 1_000)),
        reply=rng.choice(("auto", "auto", "publish", "unicast")),
        scope=rng.choice((*_NO_SCOPE, "here")),
        give_up_ns=rng.choice((base.give_up_ns, 300 * MILLISECOND)),
        requests_mps=rng.choice((base.requests_mps, 10.0)),
        repairs_mps=rng.choice((base.repairs_mps, 10.0)),
        wanted_max=rng.choice((*[base.wanted_max] * 6, 2)),
        answers_max=rng.choice((*[base.answers_max] * 6, 1)),
    )
    if is_literal:
        return settings
    return replace(
        settings,
        publisher_answers=rng.random() < 0.8,
        names_first=rng.random() < 0.8,
        digests=rng.random() < 0.6,
        tracks=rng.random() < 0.25,
    )


def _draw_cache(rng: Random, base: CacheSettings) -> CacheSettings:
    """Mostly more room than needed, sometimes hardly any."""
    return replace(
        base,
        k_min=rng.choice((1, 5, 50, 50)),
        bytes_max=rng.choice((*[base.bytes_max] * 6, 2_000, 100)),
        publishers_max=rng.choice((*[base.publishers_max] * 6, 1)),
    )
