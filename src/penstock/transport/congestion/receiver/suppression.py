"""Feedback suppression: how long a receiver waits before it reports (RFC 4654 §2.5, RFC 4654 §6).

Each receiver draws a wait within `T`; most wait long and only a few report early. A receiver
cancels its report if the publisher announces meanwhile a rate about as low as its own.

    t = max(T·(1 + ln x / ln N), 0)

where x is a uniform draw and N the assumed number of receivers. Does not know flows or timers.
"""

from __future__ import annotations

from math import log
from typing import Final

from penstock.kernel.instant import Duration
from penstock.transport.congestion.feedback_protocol import ROUND_TRIPS

# T is defined for this many receivers. For fewer it shrinks with the logarithm of their number,
# which keeps the expected number of reports before the first one is announced the same.
_REFERENCE_RECEIVERS: Final = 10_000
_RECEIVERS_MIN: Final = 2
# An announced rate up to this share above the own rate suppresses a report.
SUPPRESSION_TOLERANCE: Final = 0.1


def feedback_wait_ns(longest_ns: Duration, receiver_count: int, draw: float) -> Duration:
    """The wait before a report; `draw` is uniform above 0, up to 1."""
    if draw <= 0:
        return 0
    return max(0, round(longest_ns * (1 + log(draw) / log(max(2, receiver_count)))))


def longest_wait_ns(max_round_trip_ns: Duration, receiver_count: int) -> Duration:
    """T for this number of receivers."""
    size_factor = log(max(_RECEIVERS_MIN, receiver_count)) / log(_REFERENCE_RECEIVERS)
    return round(ROUND_TRIPS * max_round_trip_ns * size_factor)


def is_already_limited(
    known_mps: float, own_mps: float, tolerance: float = SUPPRESSION_TOLERANCE
) -> bool:
    """Whether the publisher already limits the flow to about the own rate."""
    return known_mps < own_mps / (1 - tolerance)
