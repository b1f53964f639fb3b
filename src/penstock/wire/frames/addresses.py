"""By what frames that are no messages find their way through a network that routes messages.

Each has a message of its own, never written, that says whom it is for; whoever
wants such frames subscribes to that. Names that begin with `penstock.` are the
transport's: an application that uses them meets frames that are not its own.

Requests have a class of their own in our overlay, which routes them by their Bloom
set as it is. For a network without such a class there is the papers' mapping, an
attribute for each bit. It takes more bits to encode once more, and more attributes
than a message may have if the set is well filled [R7].
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import ATTRIBUTES_MAX, CONSTRAINTS_MAX
from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_unsigned
from penstock.wire.limits import BLOOM_BYTES_MAX

TO: Final = "penstock.to"
DIGEST: Final = "penstock.digest"
REQUEST: Final = "penstock.request"

# Peers whom one endpoint talks to at a time, and then some.
_KEPT: Final = 4_096


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
    return Message({REQUEST: True, **dict.fromkeys(_bits(bloom, ATTRIBUTES_MAX - 1), True)})


def to_endpoint(endpoint: int) -> Predicate:
    """Asks for what is for this endpoint alone."""
    return Predicate([Filter([Constraint(TO, Op.EQ, _name(endpoint))])])


def digest_of(pub: int) -> Predicate:
    """Asks for the digests of a publisher."""
    return Predicate([Filter([Constraint(DIGEST, Op.EQ, _name(pub))])])


def answering(filter_bits: Sequence[int]) -> Predicate:
    """Asks for requests for any message that filters with these Bloom sets may match."""
    return Predicate([_within(bloom) for bloom in filter_bits])


def _within(bloom: int) -> Filter:
    names = (REQUEST, *_bits(bloom, CONSTRAINTS_MAX - 1))
    return Filter([Constraint(name, Op.EQ, True) for name in names])


def _name(endpoint: int) -> str:
    check_unsigned(64, endpoint=endpoint)
    return f"{endpoint:016x}"


def _bits(bloom: int, most: int) -> list[str]:
    """What the bits of a set are called, lowest first."""
    check_unsigned(8 * BLOOM_BYTES_MAX, bloom=bloom)
    if bloom.bit_count() > most:
        raise UsageError(
            f"a Bloom set of {bloom.bit_count()} bits does not become attributes, of which there"
            f" is room for {most}: send requests as a class of their own"
        )
    return [f"b{bit}" for bit in range(bloom.bit_length()) if bloom >> bit & 1]
