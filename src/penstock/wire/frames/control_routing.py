"""By what frames that are no messages find their way through a network that routes messages.

Each has a message of its own, never written, that says whom it is for; whoever
wants such frames subscribes to that. Names that begin with `penstock.` are the
transport's: an application that uses them meets frames that are not its own.

Requests have a class of their own in our overlay, which routes them by their Bloom
set as it is. For a network without such a class there is the papers' mapping, an
attribute for each bit; it takes more bits to encode once more [R7]. A well filled set
has more bits than a message has attributes: such a set is folded, bit i onto bit i
modulo 61, and so are the filters' sets. A set within another stays within it, folded;
that more sets do costs traffic, and loses no request.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import ATTRIBUTES_MAX, CONSTRAINTS_MAX
from penstock.content.message import Message
from penstock.wire.frames.base import check_unsigned
from penstock.wire.limits import BLOOM_BYTES_MAX

TO: Final = "penstock.to"
DIGEST: Final = "penstock.digest"
REQUEST: Final = "penstock.request"

# Peers whom one endpoint talks to at a time, and then some.
_KEPT: Final = 4_096
# A prime: bits that lie a power of two apart do not meet.
_FOLDED: Final = 61
_SET_BITS_MAX: Final = ATTRIBUTES_MAX - 1


@lru_cache(_KEPT)
def unicast(endpoint: int) -> Message:
    """For one endpoint alone."""
    return Message({TO: _name(endpoint)})


@lru_cache(_KEPT)
def digests_of(pub: int) -> Message:
    """For all who want the digests of one publisher."""
    return Message({DIGEST: _name(pub)})


def request_bits(bloom: int) -> Message:
    """For all who may have the message with this Bloom set."""
    is_whole = bloom.bit_count() <= _SET_BITS_MAX
    names = _bits(bloom if is_whole else _fold(bloom))
    return Message({REQUEST: True if is_whole else _FOLDED, **dict.fromkeys(names, True)})


def to_endpoint(endpoint: int) -> Predicate:
    """Asks for what is for this endpoint alone."""
    return Predicate([Filter([Constraint(TO, Op.EQ, _name(endpoint))])])


def digest_of(pub: int) -> Predicate:
    """Asks for the digests of a publisher."""
    return Predicate([Filter([Constraint(DIGEST, Op.EQ, _name(pub))])])


def answering(filter_bits: Sequence[int]) -> Predicate:
    """Asks for requests for any message that filters with these Bloom sets may match.

    Each set takes two filters: a request may come whole or folded.
    """
    whole = [_within(True, bloom) for bloom in filter_bits]
    return Predicate([*whole, *[_within(_FOLDED, _fold(bloom)) for bloom in filter_bits]])


def _within(how: int, bloom: int) -> Filter:
    """Whoever asks for fewer bits than it might gets more, and misses nothing."""
    names = _bits(bloom)[: CONSTRAINTS_MAX - 1]
    return Filter(
        [Constraint(REQUEST, Op.EQ, how), *[Constraint(name, Op.EQ, True) for name in names]]
    )


def _fold(bloom: int) -> int:
    check_unsigned(8 * BLOOM_BYTES_MAX, bloom=bloom)
    folded = 0
    while bloom:
        folded |= bloom & (1 << _FOLDED) - 1
        bloom >>= _FOLDED
    return folded


def _name(endpoint: int) -> str:
    check_unsigned(64, endpoint=endpoint)
    return f"{endpoint:016x}"


def _bits(bloom: int) -> list[str]:
    """What the bits of a set are called, lowest first."""
    check_unsigned(8 * BLOOM_BYTES_MAX, bloom=bloom)
    return [f"b{bit}" for bit in range(bloom.bit_length()) if bloom >> bit & 1]
