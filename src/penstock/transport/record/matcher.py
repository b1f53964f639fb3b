"""Which of a record's entries a subscription would have wanted.

    filters that name values     looked up by one of them, which opens hardly any entry: `lookup`
    filters of names and ranges  asked once of all entries alike, and of those with numbers
    any others, or a mixture     asked of every entry, opened
    in the papers' way           entries are Bloom sets: `sets`

Knows nothing of what came or did not: it says what was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from penstock.content.bloom import BloomParams
from penstock.content.filter import Predicate
from penstock.content.tags import Encoder
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Duration
from penstock.transport.record.bloom_entries import SetQuestion
from penstock.transport.record.entry_match import MAYBE, NO, YES, question_of
from penstock.transport.record.reader import Base, Carrier
from penstock.transport.record.value_lookup import Lookup
from penstock.wire.codec.record import ALIKE, unpack_bloom
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.record import BloomEntry, FingerprintEntry, Record
from penstock.wire.quantise import delta_ns


class Glimpse(NamedTuple):
    """A message that was sent before the carrying one, and that we want or may want."""

    # Its number is the carrying message's less this; 1 is the one just before.
    back: int
    # It left so long before the carrying message.
    delta_ns: Duration
    # False: it matches as far as the entry tells, but a constraint is not told of [F17].
    is_certain: bool
    packed: bytes
    # Of whose record it is; None for a Bloom set, which refers to nothing.
    carrier: Carrier | Base | None

    @property
    def entry(self) -> FingerprintEntry | BloomEntry | None:
        """The entry, opened when asked for; None if what nobody had to read yet is malformed."""
        return unpack_bloom(self.packed) if self.carrier is None else self.carrier.open(self.packed)


class Opened(NamedTuple):
    """One entry of a digest."""

    # Its message left so long before the digest.
    delta_ns: Duration
    packed: bytes
    carrier: Base
    # None: it says nothing, or cannot be read.
    entry: FingerprintEntry | None


def open_digest(digest: Digest, encoder: Encoder) -> tuple[Opened, ...]:
    """A digest's entries, newest first, for all who ask something of them."""
    record = digest.record
    return _open(
        digest.base, record.count, record.data, digest.departed_100us, encoder.fingerprint_bits
    )


# A digest comes to many, and where many are in one process the others need not open it again.
@lru_cache(maxsize=128)
def _open(
    base: bytes, count: int, data: bytes, departed_100us: int, width_bits: int
) -> tuple[Opened, ...]:
    alone = Base((), (), width_bits)
    departed_ns = delta_ns(departed_100us)
    first = alone.open(base) if base else None
    if first is None:
        return ()
    carrier = Base(first.presence, first.values, width_bits)
    record = Record(count, data)
    return (
        Opened(departed_ns, base, alone, first),
        *(
            Opened(
                departed_ns + delta_ns(record.delta_100us(i)), packed, carrier, carrier.open(packed)
            )
            for i, packed in enumerate(record.all_packed(count))
        ),
    )


