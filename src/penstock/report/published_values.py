"""What the papers state, where it is not in a result: numbers of their figures, values in the text.

By experiment id: a file of one's own has none of it. Values that were only read
off a picture are not here.
"""

from __future__ import annotations

from typing import Final

# Which figure of its source an experiment redraws, by experiment and name of our figure.
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

# Deliveries a second at which the network is full.
DELIVERY_LIMIT: Final = {"M-3.1": 30_000.0}
# The share of violations that P-x-y removes, by x.
VIOLATIONS_REMOVED: Final = {
    "M-3.11": {0.05: 0.99, 0.2: 0.91},
    "M-3.13": {0.05: 0.995},
}
# Extra delay (ms) that so many of the pairs stay below, by entries of the record looked at.
EXTRA_DELAY: Final = {"M-3.13": {25: (190.0, 0.9), 0: (960.0, 1.0)}}
# Probability that a loss is noticed, by (match probability, record).
LOSSES_DETECTED: Final = {"M-4.2": {(0.05, 10): 0.4}}
# So many of the messages have at most two receivers.
TWO_RECEIVERS_SHARE: Final = {"M-4.3": 0.5}
# Match probability that such a share of pairs stays below.
PAIR_MATCH: Final = {"M-4.3": ((0.08, 0.8), (0.1, 1.0))}
# What recovery divides the false negatives by, with a record of 10; by brokers, as are the next.
FALSE_NEGATIVES_DIVISOR: Final = {"M-4.5": {12: 2.0, 46: 3.0}}
# Time (ms) from request to repair that such a share stays below.
REQUEST_TO_REPAIR: Final = {"M-4.5": {12: (200.0, 0.8), 46: (350.0, 0.8)}}
# Shares of requests and of repairs that are not duplicated: more than this.
NOT_DUPLICATED: Final = {"M-4.5": {12: (0.9, 0.8), 46: (0.8, 0.7)}}
# What a message carries more (B) with a record of 10.
RECORD_BYTES: Final = {"M-4.5": 320.0}
# What recovery adds to the delay (ms) of everything else.
ADDED_DELAY: Final = {"M-4.5": 25.0}
# The hit ratio that caches aim for, and the least and the most that they may hold.
HIT_RATIO: Final = {"M-4.5": 1.0}
CACHE_LIMITS: Final = {"M-4.5": (5, 300)}


def redrawn_figure(experiment: str, figure: str) -> str:
    """A sentence for the caption; empty where nothing was published."""
    number = _FIGURE_NUMBERS.get((experiment, figure))
    return "" if number is None else f"Redraws figure {number} of the source."
