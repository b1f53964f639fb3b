"""The two families of frames, and the checks they share.

Transport frames are what endpoints tell one another; overlay frames are what
brokers and their clients do, and some of them carry a transport frame.
"""

from collections.abc import Sequence
from enum import IntEnum
from operator import ge
from typing import Any

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.limits import BLOOM_BYTES_MAX


# Frames hold no cycles, so the collector need not look at them.
class TransportFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Anything an endpoint says to another."""


class OverlayFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Anything said between a broker and its neighbours or clients."""


class TrafficClass(IntEnum):
    """What a packet is matched against: subscriptions, or who can answer a request."""

    DATA = 0
    REQUEST = 1


def check_unsigned(bits: int, **fields: int) -> None:
    """Refuses what does not fit an unsigned field of so many bits."""
    for name, value in fields.items():
        if value >> bits:
            raise UsageError(f"{name} must be 0 to 2^{bits} - 1, not {value}")


def check_type(kind: type, **fields: object) -> None:
    """Refuses what only looks like a value of this type, as 1 does like True."""
    for name, value in fields.items():
        if type(value) is not kind:
            raise UsageError(f"{name} must be a {kind.__name__}, not {value!r}")


def check_count(what: str, items: Sequence[object], items_max: int) -> None:
    """Refuses what no frame has room for."""
    if len(items) > items_max:
        raise UsageError(f"at most {items_max} {what} fit a frame, not {len(items)}")


def check_ascending(what: str, keys: Sequence[Any]) -> None:
    """Sets travel sorted and without repetition, so that equal ones are written equally."""
    if any(map(ge, keys, keys[1:])):
        raise UsageError(f"{what} must be sorted and distinct")


def check_blooms(bloom_bytes: int, *blooms: int) -> None:
    """Bloom sets are integers, as everywhere; the frame says how many bytes each takes."""
    if not 0 < bloom_bytes <= BLOOM_BYTES_MAX:
        raise UsageError(f"a Bloom set takes 1 to {BLOOM_BYTES_MAX} bytes, not {bloom_bytes}")
    for bloom in blooms:
        check_unsigned(8 * bloom_bytes, bloom=bloom)
