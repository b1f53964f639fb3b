"""Draws the congestion settings of the endpoints of a swarm run: their law and their limits.

Does not know the network: `endpoint_options` draws the links.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from penstock.transport.congestion.settings import (
    DEFAULT,
    LITERAL,
    WINDOW,
    CongestionSettings,
)

LAWS: Final = {"equation": DEFAULT, "literal": LITERAL, "window": WINDOW}


def draw_congestion(rng: Random) -> tuple[CongestionSettings | None, ...]:
    """The settings of the clients in turn.

    Mostly one law for all, because receivers and publishers must use the same; a few runs mix
    laws, or leave some clients without congestion control, and must be as safe.
    """
    law, is_mixed = rng.choice(list(LAWS)), rng.random() < 0.15
    drawn = []
    for _ in range(rng.randint(1, 3)):
        if is_mixed:
            law = rng.choice(list(LAWS))
        drawn.append(_draw_settings(rng, LAWS[law]))
    return (*drawn, None) if rng.random() < 0.15 else tuple(drawn)


def _draw_settings(rng: Random, base: CongestionSettings) -> CongestionSettings:
    """Low rates and small limits, so that queues and tables fill in a short run."""
    return replace(
        base,
        nominal_bytes=rng.choice((None, None, 200)),
        receivers_max=rng.choice((base.receivers_max, 5)),
        initial_rate_mps=rng.choice((5.0, 20.0, 100.0, 1_000.0)),
        rate_min_mps=rng.choice((1.0, 5.0, 20.0)),
        flows_max=rng.choice((base.flows_max, base.flows_max, 3, 1)),
        flows_each_max=rng.choice((base.flows_each_max, base.flows_each_max, 1)),
        queue_max=rng.choice((base.queue_max, 50, 10, 1)),
        policy=rng.choice(("block", "drop-oldest", "drop-newest")),
        strict=rng.random() < 0.3,
    )
