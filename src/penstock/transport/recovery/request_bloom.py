"""Computes the Bloom set that routes a request to endpoints that may have the message.

A request is routed by the Bloom set of the lost message, as a record or a digest described it, so
it reaches all endpoints whose filters the message matches. A tag of the publisher is added, so
that the request reaches the publisher, and a tag of the scope, so that it reaches only endpoints
with the same scope or none. Does not know when requests are sent.
"""

from __future__ import annotations

from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import CONSTRAINTS_MAX
from penstock.content.tags import Encoder
from penstock.transport.facts import Loss
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire.frames.data import Data
from penstock.wire.frames.record import BloomEntry, FingerprintEntry

_PUBLISHER_ATTRIBUTE: Final = "penstock.pub"
_SCOPE_ATTRIBUTE: Final = "penstock.scope"


class RequestBloom:
    """Bloom sets of one endpoint's requests, and filters for the requests it wants to receive."""

    __slots__ = ("_adds_publisher", "_encoder", "_scope")

    def __init__(self, encoder: Encoder, settings: RecoverySettings) -> None:
        self._encoder: Final = encoder
        self._adds_publisher: Final = settings.publisher_answers
        self._scope: Final = (
            None if settings.scope is None else Constraint(_SCOPE_ATTRIBUTE, Op.EQ, settings.scope)
        )

    def bloom_for(self, loss: Loss) -> int | None:
        """Return the Bloom set for a request; None if the loss has no usable description."""
        encoder = self._encoder
        entry = None if loss.glimpse is None else loss.glimpse.entry
        if isinstance(entry, FingerprintEntry):
            bits = encoder.params.bits_of_fingerprints(entry.presence + entry.values)
        elif isinstance(entry, BloomEntry) and entry.bloom_bytes == encoder.params.m + 7 >> 3:
            bits = entry.bloom
        else:
            return None
        return bits | self._extra_bits(loss.id.pub)

    def could_be(self, bloom: int, frame: Data) -> bool:
        """Whether a request with this Bloom set could have been for this message."""
        return not bloom & ~(
            self._encoder.message_bits(frame.message) | self._extra_bits(frame.pub)
        )

    def _extra_bits(self, publisher: int) -> int:
        """Return the bits of the scope and of the publisher."""
        bits = 0
        if self._scope is not None:
            bits |= self._encoder.filter_bits(Filter([self._scope]))
        if self._adds_publisher:
            bits |= self._encoder.filter_bits(Filter([_publisher_constraint(publisher)]))
        return bits

    def request_filter(self, predicate: Predicate) -> Predicate:
        """Return the filter for requests for messages that match the predicate."""
        if self._scope is None:
            return predicate
        # A full filter loses one constraint, and so receives more requests, never fewer.
        constraints_max = CONSTRAINTS_MAX - 1
        return Predicate(
            [
                Filter([*filter_.constraints[:constraints_max], self._scope])
                for filter_ in predicate.filters
            ]
        )

    def own_request_filter(self, publisher: int) -> Predicate:
        """Return the filter for requests for messages of this publisher."""
        return self.request_filter(Predicate([Filter([_publisher_constraint(publisher)])]))


def _publisher_constraint(publisher: int) -> Constraint:
    return Constraint(_PUBLISHER_ATTRIBUTE, Op.EQ, f"{publisher:016x}")
