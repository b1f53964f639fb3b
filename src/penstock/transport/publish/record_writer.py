"""The publication record where it is made: what to say of the messages just sent.

Entries are packed against the message that is about to leave. Most share nothing
with it but their names, and are then the same bytes every time.

Entries refer to the carrier's values by fingerprint, and receivers look for them
by name. Where two values that differ have one fingerprint, a receiver could miss
what it waits for: such an entry, one in ten thousand, is spelt out.

Knows nothing of frames, and of time only what it is told.
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
from penstock.transport.record.reader import Listing, listing_of
from penstock.transport.settings import RecordSettings
from penstock.wire.codec.record import Draft, EntryCodec, pack_bloom
from penstock.wire.frames.record import EMPTY_RECORD, BloomEntry, FingerprintEntry, Record
from penstock.wire.quantise import DELTA_BITS, delta_100us, delta_ns, quantise_float16

_UNIT_NS: Final = delta_ns(1)


class RecordKeeper:
    """Makes the record of each message that leaves."""

    __slots__ = ("_departures", "_settings", "_writer")

    def __init__(self, settings: RecordSettings, encoder: Encoder) -> None:
        self._settings: Final = settings
        # Newest first.
        self._departures: Final[deque[Instant]] = deque(maxlen=settings.size)
        self._writer: Final = (
            _TagWriter(settings, encoder)
            if settings.bloom is None
            else _SetWriter(settings.size, settings.bloom, encoder)
        )

    def attach(self, message: Message, departed: Instant) -> Record:
        """The record of the messages before this one; from now on this one is in it."""
        if not self._settings.size:
            return EMPTY_RECORD
        # Stamps on the wire are whole microseconds.
        departed -= departed % MICROSECOND
        deltas = self._deltas_100us(departed)
        record = Record.joined(deltas, self._writer.write(message, len(deltas)))
        self._departures.appendleft(departed)
        return record

    def retract(self) -> None:
        """The message attached last never left."""
        if self._settings.size:
            self._departures.popleft()
            self._writer.retract()

    def _deltas_100us(self, departed: Instant) -> list[int]:
        """How long ago those left that the record is to tell of."""
        past = list(self._departures)
        if self._settings.cover_ns is not None:
            since = departed - self._settings.cover_ns
            while past and past[-1] < since:
                past.pop()
        # As quantise.delta_100us has it, in one go; at its edges it is asked itself.
        rounded = departed + _UNIT_NS // 2
        deltas = [(rounded - before) // _UNIT_NS for before in past]
        if deltas and (min(deltas) < 0 or max(deltas) >> DELTA_BITS):
            return [delta_100us(departed - before) for before in past]
        return deltas


class _SetWriter:
    """Writes entries as Bloom sets."""

    __slots__ = ("_bloom", "_encoder", "_past")

    def __init__(self, size: int, bloom: BloomParams, encoder: Encoder) -> None:
        self._bloom = bloom
        self._encoder = encoder
        self._past: deque[bytes] = deque(maxlen=size)

    def write(self, message: Message, count: int) -> list[bytes]:
        """The entries of the `count` messages before this one, which is then remembered."""
        packed = list(islice(self._past, count))
        prints = self._encoder.message_fingerprints(message)
        bits = self._bloom.bits_of_fingerprints(prints.presence + prints.values)
        self._past.appendleft(pack_bloom(BloomEntry(bits, self._bloom.m + 7 >> 3)))
        return packed

    def retract(self) -> None:
        """Forgets the last one."""
        self._past.popleft()


class _TagWriter:
    """Writes entries as fingerprints."""

    __slots__ = ("_encoder", "_numbers", "_past", "_width_bits")

    def __init__(self, settings: RecordSettings, encoder: Encoder) -> None:
        self._encoder = encoder
        self._width_bits = encoder.fingerprint_bits
        self._numbers = {name: encoder.fingerprint(presence_tag(name)) for name in settings.numbers}
        self._past: deque[_Sent] = deque(maxlen=settings.size)

    def write(self, message: Message, count: int) -> list[bytes]:
        """The entries of the `count` messages before this one, which is then remembered."""
        listing = listing_of(message, self._encoder)
        codec = EntryCodec(*listing, self._width_bits)
        numbers = self._numbers_of(message, listing)
        entry = FingerprintEntry(listing.presence, tuple(sorted(codec.carried)), numbers)
        own = _Sent(entry, self._width_bits, message, listing)
        shape, carried = (listing.presence, len(listing.values)), codec.carried
        # What is done most is done here, without a call.
        packed = [
            sent.plain
            if sent.plain and sent.shape == shape and sent.members.isdisjoint(carried)
            else sent.packed(own, codec)
            for sent in islice(self._past, count)
        ]
        self._past.appendleft(own)
        return packed

    def retract(self) -> None:
        """Forgets the last one."""
        self._past.popleft()

    def _numbers_of(self, message: Message, listing: Listing) -> tuple[tuple[int, float], ...]:
        # Of two attributes with one presence tag, nobody could say whose the number is.
        if not self._numbers or len(listing.presence) < len(message.attributes):
            return ()
        numbers = []
        for name, presence in self._numbers.items():
            value = message.attributes.get(name)
            if (type(value) is int or type(value) is float) and not isnan(value):
                numbers.append((presence, quantise_float16(float(value))))
        return tuple(sorted(numbers))


class _Sent:
    """A message that was sent, as later records see it."""

    __slots__ = ("_draft", "_items", "_keys", "_places", "members", "plain", "shape")

    def __init__(
        self, entry: FingerprintEntry, width_bits: int, message: Message, listing: Listing
    ) -> None:
        self._draft = Draft(entry, width_bits)
        self._keys = message.keys
        self._places = listing.values
        self._items: dict[int, tuple[str, Key]] = {}
        self.members = self._draft.members
        # Its bytes, once known, in the record of any message of its shape with none of its values.
        self.plain = b""
        self.shape = (entry.presence, len(entry.values))

    @property
    def items(self) -> dict[int, tuple[str, Key]]:
        """Its attributes by the fingerprints of their values."""
        if not self._items:
            # The first places are those of the attributes' own values, in the same order.
            self._items = dict(zip(self._places, self._keys.items(), strict=False))
        return self._items

    def packed(self, carrier: _Sent, codec: EntryCodec) -> bytes:
        """Its bytes in the record of another."""
        shared = self.members & codec.carried
        if shared and self._is_mistakable(shared, carrier):
            shared = frozenset()
        packed = self._draft.pack(codec, shared)
        if not shared and self.shape == (codec.presence, len(codec.values)):
            self.plain = packed
        return packed

    def _is_mistakable(self, shared: frozenset[int], carrier: _Sent) -> bool:
        """Whether a fingerprint stands for one value here and for another there, or for two."""
        items, others = self.items, carrier.items
        if len(items) < len(self._keys):
            return True
        for value in shared:
            item, other = items.get(value), others.get(value)
            if item != other and not _are_nan(item, other):
                return True
        return False


def _are_nan(item: tuple[str, Key] | None, other: tuple[str, Key] | None) -> bool:
    """Whether both are NaN, which to tags is the same."""
    if item is None or other is None or item[0] != other[0]:
        return False
    return item[1] != item[1] and other[1] != other[1]
