"""Sends one object to everybody on a network who wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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
from penstock.kernel.errors import UnreachableError
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.live.cast.cast_keys import NO_KEYS, CastKeys
from penstock.live.cast.cast_pump import CastPump
from penstock.live.cast.datagram_trains import Address, DatagramTrains
from penstock.live.cast.lan_sockets import LanAddress, group_address, sender_socket
from penstock.live.cast.object_source import ObjectSource
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import CastFrame, Item
from penstock.wire.frames.cast.neighbours import Beacon
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
    failed: tuple[int, ...]
    bytes: int
    seconds: float
    sent_datagrams: int


class _LanWiring:
    """One port, to which everything is multicast; beacons go where everybody listens."""

    def __init__(self, socket: DatagramTrains, lan: LanAddress) -> None:
        self._socket: Final = socket
        self._beacons: Final = group_address(lan, lan.beacon_port)
        self._others: Final = group_address(lan, socket.address[1])

    def port_from(self, _frame: CastFrame, _address: Address) -> Port | None:
        return _LAN

    def way_to(self, _port: Port, frame: CastFrame) -> tuple[DatagramTrains, Address]:
        return self._socket, self._beacons if isinstance(frame, Beacon) else self._others


class _SourceBytes:
    """What is sent comes from the object."""

    def __init__(self, source: ObjectSource) -> None:
        self._source: Final = source

    def payloads(self, _item: Item, block: int, numbers: Sequence[int]) -> list[bytes]:
        return self._source.symbols(block, numbers)

    def arrived(self, _fact: SymbolsArrived, _payloads: Sequence[bytes]) -> None:
        raise AssertionError("a sender subscribes to nothing")


async def send_object(
    source: ObjectSource,
    item: str,
    *,
    receivers: int = 0,
    wait_s: float = 30.0,
    # For the first receiver.
    timeout_s: float = 600.0,
    rate_bps: int | None = None,
    rate_min_bps: int | None = None,
    repair: RepairChoice = RepairChoice.AUTO,
    keys: CastKeys = NO_KEYS,
    lan: LanAddress | None = None,
) -> CastOutcome:
    """Offers an object on a network until everybody who came has it."""
    lan = lan or LanAddress()
    settings = CastSettings()
    settings = replace(
        settings,
        publisher=replace(settings.publisher, rate_bps=rate_bps, repair=repair),
        rate=replace(settings.rate, rate_min_bps=rate_min_bps),
    )
    chance = SystemRandom()
    epoch = chance.randrange(1, 1 << 32)
    socket = sender_socket(lan)
    machine = CastNode(
        chance.randrange(1, 1 << 32),
        "sender",
        boot=int(time()),
        roles=_ALL_ROLES,
        seeds=Seeds(chance.randrange(1 << 64)),
        now=monotonic_ns(),
        domain=keys.domain(),
        settings=settings,
    )
    loop = asyncio.get_running_loop()
    began: asyncio.Future[None] = loop.create_future()
    finished: asyncio.Future[TransferFinished] = loop.create_future()

    def on_fact(fact: CastFact) -> None:
        if isinstance(fact, TransferBegan) and not began.done():
            began.set_result(None)
        elif isinstance(fact, TransferFinished) and not finished.done():
            finished.set_result(fact)
        elif isinstance(fact, EpochBegan):
            # Its symbols have the numbers of those before it: never under the same key.
            pump.sealing = keys.sealing_of(source.object_id, fact.epoch)

    pump = CastPump(
        machine,
        codec=CastCodec(Blake2Sealer(keys.domain_key())),
        wiring=_LanWiring(socket, lan),
        symbols=_SourceBytes(source),
        sealing=keys.sealing_of(source.object_id, epoch),
        on_fact=on_fact,
    )
    pump.listen(socket)
    offer = Offer(
        item=item_of(item),
        epoch=epoch,
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
    pump.call(lambda node, _now: node.link_up(_LAN, kind=PortKind.LAN))
    pump.call(lambda node, now: node.publish(offer, now=now))
    try:
        if not await _is_done(began, pump, timeout_s):
            raise UnreachableError(
                f"nobody has joined within {timeout_s:g} s: run the receivers' command on the same"
                " network, or choose another --interface"
            )
        started = monotonic()
        await _is_done(finished, pump)
        seconds = monotonic() - started
        await asyncio.sleep(_LINGER_S)
    finally:
        pump.close()
    outcome = finished.result()
    return CastOutcome(
        outcome.done, outcome.failed, source.layout.length_bytes, seconds, socket.sent
    )


async def _is_done(
    awaited: asyncio.Future[Any], pump: CastPump, timeout_s: float | None = None
) -> bool:
    """Waits for it, or for an error that ends everything; False when the time is up."""
    ended = asyncio.ensure_future(pump.ended.wait())
    waited: set[asyncio.Future[Any]] = {awaited, ended}
    await asyncio.wait(waited, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if pump.error is not None:
        raise pump.error
    return awaited.done()
