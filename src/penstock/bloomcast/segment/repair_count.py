"""How many symbols to send so that a receiver gets as many as it needs."""

from __future__ import annotations

from math import ceil
from typing import Final

LOSS_ONE: Final = 1 << 16


def with_margin(need: int, loss: int, *, margin: float, threshold: float) -> int:
    """The need, and what will be lost of it; `loss` is in 2^-16. Little is not worth a symbol."""
    expected = margin * need * loss / LOSS_ONE
    return need + (ceil(expected) if expected > threshold else 0)
