"""Drives one node on the sockets of a network: frames in, outputs drained, one timer re-armed.

The machine knows numbers of symbols; this is where they get their bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Final, Protocol, TypeVar

from penstock.bloomcast.facts import CastFact, SymbolsArrived
from penstock.bloomcast.node import CastNode
from penstock.kernel.errors import PeerError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Port, Send
from penstock.live.cast.datagram_trains import Address, DatagramTrains, Train
from penstock.live.cast.symbol_datagrams import read_train, sealed_datagrams
from penstock.live.cast.symbol_sealing import SymbolSealing
from penstock.live.net.wakeup_timer import WakeupTimer
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.symbols import DATA_TYPE
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols

T = TypeVar("T")


class Wiring(Protocol):
    """Which socket and address a port is."""

    def port_from(self, frame: CastFrame, address: Address) -> Port | None:
        """The port that a frame from this address came by; None: it is not for us."""

    def way_to(self, port: Port, frame: CastFrame) -> tuple[DatagramTrains, Address]:
        """Where to send a frame."""


class SymbolBytes(Protocol):
    """The bytes behind the numbers."""

    def payloads(self, item: Item, block: int, numbers: Sequence[int], /) -> list[bytes] | None:
        """Of symbols to send; None if there are none, and the transfer is about to end."""

    def arrived(self, fact: SymbolsArrived, payloads: Sequence[bytes], /) -> None:
        """Of symbols that came and are new."""


class CastPump:
    """Of one node."""

    def __init__(
        self,
        machine: CastNode,
        *,
        codec: CastCodec,
        wiring: Wiring,
        symbols: SymbolBytes,
        sealing: SymbolSealing,
        on_fact: Callable[[CastFact], None],
        # A frame that is damaged, or of others.
        on_unreadable: Callable[[bytes], None] | None = None,
        # Tests drop datagrams here.
        drops: Callable[[], bool] | None = None,
    ) -> None:
        self._machine: Final = machine
        self._codec: Final = codec
        self._wiring: Final = wiring
        self._symbols: Final = symbols
        # Another one when FIRST has said which key it is.
        self.sealing = sealing
        self._on_fact: Final = on_fact
        self._on_unreadable: Final = on_unreadable
        self._drops: Final = drops
        self._sockets: Final[list[DatagramTrains]] = []
        self._loop: Final = asyncio.get_running_loop()
        self._timer: Final = WakeupTimer(self._loop, lambda: self._step(self._on_timer))
        # Of the train that is being handled, by number.
        self._at_hand: dict[int, bytes] = {}
        # Frames that were not valid, and symbols.
        self.corrupt = 0
        self.error: Exception | None = None
        self.ended: Final = asyncio.Event()

    def listen(self, socket: DatagramTrains) -> None:
        """Reads from another socket, and closes it in the end."""
        self._sockets.append(socket)
        self._loop.add_reader(socket, self._step, lambda: self._receive(socket))

    def forget(self, socket: DatagramTrains) -> None:
        """Reads no more from a socket."""
        self._sockets.remove(socket)
        self._loop.remove_reader(socket)
        socket.close()

    def call(self, verb: Callable[[CastNode, Instant], T]) -> T:
        """Has the machine do something."""
        result = verb(self._machine, monotonic_ns())
        self._step(lambda: None)
        return result

    def close(self, error: Exception | None = None) -> None:
        """Ends it; what was not read is lost."""
        if self.ended.is_set():
            return
        self.error = error
        for socket in list(self._sockets):
            self.forget(socket)
        self._timer.cancel()
        self.ended.set()

    def _step(self, action: Callable[[], None]) -> None:
        """Runs an action, drains what came of it, and re-arms the timer."""
        if self.ended.is_set():
            return
        try:
            action()
            self._drain()
            self._arm()
        except Exception as error:
            self.close(error)

    def _receive(self, socket: DatagramTrains) -> None:
        for train in socket.receive():
            try:
                self._take(train)
            except PeerError:
                self.corrupt += 1

    def _take(self, train: Train) -> None:
        datagrams = train.datagrams
        if self._drops is not None:
            drops = self._drops
            datagrams = [each for each in datagrams if not drops()]
        symbols = [each for each in datagrams if len(each) > 1 and each[1] == DATA_TYPE]
        for datagram in datagrams:
            if len(datagram) < 2 or datagram[1] != DATA_TYPE:
                self._read(bytes(datagram), train.address)
        trains, damaged = read_train(symbols, self.sealing)
        self.corrupt += damaged
        for packet, payloads in trains:
            assert isinstance(packet.body, Symbols)
            self._at_hand = dict(zip(packet.body.numbers, payloads, strict=True))
            self._hand_over(packet, train.address)

    def _read(self, datagram: bytes, address: Address) -> None:
        try:
            frame = self._codec.decode(datagram)
        except PeerError:
            self.corrupt += 1
            if self._on_unreadable is not None:
                self._on_unreadable(datagram)
        else:
            self._hand_over(frame, address)

    def _hand_over(self, frame: CastFrame, address: Address) -> None:
        via = self._wiring.port_from(frame, address)
        if via is not None:
            self._machine.receive(frame, via=via, now=monotonic_ns())
            self._drain()

    def _drain(self) -> None:
        poll = self._machine.poll
        while (output := poll()) is not None:
            if isinstance(output, Send):
                self._send(output.port, output.frame)
            elif isinstance(output, Deliver):
                self._tell(output.item)

    def _tell(self, fact: object) -> None:
        if isinstance(fact, SymbolsArrived):
            self._symbols.arrived(fact, [self._at_hand[number] for number in fact.numbers])
        else:
            self._on_fact(fact)  # type: ignore[arg-type]

    def _send(self, port: Port, frame: CastFrame) -> None:
        socket, address = self._wiring.way_to(port, frame)
        if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
            header = frame.header
            payloads = self._symbols.payloads(header.item, header.block, frame.body.numbers)
            if payloads is not None:
                socket.send_train(sealed_datagrams(frame, payloads, self.sealing), address)
        else:
            socket.send(self._codec.encode(frame), address)

    def _arm(self) -> None:
        self._timer.arm(self._machine.next_wakeup())

    def _on_timer(self) -> None:
        wakeup, now = self._machine.next_wakeup(), monotonic_ns()
        if wakeup is not None and wakeup <= now:
            self._machine.wake(now=now)
