"""What a publisher says around its symbols, and the headers of all that it sends.

Where a packet goes is the head's to say.
"""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.facts import Offer
from penstock.bloomcast.publisher.generation import Train
from penstock.bloomcast.segment.segment_head import SegmentHead, with_way_back
from penstock.bloomcast.stamps import stamp
from penstock.kernel.instant import Instant
from penstock.wire.frames.cast.base import CastBody
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.plan import SegmentFilter
from penstock.wire.frames.cast.rate import RateInForce
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import ClosedBlock, End, First, RepairChoice, Stop
from penstock.wire.quantise import hold_100us

_NO_FLAGS: Final = Flag(0)


class Announcements:
    """Of one transfer; to some ends, or with None to all."""

    def __init__(self, head: SegmentHead, offer: Offer, repair: RepairChoice) -> None:
        self._head: Final = head
        self._offer: Final = offer
        self._repair: Final = repair
        self.epoch = offer.epoch
        # Of FIRST, RATE and STOP; a stream's are always of generation 0.
        self.generation = 0
        # Of FIRST: how many blocks there are, of how many symbols at most.
        self.blocks = len(offer.block_symbols)
        self.block_symbols = max(offer.block_symbols, default=0)
        # Of END.
        self.first_block = 0
        # When FIRST or RATE was said to all last. Relays pass these on to every end of theirs, but
        # END and symbols only to those whom they are for.
        self.told_all_at: Instant = 0
        self.last_block = max(0, self.blocks - 1)

    def first(self, ends: list[int] | None, now: Instant, *, is_poll: bool = False) -> None:
        """FIRST: what is sent, and the way back; of a stream, where to begin."""
        if ends is None:
            self._first(None, self.first_block, now, is_poll=is_poll)
            return
        for begins, those in self._head.begins_of(ends).items():
            self._first(those, max(begins, self.first_block), now)

    def _first(
        self, ends: list[int] | None, begins: int, now: Instant, *, is_poll: bool = False
    ) -> None:
        offer, hold_ns = self._offer, self._head.hold_ns()
        first = First(
            up_choice=0,
            up_links=0,
            up_ttl=0,
            epoch=self.epoch,
            object_id=offer.object_id,
            kind=offer.kind,
            repair=self._repair,
            length_bytes=offer.length_bytes,
            symbol_bytes=offer.symbol_bytes,
            blocks=self.blocks,
            block_symbols=self.block_symbols,
            manifest_bytes=offer.manifest_bytes,
            hold_100us=0,
        )

        def make(segment: SegmentFilter) -> CastBody:
            return with_way_back(first, segment, hold_ns)

        header = self._header(now, block=begins, flags=Flag.POLL if is_poll else _NO_FLAGS)
        if ends is None:
            self.told_all_at = now
            self._head.send_all(header, make)
        else:
            self._head.send_to(ends, header, make)

    def end(
        self,
        ends: list[int] | None,
        now: Instant,
        *,
        generation: int,
        block: int = 0,
        closed: tuple[ClosedBlock, ...] = (),
        is_poll: bool = False,
    ) -> None:
        """END: say what is missing; with `is_poll`, at once."""
        body = End(
            first_block=self.first_block,
            last_block=self.last_block,
            hold_100us=hold_100us(self._head.hold_ns()),
            closed=closed,
        )
        flags = Flag.POLL if is_poll else _NO_FLAGS
        self._say(body, ends, self._header(now, generation=generation, block=block, flags=flags))

    def stop(
        self,
        ends: list[int] | None,
        now: Instant,
        *,
        done: int = 0,
        block: int = 0,
        reason: str = "",
    ) -> None:
        """STOP: it is over; with a reason, for those whom it concerns."""
        self._say(Stop(reason=reason, done=done), ends, self._header(now, block=block))

    def rate(self, body: RateInForce, now: Instant) -> None:
        """RATE on its way down."""
        self.told_all_at = now
        self._say(body, None, self._header(now))

    def symbols(self, train: Train, now: Instant) -> None:
        """DATA."""
        flags = Flag.REPAIR if train.is_repair else _NO_FLAGS
        header = self._header(
            now,
            generation=train.generation,
            block=train.block,
            symbol=train.numbers[0],
            flags=flags | Flag.PLAIN if self._offer.is_plain else flags,
        )
        ends = None if train.ends is None else list(train.ends)
        self._say(Symbols(numbers=train.numbers), ends, header, has_origin=False)

    def _say(
        self, body: CastBody, ends: list[int] | None, header: Header, *, has_origin: bool = True
    ) -> None:
        def make(_segment: SegmentFilter) -> CastBody:
            return body

        if ends is None:
            self._head.send_all(header, make, has_origin=has_origin)
        else:
            self._head.send_to(ends, header, make, has_origin=has_origin)

    def _header(
        self,
        now: Instant,
        *,
        generation: int | None = None,
        block: int = 0,
        symbol: int = 0,
        flags: Flag = _NO_FLAGS,
    ) -> Header:
        return Header(
            ttl=0,
            choice=0,
            links=0,
            flags=flags,
            generation=self.generation if generation is None else generation,
            block=block,
            symbol=symbol,
            stamp_us=stamp(now),
        )
