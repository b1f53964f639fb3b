"""Writes publication records: the description of the messages sent before a message.

Entries are packed relative to the carrying message. Most share only their attribute names
with it, and then have the same bytes in every record.

Entries refer to the carrier's values by fingerprint, and receivers look them up by name.
If two different values have the same fingerprint, a receiver could overlook a message
that it waits for; such an entry, one in ten thousand, is written in full.

Does not know frames; times are arguments.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from math import isnan
from typing import Final

from penstock.content.bloom import BloomParams
from penstock.content.message import Message
from penstock.content.tags import Encoder, presence_tag
from penstock.content.value import Key
from penstock.kernel.instant import MICROSECOND, Instant
from penstock.transport.record.reader import MessageTags, tags_of
from penstock.transport.settings import RecordSettings
from penstock.wire.codec.record import EntryCodec, EntryDraft, pack_bloom
from penstock.wire.frames.record import (
    EMPTY_RECORD,
    BloomEntry,
    FingerprintEntry,
    PublicationRecord,
)
from penstock.wire.quantise import DELTA_BITS, delta_100us, delta_ns, quantise_float16

_UNIT_NS: Final = delta_ns(1)


class RecordWriter:
    """Writes the record of each message sent."""

    __slots__ = ("_entry_writer", "_sent_times_ns", "_settings")

    def __init__(self, settings: RecordSettings, encoder: Encoder) -> None:
        self._settings: Final = settings
        # Newest first.
        self._sent_times_ns: Final[deque[Instant]] = deque(maxlen=settings.size)
        self._entry_writer: Final = (
            _FingerprintEntryWriter(settings, encoder)
            if settings.bloom is None
            else _BloomEntryWriter(settings.size, settings.bloom, encoder)
        )

    def append(self, message: Message, sent_ns: Instant) -> PublicationRecord:
        """Return the record of the messages before this one; add it to the history."""
        if not self._settings.size:
            return EMPTY_RECORD
        # Timestamps on the wire are whole microseconds.
        sent_ns -= sent_ns % MICROSECOND
        deltas = self._deltas_100us(sent_ns)
        record = PublicationRecord.from_columns(
            deltas, self._entry_writer.write(message, len(deltas))
        )
        self._sent_times_ns.appendleft(sent_ns)
        return record

    def undo(self) -> None:
        """Remove the last message from the history: it was not sent."""
        if self._settings.size:
            self._sent_times_ns.popleft()
            self._entry_writer.undo()

    def _deltas_100us(self, sent_ns: Instant) -> list[int]:
        """Return the ages of the messages that the record describes, in units of 100 µs."""
        past = list(self._sent_times_ns)
        if self._settings.cover_ns is not None:
            since = sent_ns - self._settings.cover_ns
            while past and past[-1] < since:
                past.pop()
        # Inlines `delta_100us` for speed; it is called only if a delta is out of range.
        rounded = sent_ns + _UNIT_NS // 2
        deltas = [(rounded - before) // _UNIT_NS for before in past]
        if deltas and (min(deltas) < 0 or max(deltas) >> DELTA_BITS):
            return [delta_100us(sent_ns - before) for before in past]
        return deltas


class _BloomEntryWriter:
    """Writes entries as Bloom sets, newest first."""

    __slots__ = ("_bloom", "_encoder", "_history")

    def __init__(self, size: int, bloom: BloomParams, encoder: Encoder) -> None:
        self._bloom = bloom
        self._encoder = encoder
        self._history: deque[bytes] = deque(maxlen=size)

    def write(self, message: Message, count: int) -> list[bytes]:
        """Return the entries of the `count` messages before this one; add it to the history."""
        packed = list(islice(self._history, count))
        fingerprints = self._encoder.message_fingerprints(message)
        bits = self._bloom.bits_of_fingerprints(fingerprints.presence + fingerprints.values)
        self._history.appendleft(pack_bloom(BloomEntry(bits, self._bloom.m + 7 >> 3)))
        return packed

    def undo(self) -> None:
        """Remove the last message from the history."""
        self._history.popleft()


class _FingerprintEntryWriter:
    """Writes entries as fingerprints."""

    __slots__ = ("_encoder", "_history", "_numeric_attributes", "_width_bits")

    def __init__(self, settings: RecordSettings, encoder: Encoder) -> None:
        self._encoder = encoder
        self._width_bits = encoder.fingerprint_bits
        self._numeric_attributes = {
            name: encoder.fingerprint(presence_tag(name)) for name in settings.numbers
        }
        self._history: deque[_PastMessage] = deque(maxlen=settings.size)

    def write(self, message: Message, count: int) -> list[bytes]:
        """Return the entries of the `count` messages before this one; add it to the history."""
        tags = tags_of(message, self._encoder)
        codec = EntryCodec(*tags, self._width_bits)
        numeric_values = self._numeric_values(message, tags)
        entry = FingerprintEntry(tags.presence, tuple(sorted(codec.value_set)), numeric_values)
        current = _PastMessage(entry, self._width_bits, message, tags)
        shape, carried = (tags.presence, len(tags.values)), codec.value_set
        # The most frequent case is inlined.
        packed = [
            past.packed_unshared
            if past.packed_unshared
            and past.shape == shape
            and past.fingerprints.isdisjoint(carried)
            else past.pack_for(current, codec)
            for past in islice(self._history, count)
        ]
        self._history.appendleft(current)
        return packed

    def undo(self) -> None:
        """Remove the last message from the history."""
        self._history.popleft()

    def _numeric_values(self, message: Message, tags: MessageTags) -> tuple[tuple[int, float], ...]:
        # If two attributes have the same presence tag, a number would be ambiguous.
        if not self._numeric_attributes or len(tags.presence) < len(message.attributes):
            return ()
        numeric_values = []
        for name, presence in self._numeric_attributes.items():
            value = message.attributes.get(name)
            if (type(value) is int or type(value) is float) and not isnan(value):
                numeric_values.append((presence, quantise_float16(float(value))))
        return tuple(sorted(numeric_values))


class _PastMessage:
    """A message sent, as later records describe it."""

    __slots__ = (
        "_attributes_by_fingerprint",
        "_draft",
        "_keys",
        "_value_fingerprints",
        "fingerprints",
        "packed_unshared",
        "shape",
    )

    def __init__(
        self, entry: FingerprintEntry, width_bits: int, message: Message, tags: MessageTags
    ) -> None:
        self._draft = EntryDraft(entry, width_bits)
        self._keys = message.keys
        self._value_fingerprints = tags.values
        self._attributes_by_fingerprint: dict[int, tuple[str, Key]] = {}
        self.fingerprints = self._draft.value_set
        # Cached bytes for any carrier with the same shape and none of its values.
        self.packed_unshared = b""
        self.shape = (entry.presence, len(entry.values))

    @property
    def attributes_by_fingerprint(self) -> dict[int, tuple[str, Key]]:
        """The message's attributes by the fingerprints of their values."""
        if not self._attributes_by_fingerprint:
            # The first fingerprints are those of the attributes' own values, in the same order.
            self._attributes_by_fingerprint = dict(
                zip(self._value_fingerprints, self._keys.items(), strict=False)
            )
        return self._attributes_by_fingerprint

    def pack_for(self, carrier: _PastMessage, codec: EntryCodec) -> bytes:
        """Return the entry's bytes in the record of `carrier`."""
        shared = self.fingerprints & codec.value_set
        if shared and self._is_ambiguous(shared, carrier):
            shared = frozenset()
        packed = self._draft.pack(codec, shared)
        if not shared and self.shape == (codec.presence, len(codec.values)):
            self.packed_unshared = packed
        return packed

    def _is_ambiguous(self, shared: frozenset[int], carrier: _PastMessage) -> bool:
        """Whether a fingerprint stands for two different values in the messages."""
        items, others = self.attributes_by_fingerprint, carrier.attributes_by_fingerprint
        if len(items) < len(self._keys):
            return True
        for value in shared:
            item, other = items.get(value), others.get(value)
            if item != other and not _are_both_nan(item, other):
                return True
        return False


def _are_both_nan(item: tuple[str, Key] | None, other: tuple[str, Key] | None) -> bool:
    """Whether both are NaN of one attribute: their tags are equal although the values are not."""
    if item is None or other is None or item[0] != other[0]:
        return False
    return item[1] != item[1] and other[1] != other[1]
