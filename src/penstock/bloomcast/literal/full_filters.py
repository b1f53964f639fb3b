"""The segments of a head, each sent into as a whole: filters are never narrowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.head_plan import HeadPlan
from penstock.bloomcast.segment.segment_head import Forward
from penstock.wire.frames.cast.base import CastBody, Item
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import SegmentFilter
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import First


class FullFilters:
    """All segments that one node sends a transfer into."""

    def __init__(self, out: Outbox, item: Item, *, forward: Forward) -> None:
        self._out: Final = out
        self._item: Final = item
        self._forward: Final = forward
        self.plan = HeadPlan(-1, 1, {})

    def __iter__(self) -> Iterator[int]:
        return iter(self.plan.segments)

    def has_segment(self, number: int) -> bool:
        """Whether a segment is of this head."""
        return number in self.plan.segments

    def send_first(self, header: Header, first: First) -> None:
        """FIRST into each segment, with its way back."""

        def make(segment: SegmentFilter) -> First:
            return msgspec.structs.replace(
                first,
                up_choice=segment.up_choice,
                up_links=segment.up_links,
                up_ttl=segment.depth,
            )

        self.send(header, make)

    def send(
        self,
        header: Header,
        make: Callable[[SegmentFilter], CastBody],
        segments: Iterable[int] | None = None,
    ) -> None:
        """Into these segments, or all; the body may differ."""
        for number in self if segments is None else segments:
            segment = self.plan.segments[number].filter
            body = make(segment)
            onward = msgspec.structs.replace(
                header,
                ttl=segment.depth,
                choice=segment.choice,
                links=segment.links,
                item=self._item,
                segment=segment.segment,
                plan=segment.plan,
                symbol=body.numbers[0] if isinstance(body, Symbols) else 0,
            )
            origin = None if isinstance(body, Symbols) else self._out.next_origin()
            self._forward(Packet(header=onward, body=body, origin=origin))
