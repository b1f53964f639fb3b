"""When to say that a flow is too fast, if many could say it (RFC 4654 §2.5, RFC 4654 §6).

Each draws a time within `T`, so that most wait long and few speak early; who hears
meanwhile that the publisher knows of a rate as low as its own keeps silent.

    t = max(T·(1 + ln x / ln N), 0)

where x is drawn, and N is how many there may be.
"""

from __future__ import annotations

from math import log
from typing import Final

from penstock.kernel.instant import Duration
from penstock.transport.congestion.feedback_protocol import ROUND_TRIPS

# For so many T is as long as the protocol says; for fewer it is shorter as their logarithm is,
# and then as many speak before the first is heard.
_REFERENCE_RECEIVERS: Final = 10_000
_RECEIVERS_MIN: Final = 2
# A rate this much higher than ours is as low as ours.
SUPPRESSION_TOLERANCE: Final = 0.1


def feedback_wait_ns(longest_ns: Duration, receiver_count: int, draw: float) -> Duration:
    """How long to wait; `draw` is a number above 0, up to 1."""
    if draw <= 0:
        return 0
    return max(0, round(longest_ns * (1 + log(draw) / log(max(2, receiver_count)))))


def longest_wait_ns(max_round_trip_ns: Duration, receiver_count: int) -> Duration:
    """T, for so many."""
    size_factor = log(max(_RECEIVERS_MIN, receiver_count)) / log(_REFERENCE_RECEIVERS)
    return round(ROUND_TRIPS * max_round_trip_ns * size_factor)


def is_already_limited(
    known_mps: float, own_mps: float, tolerance: float = SUPPRESSION_TOLERANCE
) -> bool:
    """Whether the publisher slows down to about our rate already."""
    return known_mps < own_mps / (1 - tolerance)
