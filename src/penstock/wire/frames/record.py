"""The publication record: descriptions of the messages just before this one.

Entry i of the record of message n describes message n - 1 - i, so the newest comes first and
truncation drops the oldest. In a frame the entries stay packed: a receiver that misses nothing
never unpacks them. An unpacked entry is either the fingerprints of its message's tags or, in
literal mode, a Bloom set. `content` defines how tags become fingerprints; here they are integers.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Final

import msgspec

from penstock.kernel.errors import UsageError
from penstock.wire.frames.base import check_ascending, check_blooms, check_count, check_unsigned
from penstock.wire.limits import (
    ENTRY_BYTES_MAX,
    FINGERPRINT_BITS_MAX,
    RECORD_ENTRIES_MAX,
)
from penstock.wire.quantise import DELTA_BITS, DELTA_BYTES, is_float16

# The width in which deltas are packed; their first byte must then be zero.
_WORD_BYTES: Final = 4


class RecordEntry(msgspec.Struct, frozen=True, gc=False):
    """One packed entry; its message was sent `sent_before_100us` before the carrying one.

    An entry without bytes describes only the send time.
    """

    sent_before_100us: int
    packed: bytes


class PublicationRecord(msgspec.Struct, frozen=True, gc=False):
    """Entries in wire layout: all sizes, all deltas, all first bytes, then all remaining bytes.

    In this layout one sum finds the end of the record, whatever the number of entries, and the
    flags in the first bytes can be tested for all entries at once. An entry without bytes has no
    first byte. Build a record with `of` or `from_columns`; only the codec, which has validated the
    bytes, uses the constructor.
    """

    count: int
    data: bytes

    @classmethod
    def of(cls, entries: Iterable[RecordEntry]) -> PublicationRecord:
        """The record of these entries, newest first."""
        columns = [(entry.sent_before_100us, entry.packed) for entry in entries]
        return cls.from_columns([delta for delta, _ in columns], [packed for _, packed in columns])

    @classmethod
    def from_columns(
        cls, deltas_100us: Sequence[int], packed: Sequence[bytes]
    ) -> PublicationRecord:
        """The record of entries given as two columns, newest first."""
        check_count("record entries", packed, RECORD_ENTRIES_MAX)
        if not packed:
            return EMPTY_RECORD
        try:
            wide = _words(len(deltas_100us)).pack(*deltas_100us)
            sizes = bytes(map(len, packed))
        except (struct.error, ValueError):
            wide = sizes = b"\1"
        if any(wide[::_WORD_BYTES]) or len(sizes) != len(wide) // _WORD_BYTES:
            raise UsageError(
                f"every entry needs a departure from 0 to 2^{DELTA_BITS} - 1, and has at most"
                f" {ENTRY_BYTES_MAX} bytes"
            )
        deltas = bytearray(wide)
        del deltas[::_WORD_BYTES]
        size = sizes[0]
        if size and sizes.count(size) == len(sizes):
            rest = bytearray(b"".join(packed))
            firsts = rest[::size]
            del rest[::size]
            return cls(len(packed), b"".join((sizes, deltas, firsts, rest)))
        return cls(
            len(packed),
            b"".join(
                [sizes, deltas, *[entry[:1] for entry in packed], *[entry[1:] for entry in packed]]
            ),
        )

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[RecordEntry]:
        for i, packed in enumerate(self.packed_entries(self.count)):
            yield RecordEntry(self.sent_before_100us(i), packed)

    def packed_entries(self, count: int) -> list[bytes]:
        """The bytes of the `count` newest entries."""
        data = self.data
        first, start = self.first_bytes_offset, self.rest_offset
        packed = []
        for size in data[: min(count, self.count)]:
            if size:
                stop = start + size - 1
                packed.append(data[first : first + 1] + data[start:stop])
                first += 1
                start = stop
            else:
                packed.append(b"")
        return packed

    def sent_before_100us(self, i: int) -> int:
        """How long before the carrying message that of entry i was sent."""
        at = self.count + DELTA_BYTES * i
        return int.from_bytes(self.data[at : at + DELTA_BYTES], "big")

    @property
    def first_bytes_offset(self) -> int:
        """The offset of the first bytes in `data`."""
        return (1 + DELTA_BYTES) * self.count

    @property
    def rest_offset(self) -> int:
        """The offset of the remaining bytes in `data`."""
        count = self.count
        return (2 + DELTA_BYTES) * count - self.data.count(0, 0, count)

    def packed(self, i: int) -> bytes:
        """The bytes of entry i."""
        data = self.data
        if not data[i]:
            return b""
        newer_sizes = data[:i]
        nonempty = i - newer_sizes.count(0)
        first = self.first_bytes_offset + nonempty
        start = self.rest_offset + sum(newer_sizes) - nonempty
        return data[first : first + 1] + data[start : start + data[i] - 1]

    def newest(self, count: int) -> PublicationRecord:
        """The record truncated to its `count` newest entries."""
        if count >= self.count:
            return self
        data = self.data
        sizes = data[:count]
        nonempty = count - sizes.count(0)
        rest_offset = self.rest_offset
        return PublicationRecord(
            count,
            b"".join(
                (
                    sizes,
                    data[self.count : self.count + DELTA_BYTES * count],
                    data[self.first_bytes_offset : self.first_bytes_offset + nonempty],
                    data[rest_offset : rest_offset + sum(sizes) - nonempty],
                )
            ),
        )

    def truncated_to(self, size_bytes: int) -> PublicationRecord:
        """The record truncated, oldest entry first, to at most `size_bytes`."""
        used_bytes = count = 0
        for size in self.data[: self.count]:
            used_bytes += 1 + DELTA_BYTES + size
            if used_bytes > size_bytes:
                break
            count += 1
        return self.newest(count)


class EntrySpans:
    """The offsets of a record's `count` newest entries, none of which is empty."""

    __slots__ = ("_record", "_sums")

    def __init__(self, record: PublicationRecord, count: int) -> None:
        self._record = record
        # The bytes of entry i after its first start at sums[i] - i: first bytes are stored
        # elsewhere.
        rest_offset = (2 + DELTA_BYTES) * record.count
        self._sums = list(accumulate(record.data[:count], initial=rest_offset))

    def find(self, position: int) -> tuple[int, int]:
        """The entry of a byte, and how many bytes from there on belong to it."""
        sums = self._sums
        i = bisect_right(sums, position) - 1
        while sums[i + 1] - i - 1 <= position:
            i += 1
        return i, sums[i + 1] - i - 1 - position

    def packed(self, i: int) -> bytes:
        """The bytes of entry i."""
        record, sums = self._record, self._sums
        first = (1 + DELTA_BYTES) * record.count + i
        return record.data[first : first + 1] + record.data[sums[i] - i : sums[i + 1] - i - 1]

    def with_bit(self, bit: int) -> list[int]:
        """The entries with this bit set; bit 8 is the lowest of the second byte."""
        data, mask = self._record.data, 1 << (bit & 7)
        byte_index = bit >> 3
        assert byte_index, "the first bytes are elsewhere"
        sums = self._sums[:-1]
        if min(data[: len(sums)]) > byte_index:
            less = 1 - byte_index
            return [i - less for i, start in enumerate(sums, less) if data[start - i] & mask]
        # A shorter entry has no such bit, and the offset would lie in the next entry.
        return [
            i
            for i, start in enumerate(sums)
            if data[i] > byte_index and data[start - i + byte_index - 1] & mask
        ]


