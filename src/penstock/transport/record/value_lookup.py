"""Finds the entries of a record that hold a wanted value, without opening them.

Nearly all entries of nearly all records are of messages that nobody here asked
for, so the work is to see that quickly. Filters that name values are looked up by
one of them, which an entry has in one of two ways:

1. The carrying message has it too, which is seen by the name, and the entry's map
   has a bit for it. The map begins in the entry's first byte, and the first bytes
   of all entries stand side by side.
2. Its fingerprint's low bytes are in the entry. They are searched for in all
   entries at once; where they stand, the other bits are compared.

Neither needs the carrying message's own fingerprints. What is found is asked the
rest of the question, if there is more to ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.content.value import Key, key_of
from penstock.kernel.errors import PeerError
from penstock.transport.record.byte_search import Sieve
from penstock.transport.record.entry_match import NO, YES, Question
from penstock.transport.record.reader import Carrier
from penstock.wire.codec.record import MAP_AT, SHARES, Told, read_value, read_values
from penstock.wire.frames.record import Record, Spans

# What first bytes say: whether the entry shares values, and whether that in one of the places
# that the first byte has room for.
_SHARING: Final = bytes([byte & SHARES != 0 for byte in range(256)])
_HOLDING: Final = [
    bytes([byte & SHARES and byte >> bit & 1 for byte in range(256)]) for bit in range(MAP_AT, 8)
]


class Lookup:
    """Filters, each of which names the values of an attribute, asked of records."""

    __slots__ = (
        "_by_name",
        "_by_print",
        "_encoder",
        "_places",
        "_width_bits",
        "malformed",
        "prints",
    )

    def __init__(self, questions: Sequence[Question], encoder: Encoder) -> None:
        self._encoder = encoder
        self._width_bits = encoder.fingerprint_bits
        self._by_name: dict[str, dict[Key, _Wanted]] = {}
        self._by_print: dict[int, _Wanted] = {}
        for question in questions:
            self._file(question)
        low_bytes, mask = self._width_bits >> 3, (1 << (self._width_bits & ~7)) - 1
        lows = [(value & mask).to_bytes(low_bytes, "little") for value in self._by_print]
        self._places = Sieve(lows).places
        # One of these is in every message that matches.
        self.prints = frozenset(self._by_print)
        self.malformed = 0

    def look(self, record: Record, count: int, message: Message) -> Look | None:
        """What is found among the `count` newest entries of a record without empty ones."""
        data, all_ = record.data, record.count
        first_at = record.first_at
        firsts = data[first_at : first_at + count]
        rest_at = first_at + all_
        lows = self._places(data, rest_at, rest_at + sum(data[:count]) - count)
        held = self._held(firsts, message) if 1 in firsts.translate(_SHARING) else None
        if not lows and not held:
            return None
        look = Look(record, count, Carrier(message, self._encoder), self._width_bits)
        for wanted, bit in held or ():
            for i in look.holders(firsts, bit):
                look.ask(wanted, i)
        for at in lows:
            i, value = look.value_at(at)
            found = None if value is None else self._by_print.get(value)
            if found is not None:
                look.ask(found, i)
        self.malformed += look.malformed
        return look

    def _file(self, question: Question) -> None:
        name, prints = question.choices[0]
        by_key = self._by_name.setdefault(name, {})
        for key, value in prints.items():
            wanted = self._by_print.setdefault(value, _Wanted())
            wanted.add(question)
            by_key[key] = wanted

    def _held(self, firsts: bytes, message: Message) -> list[tuple[_Wanted, int]]:
        """Wanted values that the carrier has, with their bits, which some entry may have too."""
        # Not `message.keys`: of most attributes nobody here wants to know.
        attributes = message.attributes
        held = []
        for name, by_key in self._by_name.items():
            value = attributes.get(name)
            wanted = None if value is None else by_key.get(key_of(value))
            if wanted is not None:
                bit = MAP_AT + list(attributes).index(name)
                if bit > 7 or 1 in firsts.translate(_HOLDING[bit - MAP_AT]):
                    held.append((wanted, bit))
        return held


class _Wanted:
    """A value that some filters are looked up by."""

    __slots__ = ("is_enough", "questions")

    def __init__(self) -> None:
        self.questions: list[Question] = []
        # Whether one of them asks nothing else.
        self.is_enough = False

    def add(self, question: Question) -> None:
        """One more filter."""
        self.questions.append(question)
        self.is_enough |= question.is_of_choices and len(question.choices) == 1


class Look:
    """One look at the entries of a record, as far as is needed.

    `found` has those that match, and whether they do so for certain.
    """

    __slots__ = ("_count", "_record", "_spans", "_width_bits", "carrier", "found", "malformed")

    def __init__(self, record: Record, count: int, carrier: Carrier, width_bits: int) -> None:
        self.carrier = carrier
        self.found: dict[int, bool] = {}
        self.malformed = 0
        self._record = record
        self._count = count
        self._width_bits = width_bits
        self._spans: Spans | None = None

    @property
    def spans(self) -> Spans:
        """Where the entries are."""
        if self._spans is None:
            self._spans = Spans(self._record, self._count)
        return self._spans

    def holders(self, firsts: bytes, bit: int) -> list[int]:
        """The entries that share values, and of their map have this bit."""
        if bit < 8:
            marks = firsts.translate(_HOLDING[bit - MAP_AT])
            return [i for i, marked in enumerate(marks) if marked]
        return [i for i in self.spans.with_bit(bit) if firsts[i] & SHARES]

    def value_at(self, at: int) -> tuple[int, int | None]:
        """Which entry has its low bytes there, and the value; None if it is no value."""
        i, left = self.spans.find(at)
        # Values are the last of an entry, side by side.
        from_end, odd = divmod(left, self._width_bits >> 3)
        if odd or not from_end:
            return i, None
        try:
            packed = self.spans.packed(i)
            return i, read_value(packed, self.carrier.places, from_end, self._width_bits)
        except PeerError:
            self.malformed += 1
            return i, None

    def ask(self, wanted: _Wanted, i: int) -> None:
        """Asks an entry that has the value what else there is to ask."""
        if wanted.is_enough:
            self.found[i] = True
        if self.found.get(i):
            return
        packed = self.spans.packed(i)
        try:
            told = read_values(packed, self.carrier.places, self._width_bits)
        except PeerError:
            self.malformed += 1
            return
        answer = NO
        for question in wanted.questions:
            if _has_choices(question, told, self.carrier.message.keys):
                answer = max(answer, self._ask_the_rest(question, packed))
        if answer:
            self.found[i] = answer == YES

    def _ask_the_rest(self, question: Question, packed: bytes) -> int:
        if question.is_of_choices:
            return YES
        entry = self.carrier.open(packed)
        if entry is None:
            self.malformed += 1
            return NO
        return question.ask(entry)


def _has_choices(question: Question, told: Told, keys: Mapping[str, Key]) -> bool:
    """Whether a value told, or shared with the carrier, is allowed for each attribute listed."""
    for name, prints in question.choices:
        if any(value in told.fresh for value in prints.values()):
            continue
        key = keys.get(name)
        if key is None or key not in prints or not told.bitmap >> list(keys).index(name) & 1:
            return False
    return True
