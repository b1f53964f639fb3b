"""Epochs from the wall clock, so that a restarted node has a newer epoch than before.

Seconds in 16 bits wrap after eighteen hours; peers remember a node for minutes. Two processes that
start under one id within the same second, or after the clock was set back, cannot be told apart.
"""

from __future__ import annotations

import time

from penstock.kernel.sequence import EPOCH

_last_s = 0


def new_epoch() -> int:
    """An epoch newer than any earlier one of this process and of processes before it."""
    global _last_s  # noqa: PLW0603
    _last_s = max(_last_s + 1, int(time.time()))
    return _last_s & EPOCH.mask


def epoch_now() -> int:
    """The epoch of a node with a new random id, of which no peer can know an older epoch."""
    return int(time.time()) & EPOCH.mask
