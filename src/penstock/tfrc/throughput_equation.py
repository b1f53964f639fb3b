"""The TCP throughput equation (RFC 5348 §3.1) and its inverse.

    T(s, R, p) = s / (R·(√(2p/3) + 12·√(3p/8)·p·(1 + 32p²)))

in units of `s` per second, with a retransmission time-out of four round trips. `p` is the
loss event rate: the inverse of the mean number of messages between two loss events. The module
does not know how round trip and losses are measured.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Final

_P_MIN: Final = 1e-12
_BISECTIONS_MAX: Final = 200


def tcp_throughput(size: float, rtt_s: float, p: float) -> float:
    """The rate of a TCP connection, in units of `size` per second; infinite without loss."""
    if p <= 0:
        return inf
    p = min(p, 1.0)
    return size / (rtt_s * _round_trips_per_message(p))


def loss_event_rate_for(size: float, rtt_s: float, rate: float) -> float:
    """The loss event rate, between 0 and 1, at which a TCP connection reaches `rate`."""
    if rate <= tcp_throughput(size, rtt_s, 1.0):
        return 1.0
    low, high = _P_MIN, 1.0
    if rate >= tcp_throughput(size, rtt_s, low):
        return low
    # Bisect on a logarithmic scale: p spans twelve powers of ten.
    for _ in range(_BISECTIONS_MAX):
        middle = sqrt(low * high)
        if middle in (low, high):
            break
        if tcp_throughput(size, rtt_s, middle) > rate:
            low = middle
        else:
            high = middle
    return sqrt(low * high)


def _round_trips_per_message(p: float) -> float:
    """Round trips that a TCP connection needs per message."""
    return sqrt(2 * p / 3) + 12 * sqrt(3 * p / 8) * p * (1 + 32 * p * p)
