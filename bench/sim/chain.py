"""The chain that every way of simulating it is given: its sizes, its rates and its flows."""

from __future__ import annotations

from typing import Final

from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.link_spec import LinkSpec
from penstock.sim.loss import Bernoulli

ROUTERS: Final = 8
FLOWS: Final = 50
INTERVAL_NS: Final = MILLISECOND
SIZE_BYTES: Final = 284
WIDE_BPS: Final = 120_000_000
NARROW_BPS: Final = 110_000_000
DELAY_NS: Final = MILLISECOND
QUEUE_BYTES: Final = 15_000
SPAN_NS: Final = SECOND

PLAIN: Final = LinkSpec(rate_bps=WIDE_BPS, delay_ns=DELAY_NS, queue_bytes_max=QUEUE_BYTES)
CHANCY: Final = LinkSpec(
    rate_bps=WIDE_BPS,
    delay_ns=DELAY_NS,
    jitter_ns=DELAY_NS // 10,
    loss=Bernoulli(0.001),
    queue_bytes_max=QUEUE_BYTES,
)


def phases() -> list[Duration]:
    """When in the first interval each flow starts."""
    rng = Seeds(1).rng("bench", "sim", "phases")
    return [rng.randrange(INTERVAL_NS) for _ in range(FLOWS)]


def specs(spec: LinkSpec) -> list[LinkSpec]:
    """`spec` for each link of the chain, the last one narrower."""
    narrow = LinkSpec(
        rate_bps=NARROW_BPS,
        delay_ns=spec.delay_ns,
        jitter_ns=spec.jitter_ns,
        loss=spec.loss,
        queue_bytes_max=spec.queue_bytes_max,
    )
    return [spec] * (ROUTERS - 2) + [narrow]
