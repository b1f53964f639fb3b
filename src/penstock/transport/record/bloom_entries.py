"""The entries of a record as Bloom sets, the papers' way.

A few filters are looked for in one set after another. For more, the sets stand as
rows of bits; turned by a right angle, there is for each bit a number that says
which entries have it. What holds a filter's set is what the numbers of its bits
have in common: a few reads, most of them of the first bit.

One message comes to many receivers, and in a simulation they all are here: what
was worked out of a frame is kept for a while for the next who gets the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from penstock.content.bloom import BloomParams
from penstock.content.tags import Encoder, Fingerprints
from penstock.transport.record.reader import Carrier
from penstock.wire.frames.data import Data

# Up to so many filters are looked for one by one.
_FEW: Final = 3
_FRAMES_KEPT: Final = 2_048
_PRINTS_KEPT: Final = 65_536


class SetQuestion:
    """Filters, as the sets of their tags."""

    __slots__ = ("_encoder", "_filters", "_params", "_sets", "malformed")

    def __init__(
        self, filters: Iterable[Fingerprints], params: BloomParams, encoder: Encoder
    ) -> None:
        self._params = params
        self._encoder = encoder
        # Bits of values first: most entries have the names too.
        self._filters = [
            [*_positions(prints.values, params), *_positions(prints.presence, params)]
            for prints in filters
        ]
        self._sets = [sum({1 << position for position in filter_}) for filter_ in self._filters]
        # How many entries could not be read.
        self.malformed = 0

    def ask(self, frame: Data, count: int) -> list[int]:
        """Which of the `count` newest entries hold one of the sets."""
        if frame.literal and len(self._sets) <= _FEW:
            # So little to do that nothing is worth keeping.
            return self._holders(_travelled(frame, count, self._params))
        opened = _opened(_Same(frame), self._params, self._encoder)
        self.malformed += opened.malformed
        if len(self._sets) <= _FEW:
            return self._holders(opened.sets[:count])
        rows = opened.rows
        within = 0
        for positions in self._filters:
            within |= rows.holding(positions)
        return [i for i in range(min(count, len(opened.sets))) if rows.has(within, i)]

    def _holders(self, sets: Iterable[int | None]) -> list[int]:
        found = []
        for i, one in enumerate(sets):
            if one is not None:
                for own in self._sets:
                    if own & one == own:
                        found.append(i)
                        break
        return found


class _Opened:
    """The sets of one frame; None for an entry that tells nothing."""

    __slots__ = ("_params", "_rows", "malformed", "sets")

    def __init__(self, sets: list[int | None], params: BloomParams, malformed: int) -> None:
        self.sets = sets
        self.malformed = malformed
        self._params = params
        self._rows: _Rows | None = None

    @property
    def rows(self) -> _Rows:
        """Turned when it is first asked for."""
        if self._rows is None:
            self._rows = _Rows(self.sets, self._params)
        return self._rows


class _Rows:
    """For each bit, who has it."""

    __slots__ = ("_by_bit", "_readable", "_width_bits", "_width_bytes")

    def __init__(self, sets: Sequence[int | None], params: BloomParams) -> None:
        count = len(sets)
        size_bytes = params.m + 7 >> 3
        written = b"".join((one or 0).to_bytes(size_bytes, "little") for one in sets)
        square = np.frombuffer(written, np.uint8).reshape(count, size_bytes)
        turned = np.packbits(np.unpackbits(square, axis=1, bitorder="little").T, axis=1)
        self._by_bit = turned.tobytes()
        self._width_bytes = count + 7 >> 3
        # The first entry has the highest bit.
        self._width_bits = 8 * self._width_bytes
        self._readable = sum(
            1 << self._width_bits - 1 - i for i, one in enumerate(sets) if one is not None
        )

    def holding(self, positions: Iterable[int]) -> int:
        """Who has all of these bits."""
        width, by_bit = self._width_bytes, self._by_bit
        within = self._readable
        for position in positions:
            at = position * width
            within &= int.from_bytes(by_bit[at : at + width], "big")
            if not within:
                break
        return within

    def has(self, within: int, i: int) -> bool:
        """Whether entry i is among these."""
        return bool(within >> self._width_bits - 1 - i & 1)


class _Same:
    """A frame, equal to itself alone: to compare what is in it would take as long as to read it."""

    __slots__ = ("frame",)

    def __init__(self, frame: Data) -> None:
        self.frame = frame

    def __hash__(self) -> int:
        return id(self.frame)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.frame is self.frame


@lru_cache(maxsize=_FRAMES_KEPT)
def _opened(same: _Same, params: BloomParams, encoder: Encoder) -> _Opened:
    frame = same.frame
    if frame.literal:
        return _Opened(_travelled(frame, frame.record.count, params), params, 0)
    packed = frame.record.all_packed(frame.record.count)
    carrier = Carrier(frame.message, encoder)
    entries = [carrier.open(sealed) if sealed else None for sealed in packed]
    sets = [None if e is None else _set_of(e.presence + e.values, params) for e in entries]
    return _Opened(sets, params, entries.count(None) - packed.count(b""))


def _travelled(frame: Data, count: int, params: BloomParams) -> list[int | None]:
    """Entries that are sets already; those of another size tell nothing."""
    size_bytes = params.m + 7 >> 3
    return [
        int.from_bytes(packed, "big") if len(packed) == size_bytes else None
        for packed in frame.record.all_packed(count)
    ]


def _set_of(fingerprints: Iterable[int], params: BloomParams) -> int:
    bits = 0
    for fingerprint in fingerprints:
        bits |= _bits_of(fingerprint, params)
    return bits


@lru_cache(maxsize=_PRINTS_KEPT)
def _bits_of(fingerprint: int, params: BloomParams) -> int:
    return params.bits_of_fingerprint(fingerprint)


def _positions(fingerprints: Iterable[int], params: BloomParams) -> Iterator[int]:
    for fingerprint in fingerprints:
        bits = _bits_of(fingerprint, params)
        yield from (position for position in range(params.m) if bits >> position & 1)
