"""Tests record entries as Bloom sets, as the papers do.

Up to three filters are tested against one set after another. For more, the sets form a bit
matrix, which is transposed: each bit then has an integer that shows which entries contain
it. The entries that contain a filter's set are the intersection of the integers of its
bits, and most intersections are empty after the first bit.

One message reaches many receivers, and in a simulation they share a process: the decoded
sets of the last frames are cached. Does not know which messages have arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from penstock.content.bloom import BloomParams
from penstock.content.tags import Encoder, Fingerprints
from penstock.transport.record.reader import CarriedEntryReader
from penstock.wire.frames.data import Data

# Up to this number, filters are tested one by one.
_SCAN_FILTERS_MAX: Final = 3
_CACHED_FRAMES_MAX: Final = 2_048
_CACHED_FINGERPRINTS_MAX: Final = 65_536


class BloomEntryTest:
    """Filters as the Bloom sets of their tags, tested against the entries of records."""

    __slots__ = ("_encoder", "_filter_positions", "_filter_sets", "_params", "malformed")

    def __init__(
        self, filters: Iterable[Fingerprints], params: BloomParams, encoder: Encoder
    ) -> None:
        self._params = params
        self._encoder = encoder
        # Value bits first: most entries contain the name bits, so these exclude little.
        self._filter_positions = [
            [
                *_bit_positions(fingerprints.values, params),
                *_bit_positions(fingerprints.presence, params),
            ]
            for fingerprints in filters
        ]
        self._filter_sets = [
            sum({1 << position for position in filter_}) for filter_ in self._filter_positions
        ]
        # Number of unreadable entries.
        self.malformed = 0

    def matching_entries(self, frame: Data, count: int) -> list[int]:
        """Return the indexes of those of the `count` newest entries that contain a filter."""
        if frame.has_bloom_entries and len(self._filter_sets) <= _SCAN_FILTERS_MAX:
            # Decoding is so cheap here that caching does not pay.
            return self._entries_containing(_carried_sets(frame, count, self._params))
        decoded = _decoded_sets(_ByIdentity(frame), self._params, self._encoder)
        self.malformed += decoded.malformed
        if len(self._filter_sets) <= _SCAN_FILTERS_MAX:
            return self._entries_containing(decoded.sets[:count])
        bit_matrix = decoded.bit_matrix
        matching = 0
        for positions in self._filter_positions:
            matching |= bit_matrix.entries_with_all(positions)
        return [i for i in range(min(count, len(decoded.sets))) if bit_matrix.contains(matching, i)]

    def _entries_containing(self, sets: Iterable[int | None]) -> list[int]:
        found = []
        for i, entry_set in enumerate(sets):
            if entry_set is not None:
                for filter_set in self._filter_sets:
                    if filter_set & entry_set == filter_set:
                        found.append(i)
                        break
        return found


class _DecodedSets:
    """The sets of one frame; None for an empty or unreadable entry."""

    __slots__ = ("_bit_matrix", "_params", "malformed", "sets")

    def __init__(self, sets: list[int | None], params: BloomParams, malformed: int) -> None:
        self.sets = sets
        self.malformed = malformed
        self._params = params
        self._bit_matrix: _BitMatrix | None = None

    @property
    def bit_matrix(self) -> _BitMatrix:
        """The transposed sets, computed on first use."""
        if self._bit_matrix is None:
            self._bit_matrix = _BitMatrix(self.sets, self._params)
        return self._bit_matrix


class _BitMatrix:
    """For each bit, the entries that contain it."""

    __slots__ = ("_by_bit", "_readable", "_width_bits", "_width_bytes")

    def __init__(self, sets: Sequence[int | None], params: BloomParams) -> None:
        count = len(sets)
        size_bytes = params.m + 7 >> 3
        written = b"".join((one or 0).to_bytes(size_bytes, "little") for one in sets)
        matrix = np.frombuffer(written, np.uint8).reshape(count, size_bytes)
        transposed = np.packbits(np.unpackbits(matrix, axis=1, bitorder="little").T, axis=1)
        self._by_bit = transposed.tobytes()
        self._width_bytes = count + 7 >> 3
        # The first entry is the most significant bit.
        self._width_bits = 8 * self._width_bytes
        self._readable = sum(
            1 << self._width_bits - 1 - i for i, one in enumerate(sets) if one is not None
        )

    def entries_with_all(self, positions: Iterable[int]) -> int:
        """Return the entries that contain all of these bits, as an integer."""
        width, by_bit = self._width_bytes, self._by_bit
        matching = self._readable
        for position in positions:
            at = position * width
            matching &= int.from_bytes(by_bit[at : at + width], "big")
            if not matching:
                break
        return matching

    def contains(self, matching: int, i: int) -> bool:
        """Whether entry `i` is in the result of `entries_with_all`."""
        return bool(matching >> self._width_bits - 1 - i & 1)


class _ByIdentity:
    """A cache key by identity: comparing frames by content would cost as much as decoding."""

    __slots__ = ("frame",)

    def __init__(self, frame: Data) -> None:
        self.frame = frame

    def __hash__(self) -> int:
        return id(self.frame)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.frame is self.frame


@lru_cache(maxsize=_CACHED_FRAMES_MAX)
def _decoded_sets(key: _ByIdentity, params: BloomParams, encoder: Encoder) -> _DecodedSets:
    frame = key.frame
    if frame.has_bloom_entries:
        return _DecodedSets(_carried_sets(frame, frame.record.count, params), params, 0)
    packed = frame.record.packed_entries(frame.record.count)
    reader = CarriedEntryReader(frame.message, encoder)
    entries = [reader.read(packed_entry) if packed_entry else None for packed_entry in packed]
    sets = [None if e is None else _bloom_set(e.presence + e.values, params) for e in entries]
    return _DecodedSets(sets, params, entries.count(None) - packed.count(b""))


def _carried_sets(frame: Data, count: int, params: BloomParams) -> list[int | None]:
    """Return the entries of a frame that carries Bloom sets; None for those of another size."""
    size_bytes = params.m + 7 >> 3
    return [
        int.from_bytes(packed, "big") if len(packed) == size_bytes else None
        for packed in frame.record.packed_entries(count)
    ]


def _bloom_set(fingerprints: Iterable[int], params: BloomParams) -> int:
    bits = 0
    for fingerprint in fingerprints:
        bits |= _bloom_bits(fingerprint, params)
    return bits


@lru_cache(maxsize=_CACHED_FINGERPRINTS_MAX)
def _bloom_bits(fingerprint: int, params: BloomParams) -> int:
    return params.bits_of_fingerprint(fingerprint)


def _bit_positions(fingerprints: Iterable[int], params: BloomParams) -> Iterator[int]:
    for fingerprint in fingerprints:
        bits = _bloom_bits(fingerprint, params)
        yield from (position for position in range(params.m) if bits >> position & 1)
