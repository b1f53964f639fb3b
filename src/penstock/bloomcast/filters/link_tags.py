"""The tags of a directed link: the bits that a filter has if a packet is to take that link.

A tag is an integer of 248 bits, five of them set. Position p is the bit of value 2**p: a header has
its filter as 31 big-endian bytes, so position 0 is the last bit of the last byte. Knows no nodes
and no links: tags follow from a secret and an epoch alone.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Final, TypeAlias

from penstock.wire.frames.cast.base import CHOICES, FILTER_BITS

BITS_A_TAG: Final = 5
# One filter, or one tag, for each candidate.
ByChoice: TypeAlias = tuple[int, ...]

_DIGEST_WORDS: Final = Struct(">16H")
_EPOCH_BITS: Final = 32


def tags(secret: bytes, epoch: int) -> ByChoice:
    """The candidate tags of a link in an epoch."""
    assert not epoch >> _EPOCH_BITS, f"epoch {epoch}"
    start = epoch.to_bytes(4, "big")
    return tuple([_tag(secret, start + bytes([choice])) for choice in range(CHOICES)])


def _tag(secret: bytes, start: bytes) -> int:
    bits = counter = 0
    word: int
    while True:
        # Sixteen words nearly always hold five distinct positions; if not, the next digest goes on.
        data = start + bytes([counter])
        digest = blake2b(data, digest_size=_DIGEST_WORDS.size, key=secret).digest()
        for word in _DIGEST_WORDS.unpack(digest):
            bits |= 1 << word % FILTER_BITS
            if bits.bit_count() == BITS_A_TAG:
                return bits
        counter += 1
