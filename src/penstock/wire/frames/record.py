"""The publication record: what the messages just before this one were about.

Entry i of the record of message n describes message n - 1 - i, so the newest
comes first and cutting from the end drops the oldest. In a frame the entries
stay packed: a receiver that misses nothing never opens them. Opened, an entry
is either the fingerprints of its message's tags or, in literal mode, a Bloom
filter. How tags become fingerprints is `content`'s business; here they are
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_ascending, check_blooms, check_count, check_unsigned
from penstock.wire.limits import (
    ENTRY_BYTES_MAX,
    FINGERPRINT_BITS_MAX,
    RECORD_ENTRIES_MAX,
)
from penstock.wire.quantise import DELTA_BITS, is_float16

_DELTA_BYTES: Final = DELTA_BITS // 8


class RecordEntry(msgspec.Struct, frozen=True, gc=False):
    """One packed entry; its message left `departure_delta_100us` before the carrying one.

    No bytes say nothing of the message but when it left.
    """

    departure_delta_100us: int
    packed: bytes


class Record(msgspec.Struct, frozen=True, gc=False):
    """Entries as they travel: all their sizes, then all their deltas, then all their bytes.

    Laid out so that its end is found by one sum, whatever the number of entries.
    Build one with `of`; the codec, which has checked the bytes, does without.
    """

    count: int
    data: bytes

    @classmethod
    def of(cls, entries: Iterable[RecordEntry]) -> Record:
        """The record of these entries, newest first."""
        deltas = []
        packed = []
        for entry in entries:
            if entry.departure_delta_100us >> DELTA_BITS or len(entry.packed) > ENTRY_BYTES_MAX:
                raise UsageError(f"a record entry has a size or delta out of range: {entry}")
            deltas.append(entry.departure_delta_100us.to_bytes(_DELTA_BYTES, "big"))
            packed.append(entry.packed)
        check_count("record entries", packed, RECORD_ENTRIES_MAX)
        return cls(len(packed), b"".join([bytes(map(len, packed)), *deltas, *packed]))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[RecordEntry]:
        data, count = self.data, self.count
        start = (1 + _DELTA_BYTES) * count
        for i, size in enumerate(data[:count]):
            at = count + i * _DELTA_BYTES
            delta = int.from_bytes(data[at : at + _DELTA_BYTES], "big")
            yield RecordEntry(delta, data[start : start + size])
            start += size

    def newest(self, count: int) -> Record:
        """The record cut to so many entries."""
        if count >= self.count:
            return self
        sizes = self.data[:count]
        deltas = self.data[self.count : self.count + _DELTA_BYTES * count]
        body = (1 + _DELTA_BYTES) * self.count
        return Record(count, sizes + deltas + self.data[body : body + sum(sizes)])

    def within(self, size_bytes: int) -> Record:
        """The record cut, oldest first, to so many bytes."""
        used = count = 0
        for size in self.data[: self.count]:
            used += 1 + _DELTA_BYTES + size
            if used > size_bytes:
                break
            count += 1
        return self.newest(count)


EMPTY_RECORD: Final = Record(0, b"")


class FingerprintEntry(msgspec.Struct, frozen=True, gc=False):
    """The tags of one message, opened. The carrying message's own tags have this form too.

    `presence` and `values` are sorted fingerprints, as `content.tags` gives them.
    `numbers` pairs the presence fingerprint of an attribute that the publisher
    chose with its value as a half-precision number. `of` puts in order and
    checks; the codec, which cannot read what is not in order, does without.
    """

    presence: tuple[int, ...]
    values: tuple[int, ...]
    numbers: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(
        cls,
        presence: Iterable[int],
        values: Iterable[int],
        numbers: Iterable[tuple[int, float]] = (),
    ) -> FingerprintEntry:
        """An entry of fingerprints in any order; tags that share a fingerprint become one."""
        entry = cls(
            tuple(sorted(set(presence))), tuple(sorted(set(values))), tuple(sorted(numbers))
        )
        for prints in (entry.presence, entry.values):
            if prints:
                check_unsigned(FINGERPRINT_BITS_MAX, lowest=prints[0], highest=prints[-1])
        check_ascending("numbers", [name for name, _ in entry.numbers])
        for name, value in entry.numbers:
            if name not in entry.presence or not is_float16(value):
                raise UsageError(f"number {value} needs a presence tag, and quantise_float16")
        return entry


class BloomEntry(msgspec.Struct, frozen=True, gc=False):
    """The Bloom set of one message, as in the papers."""

    bloom: int
    bloom_bytes: int

    def __post_init__(self) -> None:
        check_blooms(self.bloom_bytes, self.bloom)
