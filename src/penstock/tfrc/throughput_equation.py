"""How fast a TCP connection would send, given its round trips and losses (RFC 5348 §3.1).

    T(s, R, p) = s / (R·(√(2p/3) + 12·√(3p/8)·p·(1 + 32p²)))

in units of `s` a second, with the time-out taken as four round trips. `p` is the rate
of loss events: the inverse of the mean number of messages between two.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Final

_P_MIN: Final = 1e-12
_BISECTIONS_MAX: Final = 200


def tcp_throughput(size: float, rtt_s: float, p: float) -> float:
    """What a connection gets; no limit where nothing is lost."""
    if p <= 0:
        return inf
    p = min(p, 1.0)
    return size / (rtt_s * _round_trips_per_message(p))


def loss_event_rate_for(size: float, rtt_s: float, rate: float) -> float:
    """The rate of loss events at which a connection gets this, within 0 and 1."""
    if rate <= tcp_throughput(size, rtt_s, 1.0):
        return 1.0
    low, high = _P_MIN, 1.0
    if rate >= tcp_throughput(size, rtt_s, low):
        return low
    # The function falls over twelve powers of ten: the middle is that of the logarithms.
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
    """How many a message takes."""
    return sqrt(2 * p / 3) + 12 * sqrt(3 * p / 8) * p * (1 + 32 * p * p)
