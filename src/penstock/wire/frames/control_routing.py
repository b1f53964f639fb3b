"""Routes control frames through a network that routes messages.

Each control frame has a routing message, never transmitted, that names its receivers; these
subscribe to it. Attribute names that begin with `penstock.` are reserved for the transport: an
application that uses them receives frames that are not its own.

Requests have a traffic class of their own in our overlay, which routes them by their Bloom set
directly. For a network without such a class there is the papers' mapping, one attribute for each
bit; it takes more bits to encode again [R7]. A dense set has more bits than a message may have
attributes: it is folded, bit i onto bit i modulo 61, and so are the filters' sets. A subset remains
a subset when folded; the additional matches cost traffic, but no request is lost.
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

TO_ATTRIBUTE: Final = "penstock.to"
DIGEST_ATTRIBUTE: Final = "penstock.digest"
REQUEST_ATTRIBUTE: Final = "penstock.request"

# More than the peers that one endpoint communicates with at a time.
_CACHED_MAX: Final = 4_096
# A prime, so that bits a power of two apart do not collide.
_FOLDED_BITS: Final = 61
_SET_BITS_MAX: Final = ATTRIBUTES_MAX - 1


@lru_cache(_CACHED_MAX)
def endpoint_message(endpoint_id: int) -> Message:
    """Routes a frame to one endpoint."""
    return Message({TO_ATTRIBUTE: _endpoint_name(endpoint_id)})


@lru_cache(_CACHED_MAX)
def digest_message(publisher: int) -> Message:
    """Routes a frame to the subscribers of one publisher's digests."""
    return Message({DIGEST_ATTRIBUTE: _endpoint_name(publisher)})


def request_message(bloom: int) -> Message:
    """Routes a request to the endpoints that may have the message with this Bloom set."""
    is_whole = bloom.bit_count() <= _SET_BITS_MAX
    names = _bit_names(bloom if is_whole else _fold(bloom))
    return Message(
        {REQUEST_ATTRIBUTE: True if is_whole else _FOLDED_BITS, **dict.fromkeys(names, True)}
    )


def endpoint_filter(endpoint_id: int) -> Predicate:
    """Matches the frames for this endpoint."""
    return Predicate([Filter([Constraint(TO_ATTRIBUTE, Op.EQ, _endpoint_name(endpoint_id))])])


def digest_filter(publisher: int) -> Predicate:
    """Matches the digests of a publisher."""
    return Predicate([Filter([Constraint(DIGEST_ATTRIBUTE, Op.EQ, _endpoint_name(publisher))])])


def request_filter(filter_bits: Sequence[int]) -> Predicate:
    """Matches requests for any message that filters with these Bloom sets may match.

    Each set takes two filters, because a request may be whole or folded.
    """
    whole = [_subset_filter(True, bloom) for bloom in filter_bits]
    return Predicate(
        [*whole, *[_subset_filter(_FOLDED_BITS, _fold(bloom)) for bloom in filter_bits]]
    )


def _subset_filter(form: int, bloom: int) -> Filter:
    """A filter for sets that contain `bloom`; cut to fit, it matches more, never less."""
    names = _bit_names(bloom)[: CONSTRAINTS_MAX - 1]
    return Filter(
        [
            Constraint(REQUEST_ATTRIBUTE, Op.EQ, form),
            *[Constraint(name, Op.EQ, True) for name in names],
        ]
    )


def _fold(bloom: int) -> int:
    check_unsigned(8 * BLOOM_BYTES_MAX, bloom=bloom)
    folded = 0
    while bloom:
        folded |= bloom & (1 << _FOLDED_BITS) - 1
        bloom >>= _FOLDED_BITS
    return folded


def _endpoint_name(endpoint_id: int) -> str:
    check_unsigned(64, endpoint=endpoint_id)
    return f"{endpoint_id:016x}"


def _bit_names(bloom: int) -> list[str]:
    """The attribute names of the bits of a set, lowest first."""
    check_unsigned(8 * BLOOM_BYTES_MAX, bloom=bloom)
    return [f"b{bit}" for bit in range(bloom.bit_length()) if bloom >> bit & 1]
