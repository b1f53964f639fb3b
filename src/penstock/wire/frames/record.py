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
from penstock.wire.frames.base import check_ascending, check_count, check_unsigned
from penstock.wire.limits import (
    BLOOM_BYTES_MAX,
    ENTRY_BYTES_MAX,
    FINGERPRINT_BITS_MAX,
    RECORD_ENTRIES_MAX,
    TAGS_MAX,
)
from penstock.wire.quantise import DELTA_BITS, is_float16

_DELTA_BYTES: Final = DELTA_BITS // 8


class RecordEntry(msgspec.Struct, frozen=True, gc=False):
    """One packed entry; its message left `departure_delta_100us` before the carrying one.

    No bytes say nothing of the message but when it left.
    """

    departure_delta_100us: int
    packed: bytes

    def __post_init__(self) -> None:
        if self.departure_delta_100us >> DELTA_BITS or len(self.packed) > ENTRY_BYTES_MAX:
            check_unsigned(DELTA_BITS, departure_delta_100us=self.departure_delta_100us)
            raise UsageError(f"a record entry has at most {ENTRY_BYTES_MAX} bytes")


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
        listed = list(entries)
        check_count("record entries", listed, RECORD_ENTRIES_MAX)
        sizes = bytes([len(entry.packed) for entry in listed])
        deltas = [entry.departure_delta_100us.to_bytes(_DELTA_BYTES, "big") for entry in listed]
        return cls(len(listed), b"".join([sizes, *deltas, *(entry.packed for entry in listed)]))

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

    `values` and `names` are the sorted fingerprints of its value and presence
    tags. `numbers` pairs the presence fingerprint of an attribute that the
    publisher chose with its value as a half-precision number. Build one with
    `of`; the codec, which can only read what is in order, does without.
    """

    values: tuple[int, ...]
    names: tuple[int, ...]
    numbers: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(
        cls,
        values: Iterable[int],
        names: Iterable[int],
        numbers: Iterable[tuple[int, float]] = (),
    ) -> FingerprintEntry:
        """An entry of fingerprints in any order; tags that share a fingerprint become one."""
        entry = cls(tuple(sorted(set(values))), tuple(sorted(set(names))), tuple(sorted(numbers)))
        for prints in (entry.values, entry.names):
            check_count("tags", prints, TAGS_MAX)
            if prints:
                check_unsigned(FINGERPRINT_BITS_MAX, lowest=prints[0], highest=prints[-1])
        check_ascending("numbers", [name for name, _ in entry.numbers])
        for name, value in entry.numbers:
            if name not in entry.names or not is_float16(value):
                raise UsageError(f"number {value} needs a presence tag, and quantise_float16")
        return entry


class BloomEntry(msgspec.Struct, frozen=True, gc=False):
    """The Bloom filter of one message, as in the papers: m/8 bytes, highest bit first."""

    bloom: bytes

    def __post_init__(self) -> None:
        if not 0 < len(self.bloom) <= BLOOM_BYTES_MAX:
            raise UsageError(f"a Bloom filter has 1 to {BLOOM_BYTES_MAX} bytes")
