"""The subscriber of one item, as paper 004 prints it.

It sends a NAK for each packet as soon as the next one shows the gap, those at the end of a
generation at FIRST of the next; when it has the whole object, it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from penstock.bloomcast.coding.symbol_runs import consecutive_runs
from penstock.bloomcast.discovery.control import Control
from penstock.bloomcast.facts import (
    BlockDecodable,
    Held,
    ObjectComplete,
    SymbolsArrived,
    TransferOpened,
    TransferStopped,
    Verdict,
)
from penstock.bloomcast.literal.missing_packets import MissingPackets
from penstock.bloomcast.literal.nak import naks, packet_number
from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.settings import RateSettings, SubscriberSettings
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.bloomcast.subscriber.way_back import SendBack
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.kernel.timers import Timers
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, Item
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.membership import ObjectKind, Subscribe, Unsubscribe
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.transfer import First, Stop


class _Timer(Enum):
    """What it waits for."""

    SUBSCRIBE = auto()
    SILENCE = auto()


class LiteralSubscriber:
    """Of one item."""

    def __init__(
        self,
        out: Outbox,
        control: Control,
        item: Item,
        *,
        name: str,
        settings: SubscriberSettings,
        rate: RateSettings,  # noqa: ARG002
        seeds: Seeds,  # noqa: ARG002
        send: SendBack,  # noqa: ARG002
        kind: ObjectKind = ObjectKind.FILE,  # noqa: ARG002
        held: Held | None = None,  # noqa: ARG002
        now: Instant,
    ) -> None:
        self._out: Final = out
        self._control: Final = control
        self._item: Final = item
        self._name: Final = name
        self._settings: Final = settings
        self._timers: Final[Timers[_Timer]] = Timers()
        self._shape: ObjectShape | None = None
        self._missing = MissingPackets(0)
        # By block, how many of its packets are missing.
        self._left: Final[dict[int, int]] = {}
        self._complete: Final[set[int]] = set()
        self._generation = 0
        # The latest FIRST, its header, and how it came: the way back.
        self._way_back: tuple[First, Header, Port] | None = None
        self.is_complete = False
        self.is_stopped = False
        self._timers.set(_Timer.SUBSCRIBE, now)

    # Frames.

    def on_packet(self, packet: Packet, via: Port, now: Instant) -> None:
        """A packet of the item."""
        if self.is_stopped:
            return
        header, body = packet.header, packet.body
        if isinstance(body, Symbols):
            self._on_symbols(header, body)
        elif isinstance(body, First):
            self._on_first(header, body, via)
        elif isinstance(body, Stop):
            self._stop(body.reason)
        else:
            return
        self._timers.set(_Timer.SILENCE, now + self._settings.silence_ns)
        if self.is_complete:
            self.leave("", now)

    def _on_first(self, header: Header, body: First, via: Port) -> None:
        if self._shape is None:
            try:
                self._shape = ObjectShape.of(body)
            except PeerError:
                # Nobody can send such an object: the frame is counted as lost.
                return
            self._timers.cancel(_Timer.SUBSCRIBE)
            self._missing = MissingPackets(self._shape.places)
            self._left.update(
                {block: self._shape.symbols_of(block) for block in self._shape.blocks()}
            )
            self._out.tell(TransferOpened(self._item, body))
        self._way_back = (body, header, via)
        self._open(header.generation)
        self._finish_if_complete()

    def _open(self, generation: int) -> None:
        """The generations before it are over: what they have not brought is asked for again."""
        if generation > self._generation:
            self._send_naks(self._missing.end_generation(), generation - 1)
            self._generation = generation

    def _on_symbols(self, header: Header, body: Symbols) -> None:
        shape, block = self._shape, header.block
        if shape is None or not shape.symbols_of(block):
            return
        # [P2] All copies of FIRST may be lost; the way back is then the last one that is known.
        self._open(header.generation)
        first_place = shape.place(block, 0)
        new: list[int] = []
        for start, stop in consecutive_runs(body.numbers):
            places = (first_place + start, first_place + stop)
            if header.generation == self._generation:
                came, gaps = self._missing.take(*places)
                for gap in gaps:
                    # As printed: one NAK for each packet.
                    self._send_naks([gap], self._generation)
            else:
                came = self._missing.add(*places)
            new += came
        if new:
            numbers = tuple([place - first_place for place in new])
            self._out.tell(SymbolsArrived(self._item, block, numbers))
            self._left[block] -= len(new)
            if not self._left[block]:
                self._out.tell(BlockDecodable(self._item, block))

    @property
    def is_opened(self) -> bool:
        """Whether FIRST has come."""
        return self._shape is not None

    # The driver.

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of putting a block together."""
        if verdict is Verdict.COMPLETE:
            self._complete.add(block)
            self._finish_if_complete()

    def disk_rate(self, rate_bps: int | None) -> None:
        """Nobody controls the rate here."""

    def leave(self, reason: str, now: Instant) -> None:
        """Goes, before the end or at it."""
        if not self.is_stopped:
            body = Unsubscribe(subscriber=self._out.node, reason=reason)
            self._control.send_up(body, item=self._item, now=now)
            self._stop(reason)

    # The controller.

    def on_controller(self, now: Instant) -> None:
        """Nobody expects another controller here."""

    def on_unanswered(self, now: Instant) -> None:
        """SUBSCRIBE is repeated anyway."""

    # Time.

    def wake(self, now: Instant) -> None:
        """Subscribes again, leaves, or gives up."""
        if self.is_stopped:
            return
        if self.is_complete:
            self.leave("", now)
            return
        for timer in self._timers.due(now):
            if timer is _Timer.SILENCE:
                self._stop("silent")
            else:
                # Again and again until FIRST comes.
                body = Subscribe(subscriber=self._out.node, name=self._name)
                self._control.send_up(body, item=self._item, now=now)
                self._timers.set(_Timer.SUBSCRIBE, now + self._settings.subscribe_ns)

    def next_wakeup(self) -> Instant | None:
        """When something is due; a complete subscriber leaves at once."""
        if self.is_stopped:
            return None
        return 0 if self.is_complete else self._timers.next_wakeup()

    # Parts of the above.

    def _finish_if_complete(self) -> None:
        shape = self._shape
        if shape is not None and not self.is_complete and len(self._complete) == shape.block_count:
            self.is_complete = True
            self._out.tell(ObjectComplete(self._item))

    def _stop(self, reason: str) -> None:
        self.is_stopped = True
        self._out.tell(TransferStopped(self._item, reason))

    def _send_naks(self, places: Iterable[int], generation: int) -> None:
        assert self._way_back is not None
        first, told, via = self._way_back
        header = Header(
            ttl=first.up_ttl,
            choice=first.up_choice,
            links=first.up_links,
            item=self._item,
            segment=told.segment,
            plan=told.plan,
            generation=generation,
        )
        for nak in naks(self._out.node, map(self._number, places)):
            packet = Packet(header=header, body=nak, origin=self._out.next_origin())
            self._out.send(via, packet)

    def _number(self, place: int) -> int:
        shape = self._shape
        assert shape is not None
        manifest = shape.manifest.symbols
        if place < manifest:
            return packet_number(MANIFEST_BLOCK, place)
        return packet_number(*divmod(place - manifest, shape.layout.block_symbols))
