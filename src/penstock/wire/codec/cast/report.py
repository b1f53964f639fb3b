"""REPORT on the wire."""

from __future__ import annotations

from itertools import chain
from struct import Struct, pack
from typing import Final

from penstock.wire.codec.cast.fields import NODE_BYTES, read_nodes, size_nodes, write_nodes
from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.reader import U8, Reader
from penstock.wire.frames.cast.base import FAILED_MAX, NEEDS_MAX, RANGES_BYTES_MAX
from penstock.wire.frames.cast.report import (
    BlockNeed,
    BlockRanges,
    Report,
    SymbolRange,
    ranges_bytes,
)

_HEAD: Final = Struct(">IBBHHII")
_COUNTS: Final = Struct(">BB")
# The number of a block, 3 bytes, stands at the beginning of each as its high byte and the rest.
_NEED: Final = Struct(">BHH")
_BLOCK: Final = Struct(">BHB")


class ReportCodec:
    """REPORT: what an end of a segment still needs.

        +-------+------+-------+------+------+------+-------+-------+--------+-------+--------+
        | child | part | parts | hold | loss | done | total | count | failed | needs | blocks |
        +-------+------+-------+------+------+------+-------+-------+--------+-------+--------+
          4       1      1       2      2      4      4       1       4 each   1       1
        each need:               each block of ranges:
        +-------+---------+      +-------+-------+-----------------+
        | block | symbols |      | block | count | first, length   |
        +-------+---------+      +-------+-------+-----------------+
          3       2                3       1       count x (2, 2)

    There are needs or ranges, not both.
    """

    BYTES_MAX: Final = packet_bytes_max(
        _HEAD.size
        + (U8.size + NODE_BYTES * FAILED_MAX)
        + _COUNTS.size
        + max(_NEED.size * NEEDS_MAX, RANGES_BYTES_MAX)
    )

    @staticmethod
    def size(body: Report) -> int:
        """The size of the body in bytes."""
        needs_bytes = _NEED.size * len(body.needs) + ranges_bytes(body.ranges)
        return _HEAD.size + size_nodes(body.failed) + _COUNTS.size + needs_bytes

    @staticmethod
    def write(body: Report) -> bytes:
        """Encodes the body."""
        head = _HEAD.pack(
            body.child,
            body.part,
            body.parts,
            body.hold_100us,
            body.loss,
            body.done,
            body.total,
        )
        parts = [head, write_nodes(body.failed), _COUNTS.pack(len(body.needs), len(body.ranges))]
        for block, symbols in body.needs:
            parts.append(_NEED.pack(block >> 16, block & 0xFFFF, symbols))
        for block, ranges in body.ranges:
            lengths = chain.from_iterable([(start, stop - start) for start, stop in ranges])
            parts += (
                _BLOCK.pack(block >> 16, block & 0xFFFF, len(ranges)),
                pack(f">{2 * len(ranges)}H", *lengths),
            )
        return b"".join(parts)

    @staticmethod
    def read(cursor: Reader) -> Report:
        """Decodes the body."""
        child, part, parts, hold_100us, loss, done, total = cursor.unpack(_HEAD)
        failed = read_nodes(cursor)
        needs, blocks = cursor.unpack(_COUNTS)
        return Report(
            child=child,
            part=part,
            parts=parts,
            hold_100us=hold_100us,
            loss=loss,
            done=done,
            total=total,
            failed=failed,
            needs=tuple(
                [
                    BlockNeed(high << 16 | low, symbols)
                    for high, low, symbols in _NEED.iter_unpack(
                        cursor.read_bytes(needs * _NEED.size)
                    )
                ]
            ),
            ranges=tuple([_read_ranges(cursor) for _ in range(blocks)]),
        )


def _read_ranges(cursor: Reader) -> BlockRanges:
    high, low, count = cursor.unpack(_BLOCK)
    numbers = cursor.unpack(Struct(f">{2 * count}H"))
    return BlockRanges(
        high << 16 | low,
        tuple(
            [
                SymbolRange(start, start + length)
                for start, length in zip(numbers[::2], numbers[1::2], strict=True)
            ]
        ),
    )
