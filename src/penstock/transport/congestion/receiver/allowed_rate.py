"""The rate that a receiver allows a publisher, in messages per second.

Knows nothing of filters: `session` divides the rate into quotas.
"""

from __future__ import annotations

from math import sqrt

from penstock.tfrc.round_trip import RoundTrip
from penstock.tfrc.throughput_equation import tcp_throughput


def startup_rate(received_mps: float, rtt_s: float) -> float:
    """Before the first loss event: twice what arrives, and at least two messages a round trip."""
    return 2 * max(received_mps, 1 / rtt_s)


def equation_rate(
    rtt: RoundTrip, rtt_s: float, loss_event_rate: float, *, size_ratio: float, is_literal: bool
) -> float:
    """The rate of a TCP connection with this round trip and loss event rate.

    `size_ratio` is the reference size of a message over the mean size received.
    """
    # In messages, whatever their size: T is proportional to the size.
    allowed = tcp_throughput(1, rtt_s, loss_event_rate) * size_ratio
    if is_literal or not rtt.is_measured:
        return allowed
    # RFC 5348 §4.5: less while the queue grows, more while it shrinks.
    return allowed * sqrt(rtt.mean_ns / rtt.current_ns)
