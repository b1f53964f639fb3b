"""Epochs by the clock on the wall: a node that starts again is newer than it was.

Seconds in 16 bits go round in eighteen hours; what others remember of a node
lasts minutes. Two processes that start under one name within one second, or
after the clock was set back, are not told apart.
"""

from __future__ import annotations

import time

from penstock.kernel.sequence import EPOCH

_last_s = 0


def new_epoch() -> int:
    """Newer than any that this process had before, and than those of processes before it."""
    global _last_s  # noqa: PLW0603
    _last_s = max(_last_s + 1, int(time.time()))
    return _last_s & EPOCH.mask


def epoch_now() -> int:
    """For one whose name is new with it: nobody has heard of it before."""
    return int(time.time()) & EPOCH.mask
