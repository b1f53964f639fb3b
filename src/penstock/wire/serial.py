"""Numbers that wrap around: which of two is the later one (RFC 1982).

Right as long as both were counted within half of the number space.
"""

from typing import Final

EPOCH_BITS: Final = 16
SEQ_BITS: Final = 32


def distance(later: int, earlier: int, bits: int) -> int:
    """How many steps lead from `earlier` to `later`; negative when it is the other way round."""
    half = 1 << (bits - 1)
    return ((later - earlier + half) & ((1 << bits) - 1)) - half


def newer(left: int, right: int, bits: int) -> bool:
    """Whether `left` was counted after `right`; of two exactly opposite numbers neither was."""
    return 0 < ((left - right) & ((1 << bits) - 1)) < 1 << (bits - 1)


def after(number: int, bits: int, steps: int = 1) -> int:
    """The number that many steps later."""
    return (number + steps) & ((1 << bits) - 1)
