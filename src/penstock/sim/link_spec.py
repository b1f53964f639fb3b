"""The properties of a one-way link, as a value that can be printed and compared.

Knows nothing of packets, queues or events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND, Duration
from penstock.sim.loss import Bernoulli, GilbertElliott, LossModel

# Nanoseconds per byte, times the rate in bit/s.
BYTE_NS_BPS: Final = 8 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpec:
    """Properties of a link; with a rate of None, it transmits any number of packets at once.

    The delay of each packet is drawn uniformly from delay ± jitter. Each of the two packet
    classes may have `queue_bytes_max` queued.
    """

    rate_bps: int | None = None
    delay_ns: Duration = 0
    jitter_ns: Duration = 0
    loss: LossModel | None = None
    queue_bytes_max: int = 64_000

    def __post_init__(self) -> None:
        check_rate(self.rate_bps)
        if self.delay_ns < 0:
            raise UsageError(f"a delay cannot be negative: {self.delay_ns} ns")
        if not 0 <= self.jitter_ns <= self.delay_ns:
            raise UsageError(
                f"a jitter of {self.jitter_ns} ns with a delay of {self.delay_ns} ns "
                "would send packets back in time: write 0 up to the delay"
            )
        if self.queue_bytes_max <= 0:
            raise UsageError(
                f"a queue of {self.queue_bytes_max} bytes takes no packet: "
                "write at least the size of the largest frame, 1400"
            )


def link_spec(
    *,
    rate_mbps: float | None = None,
    delay_ms: float = 0,
    jitter_ms: float = 0,
    loss: float | None = None,
    loss_burst: float | None = None,
    queue_bytes: int | None = None,
) -> LinkSpec:
    """Link spec from the units of files; `loss_burst` is the mean number of losses in a row."""
    model: LossModel | None = None
    if loss and loss_burst is None:
        model = Bernoulli(loss)
    elif loss and loss_burst is not None:
        model = GilbertElliott.of(loss=loss, burst=loss_burst)
    plain = LinkSpec(
        rate_bps=None if rate_mbps is None else round(rate_mbps * 1_000_000),
        delay_ns=round(delay_ms * MILLISECOND),
        jitter_ns=round(jitter_ms * MILLISECOND),
        loss=model,
    )
    return plain if queue_bytes is None else replace(plain, queue_bytes_max=queue_bytes)


def check_rate(rate_bps: int | None) -> None:
    """Raises `UsageError` unless the rate is None or above 0."""
    if rate_bps is not None and rate_bps <= 0:
        raise UsageError(
            f"a rate must be above 0 bit/s, not {rate_bps}: "
            "leave it out for a wire without limit, or take the link down"
        )


class TransmitTimes(dict[int, Duration]):
    """Transmission time at one rate by size in bytes, rounded down.

    A lookup is faster than a division, and there are few distinct sizes.
    """

    def __init__(self, rate_bps: int | None) -> None:
        self._rate_bps = rate_bps

    def __missing__(self, size_bytes: int) -> Duration:
        own_ns = 0 if self._rate_bps is None else size_bytes * BYTE_NS_BPS // self._rate_bps
        self[size_bytes] = own_ns
        return own_ns