@cache
def _words(count: int) -> struct.Struct:
    return struct.Struct(f">{count}I")


EMPTY_RECORD: Final = PublicationRecord(0, b"")


class FingerprintEntry(msgspec.Struct, frozen=True, gc=False):
    """The tags of one message, unpacked; also used for the carrying message's own tags.

    `presence` and `values` are sorted fingerprints, as `content.tags` computes them.
    `numeric_values` pairs the presence fingerprint of an attribute that the publisher chose with
    its value as a half-precision number. `of` sorts and validates; the codec, which rejects
    unsorted input, uses the constructor.
    """

    presence: tuple[int, ...]
    values: tuple[int, ...]
    numeric_values: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(
        cls,
        presence: Iterable[int],
        values: Iterable[int],
        numeric_values: Iterable[tuple[int, float]] = (),
    ) -> FingerprintEntry:
        """An entry of fingerprints in any order; tags with equal fingerprints become one."""
        entry = cls(
            tuple(sorted(set(presence))), tuple(sorted(set(values))), tuple(sorted(numeric_values))
        )
        for fingerprints in (entry.presence, entry.values):
            if fingerprints:
                check_unsigned(
                    FINGERPRINT_BITS_MAX, lowest=fingerprints[0], highest=fingerprints[-1]
                )
        check_ascending("numbers", [name for name, _ in entry.numeric_values])
        for name, value in entry.numeric_values:
            if name not in entry.presence or not is_float16(value):
                raise UsageError(f"number {value} needs a presence tag, and quantise_float16")
        return entry


class BloomEntry(msgspec.Struct, frozen=True, gc=False):
    """The Bloom set of one message, as in the papers."""

    bloom: int
    bloom_bytes: int

    def __post_init__(self) -> None:
        check_blooms(self.bloom_bytes, self.bloom)
