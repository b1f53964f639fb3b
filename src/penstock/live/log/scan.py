"""Reading a segment block by block, and telling a torn tail from damage.

Blocks are written one batch after the other, each after the sync of the one before. So a bad block
was synced if a later one says so, or whoever scans knows it from elsewhere: that is damage, and is
never cut off. Any other bad block belongs to the last batch: a torn tail, of which nobody was told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.live.log.block import Block, aligned, block_at, find_block


class DamagedPlace(NamedTuple):
    """Bytes that should be blocks; `next_block` is the first readable one behind, if any."""

    offset: int
    stop: int
    next_block: Block | None


class Scan(NamedTuple):
    """All that one segment holds; `places` are blocks and damage in their order."""

    places: list[tuple[int, Block] | DamagedPlace]
    # Behind the last of them.
    end: int
    stop_number: int
    # How many bytes lie behind the end that must not be taken for a block later.
    torn_bytes: int
    # Of blocks in a torn tail behind damage: at least that of the damaged blocks, of which one was
    # promised; 0 otherwise.
    torn_lease: int = 0

    @property
    def damage(self) -> list[DamagedPlace]:
        """The places that cannot be read."""
        return [place for place in self.places if isinstance(place, DamagedPlace)]

    @property
    def first_block(self) -> Block | None:
        """The first block that can be read."""
        return next((p[1] for p in self.places if not isinstance(p, DamagedPlace)), None)


def scan_segment(
    data: bytes | bytearray, segment_id: int, *, start: int, first_number: int, synced_upto: int
) -> Scan:
    """Reads a segment; `synced_upto` is what is known from elsewhere to have been synced."""
    places: list[tuple[int, Block] | DamagedPlace] = []
    end, expected = start, first_number
    while True:
        block = block_at(data, end, segment_id)
        if block is not None and block.first_number == expected:
            places.append((end, block))
            end += aligned(block.length_bytes)
            expected = block.stop_number
            continue
        later = list(later_blocks(data, end, segment_id, expected))
        known_upto = max([synced_upto, *(block.synced_upto for _, block in later)])
        if known_upto < expected:
            break
        if not later:
            # Where the damage ends, nobody can tell.
            stop = max(end, len(data))
            places.append(DamagedPlace(end, stop, None))
            return Scan(places, stop, known_upto + 1, 0)
        stop, block = later[0]
        if block.first_number > known_upto + 1:
            # Damage, and then the last batch without its beginning.
            places.append(DamagedPlace(end, stop, None))
            lease = max(block.lease for _, block in later)
            return Scan(places, stop, known_upto + 1, _torn_bytes(data, stop), lease)
        places.append(DamagedPlace(end, stop, block))
        end, expected = stop, block.first_number
    return Scan(places, end, expected, _torn_bytes(data, end))


def _torn_bytes(data: bytes | bytearray, end: int) -> int:
    return len(data[end:].rstrip(b"\0"))


def later_blocks(
    data: bytes | bytearray, start: int, segment_id: int, first_number: int
) -> Iterator[tuple[int, Block]]:
    """Whole blocks of this segment behind a place, with this number or a higher one."""
    while (found := find_block(data, start, segment_id)) is not None:
        offset, block = found
        start = offset + aligned(block.length_bytes)
        if block.first_number >= first_number:
            first_number = block.stop_number
            yield found
