"""A relay point of one transfer: it forwards what comes from its parent into segments of its own.

Upwards it sends one report for all its ends: of each block, the most that any of them needs, or a
short list of all that they lack. Downwards, repairs go to those ends alone that still need them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.router.rate_merge import RateMerge
from penstock.bloomcast.router.relay_question import RelayQuestion, WayUp
from penstock.bloomcast.router.repair_forwarding import RepairForwarding
from penstock.bloomcast.segment.head_plan import PlanPages
from penstock.bloomcast.segment.question import Question, round_of
from penstock.bloomcast.segment.questions import OPENING
from penstock.bloomcast.segment.segment_head import Forward, SegmentHead, with_way_back
from penstock.bloomcast.segment.stream_shape import StreamShape
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.bloomcast.subscriber.way_back import is_later
from penstock.kernel.bounded import BoundedDict
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.cast.base import Item, Origin
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.membership import ObjectKind
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.plan import RelayConfig, SegmentFilter
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop

_PAST_EPOCHS_MAX: Final = 16


class RelayPoint:
    """Of one transfer."""

    def __init__(
        self, out: Outbox, item: Item, *, settings: CastSettings, forward: Forward
    ) -> None:
        self._settings: Final = settings
        self._way: Final = WayUp(out, item, forward)
        self._pages: Final = PlanPages()
        self.head: Final = SegmentHead(out, item, settings=settings, forward=forward)
        self._repairs: Final = RepairForwarding(self.head)
        self._rates: Final = RateMerge(settings.rate, out.node)
        self._opening: Final = self._relayed(self.head.questions.opening)
        # Of a stream, by block.
        self._of_blocks: Final[dict[int, RelayQuestion]] = {}
        # Of a stream, the first block that is not over, and what is known of others.
        self._first_block = 0
        self._shape: StreamShape | None = None
        # Of publishers that have begun again since.
        self._past_epochs: Final[BoundedDict[int, None]] = BoundedDict(_PAST_EPOCHS_MAX)
        # The first FIRST: what its sender has sent before belongs to another transfer.
        self._opened_by: Origin | None = None
        self._forget_at: Instant | None = None
        # STOP has come; its other copies may yet.
        self._is_over = False
        self._stopped: tuple[Header, Stop] | None = None
        self.is_stopped = False

    def _relayed(self, question: Question) -> RelayQuestion:
        return RelayQuestion(
            self.head, question, self._way, say_first=self._say_first, settings=self._settings
        )

    @property
    def parent_segment(self) -> int:
        """The segment that it is an end of."""
        return self._way.parent_segment

    # From the controller.

    def configure(self, config: RelayConfig, now: Instant) -> None:
        """Takes a page of its configuration."""
        plan = self._pages.add(config)
        if plan is None:
            return
        self._way.parent_segment = config.parent_segment
        came = self.head.apply(plan)
        self._forget_at = now + self._settings.head.forget_ns
        self.is_stopped = plan.is_empty()
        opening = self._opening.opening
        if came and not self._is_over and self._way.first is not None and opening is not None:
            self._say_first(self._opening.opening_again(opening, now), came)
            for question in self._questions():
                question.came(came, now)

    def set_local_end(self, is_there: bool) -> None:
        """A subscriber at this node is one of the ends."""
        self.head.set_local_end(is_there)

    # From the parent.

    def on_packet(self, packet: Packet, now: Instant) -> None:
        """A packet of the parent's segment."""
        if packet.header.segment != self.parent_segment:
            return
        self._touch(now)
        body = packet.body
        if isinstance(body, Symbols):
            self._on_symbols(packet.header, body)
        elif isinstance(body, First):
            assert packet.origin is not None
            self._on_first(packet.header, body, packet.origin, now)
        elif isinstance(body, End):
            self._on_end(packet.header, body, now)
        elif isinstance(body, RateInForce):
            onward = self._rates.down(body, self.head.ends)
            self.head.send_all(packet.header, lambda _segment: onward)
        elif isinstance(body, Stop):
            opened_by, origin = self._opened_by, packet.origin
            if opened_by is None or origin is None or is_later(origin, opened_by):
                self._stop(packet.header, body, now)

    def _stop(self, header: Header, body: Stop, now: Instant) -> None:
        self.head.send_all(header, lambda _segment: body)
        if not self._is_over:
            self._is_over, self._stopped = True, (header, body)
            for question in self._questions():
                question.rest()
            self._forget_at = now + self._settings.head.linger_ns

    def _on_symbols(self, header: Header, body: Symbols) -> None:
        question = self._question_of(header)
        if question is not None:
            question.served()
        if header.flags & Flag.REPAIR:
            self._repairs.forward(header, body)
            return
        if self._shape is not None:
            self.head.next_block = max(self.head.next_block, header.block + 1)
        ends = self.head.source_ends(header.block)
        if ends is None:
            self.head.send_all(header, lambda _segment: body, has_origin=False)
        else:
            self.head.send_to(ends, header, lambda _segment: body, has_origin=False)

    def _on_first(self, header: Header, body: First, origin: Origin, now: Instant) -> None:
        first = self._way.first
        if first is not None and body.epoch != first.epoch:
            if body.epoch in self._past_epochs:
                return
            self._past_epochs[first.epoch] = None
            self._begin_epoch(now)
        try:
            self._follow_shape(body)
        except PeerError:
            # Nobody can send such an object: the frame is counted as lost.
            return
        if self._opened_by is None or self._opened_by.node != origin.node:
            self._opened_by = origin
        self._way.first = body
        if header.generation == 0:
            self._opening.open(0, header, now)
        self._say_first(header, None)

    def _follow_shape(self, first: First) -> None:
        """What is sent: a file is known from the beginning, a stream block by block."""
        if first.kind != ObjectKind.STREAM:
            self.head.questions.is_stream = False
            self.head.symbols_of = ObjectShape.of(first).symbols_of
            return
        if self._shape is None:
            self._shape = StreamShape(first)
            self.head.questions.is_stream = True
            self.head.symbols_of = self._shape.symbols_of
        self._close_before(first.blocks)

    def _begin_epoch(self, now: Instant) -> None:
        """The publisher has begun again."""
        self.head.begin_epoch()
        self._repairs.clear()
        self._opening.begin_epoch()
        self._of_blocks.clear()
        self._first_block, self._shape, self._opened_by = 0, None, None
        self._is_over = False
        self._touch(now)

    def _say_first(self, header: Header, ends: list[int] | None) -> None:
        """FIRST; whoever has not begun with a stream begins where its header says."""
        first = self._way.first
        assert first is not None
        hold = self.head.hold_ns()

        def make(segment: SegmentFilter) -> First:
            return with_way_back(first, segment, hold)

        if ends is None:
            self.head.send_all(header, make)
            return
        if self.head.questions.is_stream:
            header = msgspec.structs.replace(header, generation=0)
        for begins, those in self.head.begins_of(ends).items():
            block = max(begins, self._first_block)
            self.head.send_to(those, msgspec.structs.replace(header, block=block), make)

    def _on_end(self, header: Header, body: End, now: Instant) -> None:
        if body.closed:
            if self._shape is None:
                # FIRST will come again, as this is not answered.
                return
            self._shape.learn(body.closed)
            self._close_before(body.first_block)
            self._opening.rest()
            self.head.next_block = max(self.head.next_block, header.block + 1)
            if header.block < self._first_block:
                return
        key = self.head.questions.key_of(header)
        question = self.head.questions.open(key)
        if question is None:
            return
        relayed = self._question_of(header)
        if relayed is None:
            relayed = self._of_blocks[key] = self._relayed(question)
            self._forget_closed()
        relayed.on_end(header, body, now)

    # Questions.

    def _questions(self) -> list[RelayQuestion]:
        return [self._opening, *self._of_blocks.values()]

    def _question_of(self, header: Header) -> RelayQuestion | None:
        key = self.head.questions.key_of(header)
        return self._opening if key == OPENING else self._of_blocks.get(key)

    def _close_before(self, block: int) -> None:
        """Blocks of a stream before this one are over."""
        self._first_block = max(self._first_block, block)
        self.head.questions.close_before(self._first_block)
        self._forget_closed()

    def _forget_closed(self) -> None:
        for key in [key for key in self._of_blocks if self.head.questions.get(key) is None]:
            del self._of_blocks[key]

    # From its ends.

    def on_report(self, header: Header, report: Report, now: Instant) -> None:
        """Notes it, and what follows from it."""
        if self._stopped is not None and self._is_over:
            # It has missed STOP.
            its, stopped = self._stopped
            onward = msgspec.structs.replace(header, block=its.block)
            self.head.send_to([report.child], onward, lambda _segment: stopped)
            return
        self._touch(now)
        if self.head.on_report(header, report, now):
            question = self._question_of(header)
            if question is not None:
                question.on_report(round_of(header), now)

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """An end has missed FIRST."""
        opening = self._opening.opening
        if self._way.first is not None and opening is not None:
            self._say_first(self._opening.opening_again(opening, now), [request.child])

    def on_rate(self, header: Header, body: AllowedRate, now: Instant) -> None:
        """Passes on what an end allows, if it is the least."""
        way, opening = self._way, self._opening.opening
        first = way.first
        if first is None or opening is None or not self._rates.passes(body, now):
            return
        onward = msgspec.structs.replace(
            header,
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            # What opened the transfer may have come by a segment of an earlier plan.
            segment=self.parent_segment,
            plan=opening.plan,
        )
        way.forward(Packet(header=onward, body=body, origin=way.out.next_origin()))

    # Time.

    def wake(self, now: Instant) -> None:
        """Lets questions do what is due, and gives up the transfer when it is silent."""
        for question in self._questions():
            question.wake(now)
        if self._forget_at is not None and self._forget_at <= now:
            self.is_stopped = True

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        questions = [question.next_wakeup() for question in self._questions()]
        return earliest(*questions, self._forget_at)

    def _touch(self, now: Instant) -> None:
        if not self._is_over:
            self._forget_at = now + self._settings.head.forget_ns
