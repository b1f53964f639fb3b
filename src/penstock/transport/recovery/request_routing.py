"""By what requests find those who may have a lost message.

A request is routed by the Bloom set of the lost message, as a record or a digest told
it, so it reaches all whose filters the message matches. The tag of its publisher is
added, for the publisher itself, and that of a scope, so that others need not answer.
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


class RequestRouting:
    """Of one endpoint's requests, and of its offers to answer others'."""

    __slots__ = ("_adds_publisher", "_encoder", "_scope")

    def __init__(self, encoder: Encoder, settings: RecoverySettings) -> None:
        self._encoder: Final = encoder
        self._adds_publisher: Final = settings.publisher_answers
        self._scope: Final = (
            None if settings.scope is None else Constraint(_SCOPE_ATTRIBUTE, Op.EQ, settings.scope)
        )

    def bloom_for(self, loss: Loss) -> int | None:
        """For a request; None if what is known of the message routes nothing."""
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
        """Whether a request routed by these could have been for this message."""
        return not bloom & ~(
            self._encoder.message_bits(frame.message) | self._extra_bits(frame.pub)
        )

    def _extra_bits(self, publisher: int) -> int:
        """What is not of the message."""
        bits = 0
        if self._scope is not None:
            bits |= self._encoder.filter_bits(Filter([self._scope]))
        if self._adds_publisher:
            bits |= self._encoder.filter_bits(Filter([_publisher_constraint(publisher)]))
        return bits

    def request_filter(self, predicate: Predicate) -> Predicate:
        """Asks for the requests of those who lost what it matches."""
        if self._scope is None:
            return predicate
        # One constraint less is asked of a filter that has no room: it offers more, not less.
        constraints_max = CONSTRAINTS_MAX - 1
        return Predicate(
            [
                Filter([*filter_.constraints[:constraints_max], self._scope])
                for filter_ in predicate.filters
            ]
        )

    def own_request_filter(self, publisher: int) -> Predicate:
        """Asks for the requests of those who lost what is published here."""
        return self.request_filter(Predicate([Filter([_publisher_constraint(publisher)])]))


def _publisher_constraint(publisher: int) -> Constraint:
    return Constraint(_PUBLISHER_ATTRIBUTE, Op.EQ, f"{publisher:016x}")
