"""Sends one object to everybody on a network who wants it.

    run ── offers the object ── somebody joins ── sends ── all are done, or given up ── STOP
                └──────────────── all have left ──┘

Whoever is cancelled tells the receivers, who keep what they have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import SystemRandom
from time import monotonic, monotonic_ns, time
from typing import Any, Final

from penstock.bloomcast.facts import (
    CastFact,
    EpochBegan,
    Offer,
    SymbolsArrived,
    TransferBegan,
    TransferFinished,
)
from penstock.bloomcast.item_names import item_of
from penstock.bloomcast.node import CastNode
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.errors import UnreachableError, UsageError
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.live.cast.cast_keys import NO_KEYS, CastKeys
from penstock.live.cast.cast_pump import CastPump
from penstock.live.cast.datagram_trains import Address, DatagramTrains
from penstock.live.cast.lan_sockets import (
    LanAddress,
    buffer_note,
    group_address,
    sender_socket,
)
from penstock.live.cast.object_source import ObjectSource
from penstock.live.cast.receiver_table import FailedReceiver, ReceiverTable
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.packet import Packet
from penstock.wire.frames.cast.symbols import Symbols
from penstock.wire.frames.cast.topology import CastRole, PortKind
from penstock.wire.frames.cast.transfer import RepairChoice

_ALL_ROLES: Final = CastRole.ROUTER | CastRole.RENDEZVOUS | CastRole.TOPOLOGY
_LAN: Final = "lan"
# The last copies of STOP leave within this time.
_LINGER_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class CastOutcome:
    """What became of a cast, at its sender."""

    done: int
    failed: tuple[FailedReceiver, ...]
    bytes: int
    seconds: float
    sent_datagrams: int


@dataclass(frozen=True, slots=True)
class SenderProgress:
    """How far a sender is; `generation` 0 is the object itself, the others are repairs."""

    has_begun: bool
    joined: int
    done: int
    generation: int
    # Of symbols, whatever they are.
    sent_bytes: int
    total_bytes: int


class _LanWiring:
    """One port, to which everything is multicast; beacons go where everybody listens."""

    def __init__(self, socket: DatagramTrains, lan: LanAddress, receivers: ReceiverTable) -> None:
        self._socket: Final = socket
        self._receivers: Final = receivers
        self._beacons: Final = group_address(lan, lan.beacon_port)
        self._others: Final = group_address(lan, socket.address[1])
        self.generation = 0
        self.sent_symbols = 0

    def port_from(self, frame: CastFrame, address: Address) -> Port | None:
        self._receivers.heard(frame, address)
        return _LAN

    def way_to(self, _port: Port, frame: CastFrame) -> tuple[DatagramTrains, Address]:
        if isinstance(frame, Packet) and isinstance(frame.body, Symbols):
            self.generation = frame.header.generation
            self.sent_symbols += len(frame.body.numbers)
        return self._socket, self._beacons if isinstance(frame, Beacon) else self._others


class _SourceBytes:
    """What is sent comes from the object, until it cannot be read."""

    def __init__(self, source: ObjectSource, on_error: Callable[[UsageError], None]) -> None:
        self._source: Final = source
        self._on_error: Final = on_error
        self._is_broken = False

    def payloads(self, _item: Item, block: int, numbers: Sequence[int]) -> list[bytes] | None:
        if self._is_broken:
            return None
        try:
            return self._source.symbols(block, numbers)
        except UsageError as error:
            self._is_broken = True
            self._on_error(error)
            return None

    def arrived(self, _fact: SymbolsArrived, _payloads: Sequence[bytes]) -> None:
        raise AssertionError("a sender subscribes to nothing")


class CastSender:
    """Of one object."""

    def __init__(
        self,
        source: ObjectSource,
        item: str,
        *,
        receivers: int = 0,
        wait_s: float = 30.0,
        rate_bps: int | None = None,
        rate_min_bps: int | None = None,
        repair: RepairChoice = RepairChoice.AUTO,
        keys: CastKeys = NO_KEYS,
        lan: LanAddress | None = None,
        # Of the same sender at its last start, and higher at each; None: one that nobody knows.
        node: int | None = None,
        boot: int | None = None,
        # Takes lines that a person should read while it runs.
        note: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._source: Final = source
        self._item: Final = item_of(item)
        self._keys: Final = keys
        self._note: Final = note
        self._is_slow_possible: Final = rate_min_bps is not None
        self._chance: Final = SystemRandom()
        self._loop: Final = asyncio.get_running_loop()
        self._began: asyncio.Future[None] = self._loop.create_future()
        self._finished: asyncio.Future[TransferFinished] = self._loop.create_future()
        self._has_begun = False
        self._error: UsageError | None = None
        self._receivers: Final = ReceiverTable(
            self._item,
            lambda host: note(f"{host} asks for another name than {item}: compare its command"),
        )
        lan = lan or LanAddress()
        self._socket: Final = sender_socket(lan)
        self._wiring: Final = _LanWiring(self._socket, lan, self._receivers)
        settings = CastSettings()
        settings = replace(
            settings,
            publisher=replace(settings.publisher, rate_bps=rate_bps, repair=repair),
            rate=replace(settings.rate, rate_min_bps=rate_min_bps),
        )
        machine = CastNode(
            node or self._chance.randrange(1, 1 << 32),
            "sender",
            boot=boot or int(time()),
            roles=_ALL_ROLES,
            seeds=Seeds(self._chance.randrange(1 << 64)),
            now=monotonic_ns(),
            domain=keys.domain(),
            settings=settings,
        )
        self._offer: Final = Offer(
            item=self._item,
            epoch=0,
            object_id=source.object_id,
            length_bytes=source.layout.length_bytes,
            symbol_bytes=source.layout.symbol_bytes,
            block_symbols=tuple(map(source.layout.symbols_of, range(source.layout.blocks))),
            manifest_bytes=len(source.manifest_data),
            manifest_symbols=source.manifest_layout.symbols,
            is_plain=keys.are_plain,
            receivers=receivers,
            wait_ms=round(wait_s * 1_000),
        )
        self._pump: Final = CastPump(
            machine,
            codec=CastCodec(Blake2Sealer(keys.domain_key())),
            wiring=self._wiring,
            symbols=_SourceBytes(source, self._fail),
            sealing=keys.sealing_of(source.object_id, 0),
            on_fact=self._on_fact,
        )
        self._pump.listen(self._socket)

    async def run(self, *, timeout_s: float = 600.0) -> CastOutcome:
        """Offers the object until everybody who came has it; gives up when nobody comes."""
        text = buffer_note(self._socket)
        if text:
            self._note(text)
        self._pump.call(lambda node, _now: node.link_up(_LAN, kind=PortKind.LAN))
        try:
            seconds, finished = await self._send(timeout_s)
            await asyncio.sleep(_LINGER_S)
        except asyncio.CancelledError:
            await self._withdraw("the sender was stopped")
            raise
        except UsageError as error:
            await self._withdraw(str(error))
            raise
        finally:
            self._pump.close()
        why_silent = "silent, or slower than --min-rate" if self._is_slow_possible else "silent"
        return CastOutcome(
            finished.done,
            self._receivers.failed(finished.failed, why_silent),
            self._source.layout.length_bytes,
            seconds,
            self._socket.sent,
        )

    @property
    def progress(self) -> SenderProgress:
        """How far it is."""
        return SenderProgress(
            self._has_begun,
            self._receivers.joined,
            self._receivers.done,
            self._wiring.generation,
            self._wiring.sent_symbols * self._source.layout.symbol_bytes,
            self._source.layout.length_bytes,
        )

    async def _send(self, timeout_s: float) -> tuple[float, TransferFinished]:
        """Until one transfer ends in which anybody was left."""
        while True:
            self._publish()
            if not await self._is_done(self._began, timeout_s):
                raise UnreachableError(
                    f"nobody has joined within {timeout_s:g} s: run the receivers' command on the"
                    " same network, and compare --group and --interface on both sides"
                )
            self._has_begun = True
            started = monotonic()
            await self._is_done(self._finished)
            finished = self._finished.result()
            if finished.done or finished.failed:
                return monotonic() - started, finished
            self._note("all receivers have left; waits for others")
            self._has_begun = False

    def _publish(self) -> None:
        # Symbols have the numbers of those before: never under the same key.
        epoch = self._chance.randrange(1, 1 << 32)
        self._began, self._finished = self._loop.create_future(), self._loop.create_future()
        self._pump.sealing = self._keys.sealing_of(self._source.object_id, epoch)
        offer = replace(self._offer, epoch=epoch)
        self._pump.call(lambda node, now: node.publish(offer, now=now))

    async def _withdraw(self, reason: str) -> None:
        """The receivers keep what they have."""
        if not self._pump.ended.is_set():
            self._pump.call(lambda node, now: node.withdraw(self._item, reason=reason, now=now))
            if self._has_begun:
                await asyncio.sleep(_LINGER_S)

    def _fail(self, error: UsageError) -> None:
        """The object cannot be read any more."""
        self._error = error
        for waited in (self._began, self._finished):
            if not waited.done():
                waited.cancel()

    def _on_fact(self, fact: CastFact) -> None:
        if isinstance(fact, TransferBegan) and not self._began.done():
            self._began.set_result(None)
        elif isinstance(fact, TransferFinished) and not self._finished.done():
            self._finished.set_result(fact)
        elif isinstance(fact, EpochBegan):
            # Its symbols have the numbers of those before it: never under the same key.
            self._pump.sealing = self._keys.sealing_of(self._source.object_id, fact.epoch)

    async def _is_done(self, awaited: asyncio.Future[Any], timeout_s: float | None = None) -> bool:
        """Waits for it, or for an error that ends everything; False when the time is up."""
        ended = asyncio.ensure_future(self._pump.ended.wait())
        waited: set[asyncio.Future[Any]] = {awaited, ended}
        try:
            await asyncio.wait(waited, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        error = self._pump.error or self._error
        if error is not None:
            raise error
        return awaited.done()
