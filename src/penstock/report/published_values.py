"""Published values that results do not contain: figure numbers and values in the papers' text.

Keyed by experiment id, so a user's own experiment has none. Values that could only
be read off a plot are not here.
"""

from __future__ import annotations

from typing import Final

# The figure of the source that is redrawn, by experiment and name of our figure.
_FIGURE_NUMBERS: Final = {
    ("M-3.1", "rates"): "3.1b",
    ("M-3.1", "violations-over-time"): "3.2",
    ("M-3.1", "delays"): "3.8",
    ("M-3.1", "consecutive-delays"): "3.9",
    ("M-3.1", "differences-by-delay"): "3.10",
    ("M-3.4", "pair-delays"): "3.4",
    ("M-3.4", "delay-differences"): "3.5",
    ("M-3.11", "violations"): "3.11",
    ("M-3.11", "extra-delay"): "3.12",
    ("M-3.13", "violations"): "3.13",
    ("M-3.13", "extra-delay"): "3.14",
    ("M-3.15", "latch"): "3.15",
    ("M-4.2", "detection"): "4.2",
    ("M-4.3", "workload"): "4.3",
    ("M-4.3", "rates"): "4.4",
    ("M-4.5", "false-negatives"): "4.5",
    ("M-4.5", "false-negatives-over-time"): "4.6",
    ("M-4.5", "recovery-delays"): "4.7",
    ("M-4.5", "recovery-rates"): "4.8",
    ("M-4.5", "delivery-delay"): "4.9",
    ("M-4.5", "hit-ratio"): "4.10",
    ("M-4.5", "cache-limits"): "4.11",
    ("G-F2", "stream-rates"): "2",
    ("G-F2", "stream-queues"): "3",
    ("G-F4", "stream-rates"): "4",
    ("G-E1", "stream-rates"): "7",
    ("G-E1-500", "nack-window"): "8",
    ("G-E2", "stream-rates"): "9",
    ("G-E2", "stream-queues"): "10",
    ("G-E2", "stream-alerts"): "11",
    ("G-E3", "stream-rates"): "13",
    ("G-E3", "doubt-rate"): "14",
    ("G-E3", "stream-alerts"): "15",
    ("G-E4", "recovery-time"): "16",
    ("P-F2", "cast-aggregation"): "2",
    ("P-F2", "cast-reports"): "3 and 4",
    ("P-F2", "cast-feedback"): "5",
    ("P-F2", "cast-repairs"): "6",
    ("P-F2-graph", "cast-aggregation"): "2",
    ("P-F2-graph", "cast-reports"): "3 and 4",
    ("P-F2-graph", "cast-feedback"): "5",
    ("P-F2-graph", "cast-repairs"): "6",
    ("M-5.1", "response"): "5.1",
    ("M-5.7", "loss-events"): "5.7",
    ("M-5.9", "bottleneck"): "5.9",
    ("M-5.10", "bottleneck"): "5.10",
    ("M-5.11", "receivers"): "5.11",
    ("M-5.12", "beside-tcp"): "5.12",
    ("M-5.14", "bottleneck"): "5.14",
    ("M-5.14", "feedback"): "5.15",
    ("M-5.17", "bottleneck"): "5.17",
    ("M-5.17", "recovery-rates"): "5.18a",
    ("M-5.17", "feedback"): "5.18b",
}

# Deliveries per second at which the network is saturated.
DELIVERY_LIMIT: Final = {"M-3.1": 30_000.0}
# The share of violations that P-x-y removes, by x.
VIOLATIONS_REMOVED: Final = {
    "M-3.11": {0.05: 0.99, 0.2: 0.91},
    "M-3.13": {0.05: 0.995},
}
# (extra delay in ms, share of pairs that stay below it), by record entries looked at.
EXTRA_DELAY: Final = {"M-3.13": {25: (190.0, 0.9), 0: (960.0, 1.0)}}
# Probability that a loss is detected, by (match probability, record length).
LOSSES_DETECTED: Final = {"M-4.2": {(0.05, 10): 0.4}}
# Share of messages with at most two receivers.
TWO_RECEIVERS_SHARE: Final = {"M-4.3": 0.5}
# (match probability, share of pairs that stay below it).
PAIR_MATCH: Final = {"M-4.3": ((0.08, 0.8), (0.1, 1.0))}
# Factor by which recovery reduces false negatives with a record of 10, by number of brokers;
# the next two are by number of brokers too.
FALSE_NEGATIVES_DIVISOR: Final = {"M-4.5": {12: 2.0, 46: 3.0}}
# (time in ms from request to repair, share of repairs that stay below it).
REQUEST_TO_REPAIR: Final = {"M-4.5": {12: (200.0, 0.8), 46: (350.0, 0.8)}}
# Lower bounds on the shares of requests and of repairs that are not duplicated.
NOT_DUPLICATED: Final = {"M-4.5": {12: (0.9, 0.8), 46: (0.8, 0.7)}}
# Extra bytes per message with a record of 10.
RECORD_BYTES: Final = {"M-4.5": 320.0}
# Delay (ms) that recovery adds to all other messages.
ADDED_DELAY: Final = {"M-4.5": 25.0}
# The target hit ratio of caches, and the bounds (min, max) on their size.
HIT_RATIO: Final = {"M-4.5": 1.0}
CACHE_LIMITS: Final = {"M-4.5": (5, 300)}
# Of guaranteed streams, at the published scale. The time at which a host has recovered: 160 s
# after its link is back.
RECOVERED_AT_S: Final = {"G-E1": 280.0}
# How far ahead of its doubt horizon a host asks for repairs in the end.
NACK_WINDOW_S: Final = {"G-E1-500": 0.9}
# What queues stay below, in kB.
QUEUE_LIMIT_KB: Final = {"G-E2": 1_000.0}
# The fastest that a doubt horizon moves, in seconds of the stream a second.
DOUBT_RATE_PEAK: Final = {"G-E3": 5.0}
# Between these recovery gains a recovery is the shorter, the larger the gain.
RECOVERY_KNEES: Final = {"G-E4": (1.0, 1.8)}
# Of casts, by number of routers, for objects of so many packets: relays in the mean, and what
# network elements send by what they would send with unicast recovery, of NAKs and of repairs.
CAST_PACKETS: Final = 20_000
_OF_CASTS: Final = ("P-F2", "P-F2-graph")
CAST_RELAYS: Final = {id_: {200: 15.6, 500: 28.6} for id_ in _OF_CASTS}
CAST_FEEDBACK: Final = {id_: {200: 0.25, 500: 0.2} for id_ in _OF_CASTS}
CAST_REPAIRS: Final = {id_: {200: 0.32, 500: 0.33} for id_ in _OF_CASTS}


def redrawn_figure(experiment: str, figure: str) -> str:
    """A sentence for the caption; empty if the source has no such figure."""
    number = _FIGURE_NUMBERS.get((experiment, figure))
    if number is None:
        return ""
    return f"Redraws figure{'s' * (' ' in number)} {number} of the source."
