"""RP_CONF and START on the wire."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.wire.codec.cast.fields import write_links
from penstock.wire.codec.cast.framing import packet_bytes_max
from penstock.wire.codec.reader import U16, Reader
from penstock.wire.frames.cast.base import ENDS_A_PAGE_MAX, FILTER_BYTES, SEGMENTS_MAX
from penstock.wire.frames.cast.plan import (
    HeadConfig,
    RelayConfig,
    SegmentEnd,
    SegmentFilter,
    Start,
)

_HEAD: Final = Struct(">IIBBBBB")
_SEGMENT: Final = Struct(f">HHB{FILTER_BYTES}sBB{FILTER_BYTES}s")
_END: Final = Struct(f">HI{FILTER_BYTES}s")
_CONFIG_BYTES_MAX: Final = _HEAD.size + _SEGMENT.size * SEGMENTS_MAX + _END.size * ENDS_A_PAGE_MAX


class StartCodec:
    """START: the segments of the publisher.

    +------------+---------+------+-------+--------+----------+------+
    | controller | version | page | pages | levels | segments | ends |
    +------------+---------+------+-------+--------+----------+------+
      4            4         1      1       1        1          1
    each segment:
    +---------+------+--------+-------+-------+-----------+----------+
    | segment | plan | choice | links | depth | up choice | up links |
    +---------+------+--------+-------+-------+-----------+----------+
      2         2      1        31      1       1           31
    each end:
    +---------+------+------+
    | segment | node | path |
    +---------+------+------+
      2         4      31
    """

    # Not all segments of a page and all ends fit one frame.
    BYTES_MAX: Final = packet_bytes_max(_CONFIG_BYTES_MAX)

    @staticmethod
    def size(body: Start) -> int:
        """The size of the body in bytes."""
        return _size_config(body)

    @staticmethod
    def write(body: Start) -> bytes:
        """Encodes the body."""
        return _write_config(body)

    @staticmethod
    def read(cursor: Reader) -> Start:
        """Decodes the body."""
        controller, version, page, pages, levels, segments, ends = cursor.unpack(_HEAD)
        return Start(
            controller=controller,
            version=version,
            page=page,
            pages=pages,
            levels=levels,
            segments=_read_segments(cursor, segments),
            ends=_read_ends(cursor, ends),
        )


class RelayConfigCodec:
    """RP_CONF: the segments of a relay point.

    +----------------+----------+
    | parent segment | as START |
    +----------------+----------+
      2                ...
    """

    BYTES_MAX: Final = packet_bytes_max(U16.size + _CONFIG_BYTES_MAX)

    @staticmethod
    def size(body: RelayConfig) -> int:
        """The size of the body in bytes."""
        return U16.size + _size_config(body)

    @staticmethod
    def write(body: RelayConfig) -> bytes:
        """Encodes the body."""
        return U16.pack(body.parent_segment) + _write_config(body)

    @staticmethod
    def read(cursor: Reader) -> RelayConfig:
        """Decodes the body."""
        parent_segment = cursor.unpack_one(U16)
        controller, version, page, pages, levels, segments, ends = cursor.unpack(_HEAD)
        return RelayConfig(
            controller=controller,
            parent_segment=parent_segment,
            version=version,
            page=page,
            pages=pages,
            levels=levels,
            segments=_read_segments(cursor, segments),
            ends=_read_ends(cursor, ends),
        )


def _size_config(body: HeadConfig) -> int:
    return _HEAD.size + _SEGMENT.size * len(body.segments) + _END.size * len(body.ends)


def _write_config(body: HeadConfig) -> bytes:
    parts = [
        _HEAD.pack(
            body.controller,
            body.version,
            body.page,
            body.pages,
            body.levels,
            len(body.segments),
            len(body.ends),
        )
    ]
    for each in body.segments:
        parts.append(
            _SEGMENT.pack(
                each.segment,
                each.plan,
                each.choice,
                write_links(each.links),
                each.depth,
                each.up_choice,
                write_links(each.up_links),
            )
        )
    for end in body.ends:
        parts.append(_END.pack(end.segment, end.node, write_links(end.path)))
    return b"".join(parts)


def _read_segments(cursor: Reader, count: int) -> tuple[SegmentFilter, ...]:
    return tuple(
        [
            SegmentFilter(
                segment=segment,
                plan=plan,
                choice=choice,
                links=int.from_bytes(links, "big"),
                depth=depth,
                up_choice=up_choice,
                up_links=int.from_bytes(up_links, "big"),
            )
            for segment, plan, choice, links, depth, up_choice, up_links in _SEGMENT.iter_unpack(
                cursor.read_bytes(count * _SEGMENT.size)
            )
        ]
    )


def _read_ends(cursor: Reader, count: int) -> tuple[SegmentEnd, ...]:
    return tuple(
        [
            SegmentEnd(segment=segment, node=node, path=int.from_bytes(path, "big"))
            for segment, node, path in _END.iter_unpack(cursor.read_bytes(count * _END.size))
        ]
    )
