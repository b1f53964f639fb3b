"""The publisher of one transfer, as paper 004 prints it.

It sends the object, waits until whoever has all of it may have left, opens the next generation with
FIRST, waits for the last NAKs, and sends what was asked for; again and again until all have left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.facts import Offer, TransferFinished
from penstock.bloomcast.literal.full_filters import FullFilters
from penstock.bloomcast.literal.nak import block_and_symbol, numbers_in, packet_number
from penstock.bloomcast.literal.nak_table import NakTable
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.advertisement import advertisement
from penstock.bloomcast.publisher.publisher import Phase
from penstock.bloomcast.segment.head_plan import HeadPlan, PlanPages
from penstock.bloomcast.segment.segment_head import Forward
from penstock.bloomcast.settings import CastSettings
from penstock.bloomcast.stamps import stamp
from penstock.kernel.instant import SECOND, Duration, Instant
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, CastBody
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.plan import Start
from penstock.wire.frames.cast.rate import AllowedRate
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import First, FirstRequest, RepairChoice, Stop

_GENERATION_MAX: Final = 255
_NO_FLAGS: Final = Flag(0)


class _Timer(Enum):
    """What it waits for."""

    # The next copy of FIRST.
    COPY = auto()
    PACKETS = auto()
    # Those who have all have left, and the plan is without them.
    LEFT = auto()


class LiteralPublisher:
    """Of one object."""

    def __init__(
        self,
        out: Outbox,
        offer: Offer,
        *,
        settings: CastSettings,
        forward: Forward,
        send_up: Callable[[CastBody, Instant], None],
    ) -> None:
        self.offer: Final = offer
        self.head: Final = FullFilters(out, offer.item, forward=forward)
        self._out: Final = out
        self._settings: Final = settings
        self._send_up: Final = send_up
        self._pages: Final = PlanPages()
        # Takes effect with the next generation.
        self._next_plan: HeadPlan | None = None
        self._naks: Final = NakTable()
        self._timers: Final[Timers[_Timer]] = Timers()
        self._generation = 0
        self._trains: Iterator[tuple[int, ...]] = iter(())
        self._copies_left = 0
        self.phase = Phase.WAITING
        self.is_gone = False

    def advertise(self, now: Instant) -> None:
        """Tells the controller."""
        offer = self.offer
        node = self._out.node
        body = advertisement(offer, publisher=node, epoch=offer.epoch, receivers=offer.receivers)
        self._send_up(body, now)

    def on_unanswered(self, now: Instant) -> None:
        """ADVERTISE was not answered."""
        self.advertise(now)

    # Frames.

    def configure(self, config: Start, now: Instant) -> None:
        """Takes a page of its plan; the first plan starts the transfer, one for nobody ends it."""
        plan = self._pages.add(config)
        if plan is None or self.phase is Phase.STOPPED:
            return
        self._next_plan = plan
        if self.phase is not Phase.WAITING:
            if plan.is_empty():
                self._stop(now)
        elif not plan.is_empty():
            self._open(now)

    def on_report(self, header: Header, report: Report, now: Instant) -> None:  # noqa: ARG002
        """A NAK."""
        # [P3] By the generation in it: those for the last packets come after the next FIRST.
        self._naks.add(header.generation, header.segment, numbers_in(report))

    def on_first_request(self, request: FirstRequest, now: Instant) -> None:
        """Nobody asks for FIRST here."""

    def on_rate(self, header: Header, report: AllowedRate, now: Instant) -> None:
        """Nobody controls the rate here."""

    # Time.

    def wake(self, now: Instant) -> None:
        """Sends what is due."""
        for timer in self._timers.due(now):
            if timer is _Timer.COPY:
                self._send_first(now)
            elif timer is _Timer.PACKETS:
                self._send_train(now)
            elif self._generation == _GENERATION_MAX:
                self._stop(now)
            else:
                self._generation += 1
                self._open(now)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._timers.next_wakeup()

    # Phases.

    def _open(self, now: Instant) -> None:
        """A generation: FIRST, several times [P2], and after a wait its packets."""
        self.phase = Phase.OPENING
        if self._next_plan is not None:
            self.head.plan, self._next_plan = self._next_plan, None
        self._naks.begin(self._generation)
        self._copies_left = self._settings.publisher.copies
        self._send_first(now)
        copies_ns = self._settings.publisher.copies * self._copy_ns()
        wait_ns = self._wait_ns() if self._generation else copies_ns
        self._timers.set(_Timer.PACKETS, now + wait_ns)

    def _wait_ns(self) -> Duration:
        """Three times what a NAK takes to come from the farthest subscriber, and back."""
        literal = self._settings.literal
        holds_ns = self.head.plan.levels * literal.hold_ns
        return 3 * (2 * literal.hops * literal.link_delay_ns + holds_ns)

    def _copy_ns(self) -> Duration:
        return self._settings.head.round_trip_ns // 2

    def _send_train(self, now: Instant) -> None:
        if self.phase is not Phase.SENDING:
            self.phase = Phase.SENDING
            self._trains = self._whole_object() if not self._generation else self._asked()
        train = next(self._trains, None)
        if train is None:
            self.phase = Phase.COLLECTING
            self._timers.set(_Timer.LEFT, now + self._wait_ns())
            return
        self._put(train, now)
        rate_bps = self._settings.publisher.rate_bps or self._settings.rate.uncontrolled_bps
        took_ns = len(train) * self.offer.symbol_bytes * SECOND // rate_bps
        self._timers.set(_Timer.PACKETS, now + took_ns)

    def _stop(self, now: Instant) -> None:
        """All have left."""
        self.phase = Phase.STOPPED
        self.is_gone = True
        for timer in _Timer:
            self._timers.cancel(timer)
        self._send_up(Stop(done=self.offer.receivers), now)
        self._out.tell(TransferFinished(self.offer.item, self.offer.receivers, ()))

    # What to send: packet numbers of one block each time.

    def _whole_object(self) -> Iterator[tuple[int, ...]]:
        blocks = dict(enumerate(self.offer.block_symbols))
        if self.offer.manifest_symbols:
            blocks = {MANIFEST_BLOCK: self.offer.manifest_symbols, **blocks}
        length = self._settings.publisher.train_symbols
        for block, symbols in blocks.items():
            for start in range(0, symbols, length):
                stop = min(start + length, symbols)
                yield tuple(range(packet_number(block, start), packet_number(block, stop)))

    def _asked(self) -> Iterator[tuple[int, ...]]:
        """The union of all NAKs of the generation before, in the order of sending."""
        numbers = self._naks.asked_by_anyone(self._generation - 1)
        numbers.sort(key=lambda number: (block_and_symbol(number)[0] != MANIFEST_BLOCK, number))
        train: list[int] = []
        for number in numbers:
            is_full = len(train) == self._settings.publisher.train_symbols
            if train and (is_full or block_and_symbol(number)[0] != block_and_symbol(train[0])[0]):
                yield tuple(train)
                train = []
            train.append(number)
        if train:
            yield tuple(train)

    def _put(self, train: tuple[int, ...], now: Instant) -> None:
        if not self._generation:
            self._put_into(train, None, now)
            return
        for segment in self.head:
            asked = self._naks.asked(self._generation - 1, segment)
            numbers = tuple([number for number in train if number in asked])
            if numbers:
                self._put_into(numbers, segment, now)

    def _put_into(self, train: tuple[int, ...], segment: int | None, now: Instant) -> None:
        block = block_and_symbol(train[0])[0]
        body = Symbols(numbers=tuple([block_and_symbol(number)[1] for number in train]))
        flags = Flag.REPAIR if self._generation else _NO_FLAGS
        header = self._header(
            now, block=block, flags=flags | Flag.PLAIN if self.offer.is_plain else flags
        )
        self.head.send(header, lambda _segment: body, None if segment is None else [segment])

    def _send_first(self, now: Instant) -> None:
        self._copies_left -= 1
        if self._copies_left:
            self._timers.set(_Timer.COPY, now + self._copy_ns())
        offer = self.offer
        first = First(
            up_choice=0,
            up_links=0,
            up_ttl=0,
            epoch=offer.epoch,
            object_id=offer.object_id,
            kind=offer.kind,
            repair=RepairChoice.EXACT,
            length_bytes=offer.length_bytes,
            symbol_bytes=offer.symbol_bytes,
            blocks=len(offer.block_symbols),
            block_symbols=max(offer.block_symbols, default=0),
            manifest_bytes=offer.manifest_bytes,
            hold_100us=0,
        )
        self.head.send_first(self._header(now), first)

    def _header(self, now: Instant, *, block: int = 0, flags: Flag = _NO_FLAGS) -> Header:
        """Where it goes is the head's to say."""
        return Header(
            ttl=0,
            choice=0,
            links=0,
            flags=flags,
            generation=self._generation,
            block=block,
            stamp_us=stamp(now),
        )
