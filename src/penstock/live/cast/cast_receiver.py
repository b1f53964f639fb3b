"""Receives one object into a directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from random import SystemRandom
from socket import gethostname
from time import monotonic, monotonic_ns, time
from typing import Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    CastFact,
    EpochBegan,
    ObjectComplete,
    SymbolsArrived,
    TransferOpened,
    TransferStopped,
    Verdict,
)
from penstock.bloomcast.item_names import item_of, split_item
from penstock.bloomcast.node import CastNode
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.kernel.errors import UnreachableError
from penstock.kernel.machine import Port
from penstock.kernel.seeds import Seeds
from penstock.live.cast.cast_keys import NO_KEYS, CastKeys
from penstock.live.cast.cast_pump import CastPump
from penstock.live.cast.datagram_trains import Address, DatagramTrains
from penstock.live.cast.lan_sockets import (
    LanAddress,
    group_socket,
    receiver_socket,
)
from penstock.live.cast.object_sink import ObjectSink
from penstock.live.cast.symbol_sealing import PlainSymbols, UnreadableSymbols
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, CastFrame, Item
from penstock.wire.frames.cast.neighbours import Beacon
from penstock.wire.frames.cast.topology import CastRole

_UP: Final = "up"
# A sender that was not heard for so long is gone; another may come.
_SILENCE_S: Final = 3.0


class _UpWiring:
    """One port: the first sender that was heard, and its address."""

    def __init__(self, socket: DatagramTrains, attach: Callable[[Address], None]) -> None:
        self._socket: Final = socket
        self._attach: Final = attach
        self.sender: Address | None = None
        self.heard_at = 0.0

    def port_from(self, frame: CastFrame, address: Address) -> Port | None:
        """Frames of other senders are not for us."""
        if self.sender is None and isinstance(frame, Beacon):
            self.sender = address
            self._attach(address)
        if address != self.sender:
            return None
        self.heard_at = monotonic()
        return _UP

    def way_to(self, _port: Port, _frame: CastFrame) -> tuple[DatagramTrains, Address]:
        """To the sender alone."""
        assert self.sender is not None
        return self._socket, self.sender


class _SinkBytes:
    """What arrives goes to the sink."""

    def __init__(self) -> None:
        self.sink: ObjectSink | None = None

    def payloads(self, _item: Item, _block: int, _numbers: Sequence[int]) -> list[bytes]:
        raise AssertionError("a receiver sends no symbols")

    def arrived(self, fact: SymbolsArrived, payloads: Sequence[bytes]) -> None:
        assert self.sink is not None
        self.sink.add(fact.block, fact.numbers, payloads)


class CastReceiver:
    """Of one item."""

    def __init__(
        self,
        item: str,
        directory: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        keys: CastKeys = NO_KEYS,
        lan: LanAddress | None = None,
        drops: Callable[[], bool] | None = None,
    ) -> None:
        self._item: Final = item_of(item)
        self._name: Final = split_item(item)[1]
        self._directory: Final = directory
        self._overwrite: Final = overwrite
        self._keys: Final = keys
        self._lan: Final = lan or LanAddress()
        chance = SystemRandom()
        self._machine: Final = CastNode(
            chance.randrange(1, 1 << 32),
            gethostname()[:64],
            boot=int(time()),
            roles=CastRole(0),
            seeds=Seeds(chance.randrange(1 << 64)),
            now=monotonic_ns(),
            domain=keys.domain(),
        )
        self._bytes: Final = _SinkBytes()
        socket = receiver_socket(self._lan)
        self._wiring: Final = _UpWiring(socket, self._attach)
        self._group: DatagramTrains | None = None
        self._pump: Final = CastPump(
            self._machine,
            codec=CastCodec(Blake2Sealer(keys.domain_key())),
            wiring=self._wiring,
            symbols=self._bytes,
            sealing=PlainSymbols() if keys.are_plain else UnreadableSymbols(),
            on_fact=self._on_fact,
            drops=drops,
        )
        self._pump.listen(socket)
        self._pump.listen(group_socket(self._lan, self._lan.beacon_port))
        # Decoding holds the interpreter; symbols that come meanwhile must not be lost.
        self._decoders: Final = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self._stopped: Final = asyncio.Event()
        self._reason = ""
        self.path: str | None = None

    async def run(self, *, timeout_s: float = 600.0) -> str:
        """Receives the object; returns where it is."""
        self._pump.call(lambda node, now: node.subscribe(self._item, now=now))
        watch = asyncio.ensure_future(self._watch(timeout_s))
        stopped = asyncio.ensure_future(self._stopped.wait())
        ended = asyncio.ensure_future(self._pump.ended.wait())
        try:
            await asyncio.wait({watch, stopped, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watch, stopped, ended):
                task.cancel()
            self._pump.close()
            self._decoders.shutdown(wait=False, cancel_futures=True)
            if self.path is None and self._bytes.sink is not None:
                self._bytes.sink.close()
        if self._pump.error is not None:
            raise self._pump.error
        if self.path is None:
            raise UnreachableError(
                f"{self._name}: {self._reason or 'nobody sends it'}; repeat the command to go on"
            )
        return self.path

    def _attach(self, sender: Address) -> None:
        """Hears what this sender multicasts."""
        self._group = group_socket(self._lan, sender[1])
        self._pump.listen(self._group)
        self._machine.link_up(_UP)

    async def _watch(self, timeout_s: float) -> None:
        """Leaves a sender that is silent; gives up when there is none for long."""
        started = monotonic()
        while True:
            await asyncio.sleep(_SILENCE_S / 3)
            wiring, now = self._wiring, monotonic()
            if wiring.sender is None:
                if now - max(started, wiring.heard_at) > timeout_s:
                    return
            elif now - wiring.heard_at > _SILENCE_S:
                wiring.sender = None
                if self._group is not None:
                    self._pump.forget(self._group)
                    self._group = None
                self._pump.call(lambda node, at: node.link_down(_UP, now=at))
                if self.path is not None:
                    return

    # What the machine says.

    def _on_fact(self, fact: CastFact) -> None:
        if isinstance(fact, TransferOpened):
            self._open(fact)
        elif isinstance(fact, EpochBegan):
            assert self._bytes.sink is not None
            object_id = self._bytes.sink.object_id
            self._pump.sealing = self._keys.sealing_of(object_id, fact.epoch)
        elif isinstance(fact, BlockDecodable):
            self._decode(fact.block)
        elif isinstance(fact, ObjectComplete):
            sink = self._bytes.sink
            assert sink is not None
            self.path = sink.put_in_place()
        elif isinstance(fact, TransferStopped):
            self._reason = fact.reason
            self._stopped.set()

    def _open(self, fact: TransferOpened) -> None:
        first = fact.first
        self._pump.sealing = self._keys.sealing_of(first.object_id, first.epoch)
        self._bytes.sink = ObjectSink(
            self._directory,
            self._name,
            object_id=first.object_id,
            layout=ObjectShape.of(first).layout,
            manifest_bytes=first.manifest_bytes,
            overwrite=self._overwrite,
        )

    def _decode(self, block: int) -> None:
        sink = self._bytes.sink
        assert sink is not None
        decoding = sink.decoding(block)
        if decoding is None:
            # The manifest must come first.
            return
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._decoders, decoding.run)
        future.add_done_callback(partial(self._decoded, block))

    def _decoded(self, block: int, future: asyncio.Future[Verdict]) -> None:
        sink = self._bytes.sink
        if future.cancelled() or sink is None or self._pump.ended.is_set():
            return
        error = future.exception()
        if error is not None:
            self._pump.close(error if isinstance(error, Exception) else None)
            return
        verdict = future.result()
        sink.conclude(block, verdict)
        sink.sync()
        if block == MANIFEST_BLOCK and verdict is Verdict.COMPLETE:
            for waiting in sink.take_waiting():
                self._decode(waiting)
        self._pump.call(lambda node, _now: node.decoded(self._item, block, verdict))
