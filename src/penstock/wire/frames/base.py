"""The base classes of all frames, and the checks they share.

Endpoints exchange transport frames; brokers and their clients exchange overlay frames, some of
which carry a transport frame.
"""

from collections.abc import Sequence
from enum import IntEnum
from operator import ge
from typing import Any

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.limits import BLOOM_BYTES_MAX


# Frames form no reference cycles, so the garbage collector need not track them.
class TransportFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any frame from one endpoint to another."""


class OverlayFrame(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any frame between a broker and its neighbours or clients."""


class TrafficClass(IntEnum):
    """What packets are matched against: subscriptions, or caches that can repair a request."""

    DATA = 0
    REQUEST = 1


def check_unsigned(bits: int, **fields: int) -> None:
    """Refuses values that do not fit an unsigned field of this width."""
    for name, value in fields.items():
        if value >> bits:
            raise UsageError(f"{name} must be 0 to 2^{bits} - 1, not {value}")


def check_type(kind: type, /, **fields: object) -> None:
    """Refuses values of any other type, such as 1 for True."""
    for name, value in fields.items():
        if type(value) is not kind:
            raise UsageError(f"{name} must be a {kind.__name__}, not {value!r}")


def check_count(what: str, items: Sequence[object], items_max: int) -> None:
    """Refuses more items than a frame has room for."""
    if len(items) > items_max:
        raise UsageError(f"at most {items_max} {what} fit a frame, not {len(items)}")


def check_ascending(what: str, keys: Sequence[Any]) -> None:
    """Refuses sets that are not sorted and distinct, so that equal sets have equal bytes."""
    if any(map(ge, keys, keys[1:])):
        raise UsageError(f"{what} must be sorted and distinct")


def check_blooms(bloom_bytes: int, *blooms: int) -> None:
    """Refuses Bloom sets, given as integers, that do not fit `bloom_bytes` each."""
    if not 0 < bloom_bytes <= BLOOM_BYTES_MAX:
        raise UsageError(f"a Bloom set takes 1 to {BLOOM_BYTES_MAX} bytes, not {bloom_bytes}")
    for bloom in blooms:
        check_unsigned(8 * bloom_bytes, bloom=bloom)
