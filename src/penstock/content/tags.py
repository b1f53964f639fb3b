"""Tags: the properties of messages and filters that an encoding represents.

An attribute of a message has a tag for its presence, one for its value and, if the schema requests
them, tags for its dyadic cells, prefixes and suffixes. A filter has the tags that every value it
allows would have (its closure). Hence

- a message that matches a filter has all the filter's tags, and
- a filter covered by another has all the other's tags.

A tag is a unique byte string. Nodes of one network, which share a salt, represent it by its
fingerprint, and a set of tags by the Bloom bits of their fingerprints.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

from penstock.content.bloom import BloomParams
from penstock.content.constraint import ORDERED, Op
from penstock.content.extent import Extent, extents_of
from penstock.content.filter import Filter
from penstock.content.interval import BOTTOM, TOP, Interval, prefixed
from penstock.content.message import Message
from penstock.content.schema import Encoding, Schema
from penstock.content.value import FALSE_KEY, TRUE_KEY, Key, Value, canonical
from penstock.kernel.errors import UsageError

_SALT_BYTES_MAX: Final = 64
_ITEMS_CACHED_MAX: Final = 16_384
_NAMES_CACHED_MAX: Final = 4_096
_SHARED_CACHED_MAX: Final = 16_384

_PLAIN: Final = Encoding()
_ENCODABLE: Final = ORDERED | {Op.EXISTS, Op.PREFIX, Op.SUFFIX}


def presence_tag(name: str) -> bytes:
    """The tag for the presence of an attribute."""
    return b"?" + _label(name)


def value_tags(name: str, value: Value, encoding: Encoding = _PLAIN) -> list[bytes]:
    """All other tags of an attribute with this value."""
    return _labelled_value_tags(_label(name), value, encoding)


def message_tags(message: Message, schema: Schema) -> list[bytes]:
    """All tags of a message."""
    tags = []
    for name, value in message.attributes.items():
        tags.append(presence_tag(name))
        tags += value_tags(name, value, schema.attributes.get(name, _PLAIN))
    return tags


def filter_tags(interest: Filter, schema: Schema) -> list[bytes]:
    """The tags that every matching message has."""
    presence, values = _split_filter_tags(interest, schema)
    return presence + values


def is_exactly_encodable(interest: Filter, schema: Schema) -> bool:
    """Whether only matching messages have all the filter's tags, collisions aside.

    [F17] Only for such filters can a record of past messages show what was lost.
    """
    return all(
        _is_exact(extent, schema.attributes.get(name, _PLAIN))
        for name, extent in extents_of(interest).items()
    )


def _labelled_value_tags(label: bytes, value: Value, encoding: Encoding) -> list[bytes]:
    tags = [b"=" + label + _canonical_bytes(value)]
    if encoding is _PLAIN:
        return tags
    if isinstance(value, str):
        tags += _affix_tags(label, value, value, encoding)
    elif encoding.width is not None and not isinstance(value, bool) and math.isfinite(value):
        for level in range(encoding.levels):
            cell = encoding.cell(value, level)
            if cell is not None:
                tags.append(_cell_tag(label, level, cell))
    return tags


def _split_filter_tags(interest: Filter, schema: Schema) -> tuple[list[bytes], list[bytes]]:
    presence: list[bytes] = []
    values: list[bytes] = []
    for name, extent in extents_of(interest).items():
        if not extent.absent:
            presence.append(presence_tag(name))
            values += _closure(name, extent, schema.attributes.get(name, _PLAIN))
    return presence, values


def _closure(name: str, extent: Extent, encoding: Encoding) -> list[bytes]:
    """The tags, beyond presence, of every value that the extent allows."""
    if extent.points:
        first, *rest = (value_tags(name, point, encoding) for point in extent.points)
        return [tag for tag in first if all(tag in tags for tags in rest)]
    label = _label(name)
    interval = extent.interval
    if interval is None:
        return []
    if interval.kind == "string":
        return _affix_tags(label, extent.common_prefix(), extent.suffix, encoding)
    if encoding.width is None or interval.low == BOTTOM or interval.high == TOP:
        return []
    cells = (_common_cell(interval, level, encoding) for level in range(encoding.levels))
    return [_cell_tag(label, level, cell) for level, cell in enumerate(cells) if cell is not None]


def _common_cell(interval: Interval, level: int, encoding: Encoding) -> int | None:
    """The cell that contains all of a bounded interval of numbers, if any."""
    (_, low, _), (_, high, closed) = interval.low, interval.high
    last = encoding.cell(high, level) if closed else encoding.cell_below(high, level)
    return last if last == encoding.cell(low, level) else None


def _is_exact(extent: Extent, encoding: Encoding) -> bool:
    if extent.contradictory or extent.absent:
        return False
    if extent.points is not None:
        return len(extent.points) == 1
    ops = {constraint.op for constraint in extent.constraints}
    if not ops <= _ENCODABLE:
        return False
    if Op.SUFFIX in ops and len(extent.suffix) not in encoding.suffixes:
        return False
    interval = extent.interval
    if interval is None or ops <= {Op.EXISTS, Op.SUFFIX}:
        return True
    if interval.kind == "string":
        prefix = extent.common_prefix()
        return len(prefix) in encoding.prefixes and interval == prefixed(prefix)
    return _is_aligned(interval, encoding)


def _is_aligned(interval: Interval, encoding: Encoding) -> bool:
    """Whether the interval is exactly one cell, including rounding."""
    if encoding.width is None or interval.low == BOTTOM or interval.high == TOP:
        return False
    (_, low, low_is_open), (_, high, high_is_closed) = interval.low, interval.high
    if low_is_open or high_is_closed:
        return False
    for level in range(encoding.levels):
        cell = encoding.cell(low, level)
        if cell is None:
            continue
        at_both_ends = [encoding.cell_below(low, level), encoding.cell_below(high, level)]
        if [*at_both_ends, encoding.cell(high, level)] == [cell - 1, cell, cell + 1]:
            return True
    return False


def _label(name: str) -> bytes:
    encoded = name.encode()
    return bytes((len(encoded),)) + encoded


def _canonical_bytes(value: Value) -> bytes:
    """Equal values, and only those, have equal bytes; all NaNs are the same."""
    if isinstance(value, str):
        return b"s" + value.encode()
    if isinstance(value, bool):
        return b"b1" if value else b"b0"
    number = canonical(value)
    if isinstance(number, int):
        return b"i" + number.to_bytes(8, "big", signed=True)
    return b"f" + struct.pack(">d", number) if number == number else b"nan"  # noqa: PLR0124


def _affix_tags(label: bytes, start: str, end: str, encoding: Encoding) -> list[bytes]:
    tags = [b"<" + label + start[:n].encode() for n in encoding.prefixes if n <= len(start)]
    tags += [b">" + label + end[-n:].encode() for n in encoding.suffixes if n <= len(end)]
    return tags


def _cell_tag(label: bytes, level: int, cell: int) -> bytes:
    return b"#" + label + f"{level}:{cell}".encode()


class Fingerprints(NamedTuple):
    """Fingerprints of a message's or filter's tags, sorted; `values` has all but presence tags."""

    presence: tuple[int, ...]
    values: tuple[int, ...]


# Cached per attribute name: the Bloom bits of its presence tag, its fingerprint, its label.
_Name: TypeAlias = tuple[int, int, bytes]
# Cached per name and value: the Bloom bits of all tags, the presence and the value fingerprints.
_Item: TypeAlias = tuple[int, int, list[int]]


class Encoder:
    """Fingerprints and Bloom sets, for one network's salt and schema.

    Attributes with their values are cached in two generations: when the young one is full it
    becomes the old one, and entries that are used again return from there. So memory is bounded and
    active entries stay. A new value still shares its cells, prefixes and suffixes with others, so
    those tags have a cache of their own.
    """

    __slots__ = ("_keyed", "_mask", "_names", "_old", "_shared", "_young", "params", "schema")

    def __init__(
        self,
        salt: bytes,
        schema: Schema | None = None,
        *,
        fingerprint_bits: int = 20,
        params: BloomParams | None = None,
    ) -> None:
        if len(salt) > _SALT_BYTES_MAX:
            raise UsageError(f"a salt has at most {_SALT_BYTES_MAX} bytes, not {len(salt)}")
        if not 8 <= fingerprint_bits <= 64:
            raise UsageError(f"fingerprints have 8 to 64 bits, not {fingerprint_bits}")
        self.schema = schema or Schema()
        self.params = params or BloomParams()
        self._keyed = blake2b(digest_size=8, key=salt)
        self._mask = (1 << fingerprint_bits) - 1
        self._young: dict[tuple[str, Key], _Item] = {}
        self._old: dict[tuple[str, Key], _Item] = {}
        self._names: dict[str, _Name] = {}
        self._shared: dict[bytes, tuple[int, int]] = {}

    @property
    def fingerprint_bits(self) -> int:
        """The size of a fingerprint in bits."""
        return self._mask.bit_length()

    def fingerprint(self, tag: bytes) -> int:
        """The low bits of the tag's keyed hash."""
        hashing = self._keyed.copy()  # a third faster than hashing the key again
        hashing.update(tag)
        return int.from_bytes(hashing.digest(), "little") & self._mask

    def bits_of_fingerprint(self, fingerprint: int) -> int:
        """The Bloom bits of one tag."""
        return self.params.bits_of_fingerprint(fingerprint)

    def bits_of_fingerprints(self, fingerprints: Fingerprints) -> int:
        """The Bloom set of a message or filter, from its fingerprints alone."""
        return self.params.bits_of_fingerprints(fingerprints.presence + fingerprints.values)

    def message_bits(self, message: Message) -> int:
        """The Bloom set of a message."""
        young = self._young
        bits = 0
        for item in message.keys.items():
            known = young.get(item) or self._cached_item(item)
            bits |= known[0]
        return bits

    def message_fingerprints(self, message: Message) -> Fingerprints:
        """The fingerprints of a message's tags."""
        items = [self._cached_item(item) for item in message.keys.items()]
        return _sorted((item[1] for item in items), (tag for item in items for tag in item[2]))

    def attribute_fingerprints(self, message: Message) -> list[tuple[int, list[int]]]:
        """Per attribute, in order: its presence fingerprint, and those of its value, own first."""
        young, cached_item = self._young, self._cached_item
        items = [young.get(item) or cached_item(item) for item in message.keys.items()]
        return [(item[1], item[2]) for item in items]

    def filter_bits(self, interest: Filter) -> int:
        """The Bloom set of a filter."""
        return self.bits_of_fingerprints(self.filter_fingerprints(interest))

    def filter_fingerprints(self, interest: Filter) -> Fingerprints:
        """The fingerprints of a filter's tags."""
        presence, values = _split_filter_tags(interest, self.schema)
        return _sorted(map(self.fingerprint, presence), map(self.fingerprint, values))

    def _cached_item(self, item: tuple[str, Key]) -> _Item:
        known = self._young.get(item)
        if known is None:
            known = self._old.get(item) or self._encode(*item)
            if len(self._young) >= _ITEMS_CACHED_MAX:
                self._old, self._young = self._young, {}
            self._young[item] = known
        return known

    def _encode(self, name: str, key: Key) -> _Item:
        value: Value = key is TRUE_KEY if key is TRUE_KEY or key is FALSE_KEY else key  # type: ignore[assignment]
        bits, presence, label = self._names.get(name) or self._encode_name(name)
        own, *shared = _labelled_value_tags(label, value, self.schema.attributes.get(name, _PLAIN))
        fingerprint = self.fingerprint(own)
        bits |= self.params.bits_of_fingerprint(fingerprint)
        values = [fingerprint]
        known = self._shared
        for tag in shared:
            fingerprint, tag_bits = known.get(tag) or self._encode_shared(tag)
            values.append(fingerprint)
            bits |= tag_bits
        return bits, presence, values

    def _encode_shared(self, tag: bytes) -> tuple[int, int]:
        fingerprint = self.fingerprint(tag)
        if len(self._shared) >= _SHARED_CACHED_MAX:
            self._shared.clear()
        known = fingerprint, self.params.bits_of_fingerprint(fingerprint)
        self._shared[tag] = known
        return known

    def _encode_name(self, name: str) -> _Name:
        label = _label(name)
        fingerprint = self.fingerprint(b"?" + label)
        if len(self._names) >= _NAMES_CACHED_MAX:
            self._names.clear()
        known = self.params.bits_of_fingerprint(fingerprint), fingerprint, label
        self._names[name] = known
        return known


def _sorted(presence: Iterable[int], values: Iterable[int]) -> Fingerprints:
    return Fingerprints(tuple(sorted(set(presence))), tuple(sorted(set(values))))