class Interest:
    """One predicate, asked of records; with `bloom` in the papers' way, by sets of that size.

    All subscriptions that have the predicate ask the same of a message, one after
    another: the last answer is remembered.
    """

    __slots__ = (
        "_answer",
        "_asked",
        "_bloom",
        "_encoder",
        "_is_of_values",
        "_lookup",
        "_malformed",
        "_questions",
        "_sets",
        "_told",
    )

    def __init__(
        self, predicate: Predicate, encoder: Encoder, bloom: BloomParams | None = None
    ) -> None:
        self._encoder = encoder
        self._bloom = bloom
        asked = [
            (question, encoder.filter_fingerprints(f))
            for f in predicate.filters
            if (question := question_of(f, encoder)) is not None
        ]
        self._questions = [question for question, _ in asked]
        self._is_of_values = any(question.is_of_values for question in self._questions)
        self._lookup: Lookup | None = None
        if bloom is None and all(question.choices for question in self._questions):
            self._lookup = Lookup(self._questions, encoder)
        # Whoever asks by fingerprints may meet sets too, of the encoder's own size.
        self._sets = SetQuestion([prints for _, prints in asked], bloom or encoder.params, encoder)
        self._malformed = 0
        self._asked: Data | None = None
        self._answer: list[Glimpse] = []
        self._told = 0

    @property
    def malformed(self) -> int:
        """How many entries could not be read; they tell nothing."""
        looked_up = 0 if self._lookup is None else self._lookup.malformed
        return self._malformed + looked_up + self._sets.malformed

    def reveal(self, frame: Data, count: int) -> list[Glimpse]:
        """Of the `count` newest entries or more, newest first, those that match or may match."""
        if frame is not self._asked or count > self._told:
            record = frame.record
            lookup = self._lookup
            count = count if count < record.count else record.count
            if lookup is None or frame.literal or 0 in record.data[: record.count]:
                self._answer = self._test(frame, count) if count > 0 else []
            else:
                look = lookup.look(record, count, frame.message)
                self._answer = (
                    _glimpses(record, look.found, look.spans.packed, look.carrier)
                    if look is not None and look.found
                    else []
                )
            self._asked, self._told = frame, count
        return self._answer

    def reveal_digest(self, told: tuple[Opened, ...]) -> list[Glimpse]:
        """Of what a digest tells of, newest first, what matches or may match.

        `back` is counted from the number after the digest's newest message, `delta_ns` from
        when the digest left.
        """
        known = None if self._lookup is None else self._lookup.prints
        found = []
        for back, (delta_ns_, packed, carrier, entry) in enumerate(told, start=1):
            if entry is None or (known is not None and known.isdisjoint(entry.values)):
                continue
            answer = self._ask(entry)
            if answer:
                found.append(Glimpse(back, delta_ns_, answer == YES, packed, carrier))
        return found

    def _test(self, frame: Data, count: int) -> list[Glimpse]:
        """Tests one entry after another."""
        record = frame.record
        if frame.literal or self._bloom is not None:
            held = dict.fromkeys(self._sets.ask(frame, count), True)
            carrier = None if frame.literal else Carrier(frame.message, self._encoder)
            return _glimpses(record, held, record.packed, carrier)
        packed = record.all_packed(count)
        carrier = Carrier(frame.message, self._encoder)
        if self._is_of_values:
            found = self._find_opened(packed, carrier)
        else:
            found = self._find_by_names(packed, carrier)
        return _glimpses(record, found, packed.__getitem__, carrier)

    # Each way finds entries, and says whether it is certain that they match.

    def _find_opened(self, packed: list[bytes], carrier: Carrier) -> dict[int, bool]:
        found = {}
        for i, entry in enumerate(packed):
            answer = self._ask_opened(entry, carrier)
            if answer:
                found[i] = answer == YES
        return found

    def _find_by_names(self, packed: list[bytes], carrier: Carrier) -> dict[int, bool]:
        """Most entries have the carrier's names and no numbers: one answer is for all of them."""
        codec = carrier.codec
        usual = self._ask(FingerprintEntry(codec.presence, ()))
        found = {}
        for i, entry in enumerate(packed):
            try:
                numbers = codec.numbers_of(entry) if entry and entry[0] & ALIKE else None
            except PeerError:
                self._malformed += 1
                continue
            answer = usual
            if numbers:
                answer = self._ask(FingerprintEntry(codec.presence, (), numbers))
            if numbers is None or (numbers and answer == MAYBE):
                # Names of its own, or a number so near a bound that the values are wanted.
                answer = self._ask_opened(entry, carrier)
            if answer:
                found[i] = answer == YES
        return found

    def _ask_opened(self, packed: bytes, carrier: Carrier) -> int:
        entry = self._open(packed, carrier)
        return NO if entry is None else self._ask(entry)

    def _ask(self, entry: FingerprintEntry) -> int:
        answer = NO
        for question in self._questions:
            answer = max(answer, question.ask(entry))
            if answer == YES:
                break
        return answer

    def _open(self, packed: bytes, carrier: Carrier) -> FingerprintEntry | None:
        if not packed:
            return None
        entry = carrier.open(packed)
        self._malformed += entry is None
        return entry


def _glimpses(
    record: Record,
    found: dict[int, bool],
    packed: Callable[[int], bytes],
    carrier: Carrier | None,
) -> list[Glimpse]:
    return [
        Glimpse(i + 1, delta_ns(record.delta_100us(i)), found[i], packed(i), carrier)
        for i in sorted(found)
    ]
