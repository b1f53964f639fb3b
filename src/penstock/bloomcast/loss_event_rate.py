"""Loss event rates in the two bytes that RATE has for them: the logarithm, as they span decades.

At 1 Gbit/s and 10 ms a TCP connection has two loss events in a million symbols: multiples of 2^-16
cannot say that.
"""

from __future__ import annotations

from math import log2
from typing import Final

_STEPS: Final = 2_048
_CODE_MAX: Final = 0xFFFF


def encode_loss_event_rate(rate: float) -> int:
    """0: no loss event yet; otherwise 1 - 2 048·log2 of the rate, which may fall to 2^-31."""
    if rate <= 0:
        return 0
    return min(1 - round(_STEPS * log2(min(rate, 1.0))), _CODE_MAX)


def decode_loss_event_rate(code: int) -> float:
    """The rate of a code."""
    return 2.0 ** ((1 - code) / _STEPS) if code else 0.0
