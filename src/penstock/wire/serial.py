"""Serial number arithmetic (RFC 1982) for counters that wrap around.

Correct while both numbers lie within half of the number space.
"""

from typing import Final

EPOCH_BITS: Final = 16
SEQ_BITS: Final = 32


def distance(later: int, earlier: int, bits: int) -> int:
    """The steps from `earlier` to `later`; negative if `later` is in fact the earlier one."""
    half = 1 << (bits - 1)
    return ((later - earlier + half) & ((1 << bits) - 1)) - half


def newer(left: int, right: int, bits: int) -> bool:
    """Whether `left` is later than `right`; of two exactly opposite numbers neither is."""
    return 0 < ((left - right) & ((1 << bits) - 1)) < 1 << (bits - 1)


def after(number: int, bits: int, steps: int = 1) -> int:
    """The number `steps` later."""
    return (number + steps) & ((1 << bits) - 1)
