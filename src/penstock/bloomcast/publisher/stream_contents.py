"""A stream, as it is sent: blocks are repaired while the next ones are written.

A block is open from its first symbol until it and all before it are repaired or given up. So
receivers, who hand blocks over in order, keep no more of them than may be open.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.coding.block_layout import block_symbols_max
from penstock.bloomcast.facts import (
    BlockFilled,
    BlockRepaired,
    BlocksGone,
    Offer,
    Overflow,
    WriterHeld,
    WriterReleased,
)
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.publisher.contents import Session
from penstock.bloomcast.publisher.generation import Train
from penstock.bloomcast.publisher.rounds import Rounds
from penstock.bloomcast.publisher.stream_block import StreamBlock
from penstock.bloomcast.segment.question import round_of
from penstock.bloomcast.settings import StreamOverflow
from penstock.kernel.instant import Instant, earliest
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, STREAM_BLOCKS_MAX
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.transfer import ClosedBlock


class _Timer(Enum):
    # The block that is being written takes no more.
    FLUSH = auto()
    # While nothing is written, FIRST says that the stream goes on.
    HEARTBEAT = auto()


class StreamContents:
    """Of one transfer."""

    def __init__(self, out: Outbox, offer: Offer, session: Session) -> None:
        self._out: Final = out
        self._item: Final = offer.item
        self._session: Final = session
        self._head: Final = session.head
        self._say: Final = session.say
        settings = session.settings.stream
        self._settings: Final = settings
        symbols_max = block_symbols_max(offer.symbol_bytes)
        self._symbols_max: Final = min(settings.block_symbols, symbols_max)
        self._say.block_symbols = self._symbols_max
        self._head.questions.is_stream = True
        self._head.symbols_of = self._symbols_of
        self._timers: Final[Timers[_Timer]] = Timers()
        # Those that are neither repaired nor given up, in order.
        self._blocks: Final[dict[int, StreamBlock]] = {}
        self._closed: Final[deque[ClosedBlock]] = deque(maxlen=STREAM_BLOCKS_MAX)
        # The block that takes what is written.
        self._writing: StreamBlock | None = None
        self._next = 0
        self._is_held = False
        self._is_finished = False
        self._said_at: Instant = 0
        # Subscribers that were counted with the last block.
        self._subscribers: int | None = None
        self.is_unasked = True

    # The application.

    def write(self, symbols: int, now: Instant) -> int:
        """Takes as many as there is room for, and says how many; after the end none."""
        taken = 0
        while taken < symbols:
            block = self._writing or self._begin_block(now)
            if block is None:
                break
            part = min(symbols - taken, self._symbols_max - block.symbols)
            block.symbols += part
            taken += part
            if block.symbols == self._symbols_max:
                self._fill(block)
        return taken

    def closed(self, block: int, digest: bytes) -> None:
        """The hash of a block that was filled."""
        found = self._blocks.get(block)
        if found is not None and found.is_filled:
            found.digest = digest
            self._closed.append(ClosedBlock(block=block, symbols=found.symbols, digest=digest))

    def finish(self) -> None:
        """Nothing more will be written."""
        self._is_finished = True
        if self._writing is not None:
            self._fill(self._writing)

    def _begin_block(self, now: Instant) -> StreamBlock | None:
        if self._is_finished or not self._has_room():
            return None
        block = self._writing = self._blocks[self._next] = StreamBlock(self._next)
        self._next += 1
        self._timers.set(_Timer.FLUSH, now + self._settings.flush_ns)
        self._follow_blocks()
        return block

    def _has_room(self) -> bool:
        if self._next == MANIFEST_BLOCK:
            self._out.tell(Overflow("blocks of a stream"))
            return False
        if not self._is_full():
            return True
        if self._settings.overflow is StreamOverflow.DROP:
            self._drop(min(self._blocks))
            return True
        if not self._is_held:
            self._is_held = True
            self._out.tell(WriterHeld(self._item))
        return False

    def _is_full(self) -> bool:
        return self._next - self._say.first_block >= STREAM_BLOCKS_MAX

    def _fill(self, block: StreamBlock) -> None:
        block.is_filled, self._writing = True, None
        self._timers.cancel(_Timer.FLUSH)
        self._out.tell(BlockFilled(self._item, block.number, block.symbols))

    def _drop(self, block: int) -> None:
        """Those who lack it learn it from the next frame that says which blocks are open."""
        del self._blocks[block]
        self._out.tell(BlocksGone(self._item, block, block + 1))
        self._follow_blocks()

    # Blocks.

    def _symbols_of(self, block: int) -> int:
        found = self._blocks.get(block)
        return 0 if found is None else found.symbols

    def _follow_blocks(self) -> None:
        """What frames say of blocks changes with them."""
        first = min(self._blocks, default=self._next)
        self._say.first_block = self._say.blocks = first
        self._say.last_block = max(0, self._next - 1)
        self._head.questions.close_before(first)
        unsent = [number for number, block in self._blocks.items() if block.is_unsent]
        self._head.next_block = min(unsent, default=self._next)

    def _settle(self, now: Instant) -> None:
        """Asks what no later block will tell; blocks that are over make room."""
        will_be_told = False
        for block in reversed(list(self._blocks.values())):
            if block.rounds is not None and block.is_resting and not will_be_told:
                block.rounds.end(now)
            will_be_told |= block.will_tell
        for number, block in list(self._blocks.items()):
            if block.is_over:
                question = self._head.questions.get(number)
                if question is not None:
                    self._subscribers = question.counts()[1]
                del self._blocks[number]
                self._out.tell(BlockRepaired(self._item, number))
                self._follow_blocks()
            elif block.is_spent:
                self._drop(number)
        if self._is_held and not self._is_full():
            self._is_held = False
            self._out.tell(WriterReleased(self._item))

    # The publisher: `Contents`.

    @property
    def is_sending(self) -> bool:
        """Whether there is a train to send, or END to say in its place."""
        return any(
            block.has_repairs or block.has_sources or block.can_end
            for block in self._blocks.values()
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written, and all that was is repaired or given up."""
        return self._is_finished and not self._blocks

    @property
    def is_spent(self) -> bool:
        """A block that cannot be repaired is given up: no epoch begins for it."""
        return False

    @property
    def end_block(self) -> int:
        """The number that a further block would have."""
        return self._next

    def counts(self) -> tuple[int, int]:
        """Whoever was not given up has all that is not gone."""
        subscribers = self._subscribers
        if subscribers is None:
            subscribers = self._head.questions.opening.counts()[1]
        return subscribers, subscribers

    def begin(self, now: Instant) -> None:
        """FIRST has been answered, or was waited for."""
        self._said_at = now
        self._timers.set(_Timer.HEARTBEAT, now + self._session.settings.publisher.idle_max_ns)

    def begin_epoch(self) -> None:
        """Nobody asks for one."""

    def next_train(self, symbols_max: int, now: Instant) -> Train | None:
        """Repairs first, of the oldest block; then what is new."""
        self._said_at = now
        for block in list(self._blocks.values()):
            rounds = block.rounds
            if rounds is not None and block.has_repairs:
                train = rounds.next_train(symbols_max)
                if train is not None:
                    return train
                rounds.rest()
        for block in list(self._blocks.values()):
            if block.can_end:
                self._ask(block, now)
            elif block.has_sources:
                train = block.next_sources(symbols_max)
                self._follow_blocks()
                return train
        self._settle(now)
        return None

    def _ask(self, block: StreamBlock, now: Instant) -> None:
        """END, for the first time."""
        self.is_unasked = False
        question = self._head.questions.open(block.number)
        assert question is not None, block.number
        session = self._session
        block.rounds = Rounds(
            session.head,
            question,
            session.say,
            symbols={block.number: block.symbols},
            pacing=session.pacing,
            unreached=session.unreached,
            settings=session.settings,
            block=block.number,
            closed=lambda: tuple(self._closed),
        )
        block.rounds.end(now)

    def came(self, ends: list[int], now: Instant) -> None:
        """These ends are new."""
        for block in self._blocks.values():
            if block.rounds is not None:
                block.rounds.came(ends, now)

    def on_report(self, header: Header, now: Instant) -> None:
        """An end has said something new."""
        reported = self._head.questions.key_of(header)
        for number, block in self._blocks.items():
            if block.rounds is None:
                continue
            if number == reported:
                block.rounds.on_report(round_of(header), now)
            else:
                block.rounds.on_settled(now)
        self._settle(now)

    def wake(self, now: Instant) -> None:
        """Does what is due."""
        for timer in self._timers.due(now):
            if timer is _Timer.HEARTBEAT:
                self._beat(now)
            elif self._writing is not None:
                self._fill(self._writing)
        for block in list(self._blocks.values()):
            if block.rounds is not None:
                block.rounds.wake(now)
        self._settle(now)

    def _beat(self, now: Instant) -> None:
        beat_ns = self._session.settings.publisher.idle_max_ns
        if now - self._said_at >= beat_ns:
            self._say.first(None, now)
            self._said_at = now
        self._timers.set(_Timer.HEARTBEAT, self._said_at + beat_ns)

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        rounds = [block.rounds for block in self._blocks.values() if block.rounds is not None]
        return earliest(self._timers.next_wakeup(), *[each.next_wakeup() for each in rounds])
