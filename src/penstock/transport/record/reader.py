"""The message that a record came with, as far as the record's entries refer to it.

Entries refer to its tags by place. The first places are those of its attributes'
own values, in the order of the attributes: where such a tag stands is known
without a hash. What else a schema says of the attributes comes after them all.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError
from penstock.wire.codec.record import EntryCodec
from penstock.wire.frames.record import FingerprintEntry


class MessageTags(NamedTuple):
    """A message's tags: `presence` sorted, `values` by place."""

    presence: tuple[int, ...]
    values: tuple[int, ...]


def tags_of(message: Message, encoder: Encoder) -> MessageTags:
    """The fingerprints of a message's tags."""
    items = encoder.attribute_fingerprints(message)
    values = [fingerprints[0] for _, fingerprints in items]
    if encoder.schema.attributes:
        values += [value for _, prints in items for value in prints[1:]]
    return MessageTags(tuple(sorted({presence for presence, _ in items})), tuple(values))


class EntryReader:
    """Opens what refers to these tags, or to none."""

    __slots__ = ("_codec",)

    def __init__(self, presence: tuple[int, ...], values: tuple[int, ...], width_bits: int) -> None:
        self._codec = EntryCodec(presence, values, width_bits)

    def read(self, packed: bytes) -> FingerprintEntry | None:
        """What is in an entry; None if it says nothing or cannot be read."""
        try:
            return self._codec.unpack(packed)
        except PeerError:
            return None


class CarriedEntryReader:
    """Opens entries; its tags are worked out when the first one is opened."""

    __slots__ = ("_codec", "_encoder", "message")

    def __init__(self, message: Message, encoder: Encoder) -> None:
        self.message = message
        self._encoder = encoder
        self._codec: EntryCodec | None = None

    @property
    def codec(self) -> EntryCodec:
        """For the entries that the message carries."""
        codec = self._codec
        if codec is None:
            tags = tags_of(self.message, self._encoder)
            codec = self._codec = EntryCodec(*tags, self._encoder.fingerprint_bits)
        return codec

    @property
    def value_count(self) -> int:
        """How many value tags the message has."""
        if not self._encoder.schema.attributes:
            return len(self.message.attributes)
        return len(self.codec.values)

    def read(self, packed: bytes) -> FingerprintEntry | None:
        """What is in an entry; None if it says nothing or cannot be read."""
        try:
            return self.codec.unpack(packed)
        except PeerError:
            return None
