"""Numbers that begin again at 0 when they have no more bits: which of two is later."""

from __future__ import annotations

from penstock.wire.frames.cast.base import Origin


def distance(number: int, behind: int, *, bits: int) -> int:
    """How far a number is ahead of another; negative if it lies behind it."""
    ahead = number - behind & (1 << bits) - 1
    return ahead - (1 << bits) if ahead >> (bits - 1) else ahead


def is_later(origin: Origin, than: Origin) -> bool:
    """Of two frames of a node: its starts are never numbered anew."""
    if origin.boot != than.boot:
        return origin.boot > than.boot
    return distance(origin.number, than.number, bits=32) > 0
