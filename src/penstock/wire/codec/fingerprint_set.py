"""Sets of fingerprints, encoded so that a missing member is found quickly.

For r sorted members of w bits, the low ⌊w/8⌋ bytes of each are stored side by side, lowest byte
first: a search for two bytes shows that a member is missing. The w mod 8 high bits, which increase
from member to member, are one code for all:

    h1 ≤ h2 ≤ ... ≤ hr   is   C(h1, 1) + C(h2 + 1, 2) + ... + C(hr + r - 1, r)

This is the rank among all such sequences, of which there are C(n + r - 1, r) for n possible values
(the combinatorial number system). Ten members of 20 bits take 22 bits and 20 bytes. Encoding takes
one table lookup per member, decoding one binary search per member.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from math import comb
from operator import ge, getitem
from struct import Struct
from typing import Final, NamedTuple

from penstock.kernel.errors import PeerError, UsageError

_STRUCT_CODES: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}


class _HighBitsTable(NamedTuple):
    """For non-decreasing sequences: the addend of each value, and the number of sequences."""

    addends: tuple[tuple[int, ...], ...]
    total: int
    code_bits: int


def high_bits_code_bits(count: int, width_bits: int) -> int:
    """The size in bits of the code for `count` members."""
    return _high_bits_table(count, width_bits & 7).code_bits


def check_width(fingerprints: Sequence[int], width_bits: int) -> None:
    """Refuses sorted members of more than `width_bits` bits."""
    if fingerprints and fingerprints[-1] >> width_bits:
        raise UsageError(f"fingerprint {fingerprints[-1]} has more than {width_bits} bits")


def high_bits_code(fingerprints: Sequence[int], width_bits: int) -> int:
    """The code for the high bits of sorted members."""
    low_bits = width_bits & ~7
    addends = _high_bits_table(len(fingerprints), width_bits & 7).addends
    return sum(map(getitem, addends, [fingerprint >> low_bits for fingerprint in fingerprints]))


def pack_low_bytes(fingerprints: Sequence[int], width_bits: int) -> bytes:
    """The low bytes of all members."""
    low_bytes = width_bits >> 3
    mask = (1 << 8 * low_bytes) - 1
    lows = [fingerprint & mask for fingerprint in fingerprints]
    layout = _layout(len(fingerprints), low_bytes)
    if layout is not None:
        return layout.pack(*lows)
    return b"".join([low.to_bytes(low_bytes, "little") for low in lows])


def read_fingerprints(code: int, count: int, lows: bytes, width_bits: int) -> tuple[int, ...]:
    """Decodes `count` members from their code and their low bytes, which must be complete."""
    if not count:
        return ()
    low_bytes = width_bits >> 3
    low_bits = low_bytes << 3
    addends, total, _ = _high_bits_table(count, width_bits & 7)
    if code >= total:
        raise PeerError(f"record entry: no {count} fingerprints have the code {code}")
    layout = _layout(count, low_bytes)
    if layout is not None:
        parts = list(layout.unpack(lows))
    else:
        stops = range(low_bytes, count * low_bytes + 1, low_bytes) if low_bytes else [0] * count
        parts = [int.from_bytes(lows[stop - low_bytes : stop], "little") for stop in stops]
    for i in range(count - 1, -1, -1):
        row = addends[i]
        high = bisect_right(row, code) - 1
        code -= row[high]
        parts[i] |= high << low_bits
    if any(map(ge, parts, parts[1:])):
        raise PeerError("record entry: fingerprints are not in order")
    return tuple(parts)


def read_high_bits(code: int, count: int, index: int, width_bits: int) -> int:
    """The high bits of the member at `index`, from the code of all `count`."""
    addends, total, _ = _high_bits_table(count, width_bits & 7)
    if code >= total:
        raise PeerError(f"record entry: no {count} fingerprints have the code {code}")
    high = 0
    for i in range(count - 1, index - 1, -1):
        row = addends[i]
        high = bisect_right(row, code) - 1
        code -= row[high]
    return high


@cache
def _high_bits_table(count: int, high_bits: int) -> _HighBitsTable:
    values = 1 << high_bits
    total = comb(values + count - 1, count)
    addends = tuple([_addends(i, values) for i in range(count)])
    return _HighBitsTable(addends, total, (total - 1).bit_length())


@cache
def _addends(i: int, values: int) -> tuple[int, ...]:
    return tuple([comb(high + i, i + 1) for high in range(values)])


@cache
def _layout(count: int, low_bytes: int) -> Struct | None:
    code = _STRUCT_CODES.get(low_bytes)
    return None if code is None else Struct(f"<{count}{code}")
