"""Decodes record entries, which refer to the tags of the message that carries the record.

Entries refer to the carrier's tags by index. The first indexes are those of the attributes'
own values, in the order of the attributes, so that the index of such a tag is known without
hashing. Further tags that a schema adds follow. Does not know filters.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError
from penstock.wire.codec.record import EntryCodec
from penstock.wire.frames.record import FingerprintEntry


class MessageTags(NamedTuple):
    """Fingerprints of a message's tags: `presence` sorted, `values` by index."""

    presence: tuple[int, ...]
    values: tuple[int, ...]


def tags_of(message: Message, encoder: Encoder) -> MessageTags:
    """Return the fingerprints of a message's tags."""
    items = encoder.attribute_fingerprints(message)
    values = [fingerprints[0] for _, fingerprints in items]
    if encoder.schema.attributes:
        values += [value for _, fingerprints in items for value in fingerprints[1:]]
    return MessageTags(tuple(sorted({presence for presence, _ in items})), tuple(values))


class EntryReader:
    """Decodes entries that refer to the given tags, or to none."""

    __slots__ = ("_codec",)

    def __init__(self, presence: tuple[int, ...], values: tuple[int, ...], width_bits: int) -> None:
        self._codec = EntryCodec(presence, values, width_bits)

    def read(self, packed: bytes) -> FingerprintEntry | None:
        """Return the decoded entry; None if it is empty or cannot be read."""
        try:
            return self._codec.unpack(packed)
        except PeerError:
            return None


class CarriedEntryReader:
    """Decodes the entries that a message carries; computes its tags on first use."""

    __slots__ = ("_codec", "_encoder", "message")

    def __init__(self, message: Message, encoder: Encoder) -> None:
        self.message = message
        self._encoder = encoder
        self._codec: EntryCodec | None = None

    @property
    def codec(self) -> EntryCodec:
        """The codec for the entries that the message carries."""
        codec = self._codec
        if codec is None:
            tags = tags_of(self.message, self._encoder)
            codec = self._codec = EntryCodec(*tags, self._encoder.fingerprint_bits)
        return codec

    @property
    def value_count(self) -> int:
        """Number of value tags of the message."""
        if not self._encoder.schema.attributes:
            return len(self.message.attributes)
        return len(self.codec.values)

    def read(self, packed: bytes) -> FingerprintEntry | None:
        """Return the decoded entry; None if it is empty or cannot be read."""
        try:
            return self.codec.unpack(packed)
        except PeerError:
            return None
