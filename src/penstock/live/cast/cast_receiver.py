"""Receives one object into a directory.

    run ── verifies what an earlier attempt has left ── subscribes ── receives ── STOP

The sender is told that all is done when the object has its name, not before. Whoever ends early
says so, and keeps its part.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from random import SystemRandom
from socket import gethostname
from time import monotonic, monotonic_ns
from typing import Final

from penstock.bloomcast.facts import (
    BlockDecodable,
    CastFact,
    EpochBegan,
    ObjectComplete,
    TransferOpened,
    TransferStopped,
    Verdict,
)
from penstock.bloomcast.item_names import item_of, split_item
from penstock.bloomcast.node import CastNode
from penstock.bloomcast.subscriber.object_shape import ObjectShape
from penstock.kernel.errors import PeerError, PenstockError, UnreachableError, UsageError
from penstock.kernel.seeds import Seeds
from penstock.live.cast.cast_keys import NO_KEYS, CastKeys
from penstock.live.cast.cast_pump import CastPump
from penstock.live.cast.datagram_trains import Address, DatagramTrains
from penstock.live.cast.lan_sockets import (
    LanAddress,
    buffer_note,
    group_socket,
    receiver_socket,
)
from penstock.live.cast.object_reception import ObjectReception
from penstock.live.cast.part_state import PartObject
from penstock.live.cast.receiving_target import ReceivingTarget
from penstock.live.cast.sender_port import SENDER_PORT, SenderPort
from penstock.live.cast.symbol_sealing import PlainSymbols, UnreadableSymbols
from penstock.live.error_text import in_words
from penstock.wire.codec.cast.cast_codec import CastCodec
from penstock.wire.codec.cast.mac import Blake2Sealer
from penstock.wire.frames.cast.topology import CastRole
from penstock.wire.frames.cast.transfer import First

# A sender that was not heard for so long is gone; another may come.
_SILENCE_S: Final = 3.0
# UNSUBSCRIBE is answered within this time, or not at all.
_LEAVE_S: Final = 0.6
_REASON_CHARS_MAX: Final = 120

# Why a transfer stopped, as its machine says it, and what that means to a person.
_STOPPED: Final = {
    "silent": "nothing was heard of the sender for 60 s",
    "slow": "this machine takes less than the sender's --min-rate",
    "ended without this receiver": "the sender has ended, as it did not hear this receiver",
}


class ReceiverStage(Enum):
    """How far a receiver is."""

    # It looks at what an earlier attempt has left.
    RESUMING = auto()
    SEARCHING = auto()
    # A sender is there, and has not begun.
    WAITING = auto()
    RECEIVING = auto()
    # All symbols are there, or enough; blocks are decoded and compared with their hashes.
    VERIFYING = auto()
    # It has everything; others have not.
    COMPLETE = auto()


@dataclass(frozen=True, slots=True)
class ReceiverProgress:
    """What a receiver has of its object; `total_bytes` is None until it is known."""

    stage: ReceiverStage
    done_bytes: int
    total_bytes: int | None


class CastReceiver:
    """Of one item; its target is locked from the beginning, and nobody is told before `run`."""

    def __init__(
        self,
        item: str,
        directory: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        keys: CastKeys = NO_KEYS,
        lan: LanAddress | None = None,
        # Takes lines that a person should read while it runs.
        note: Callable[[str], None] = lambda _text: None,
        drops: Callable[[], bool] | None = None,
    ) -> None:
        self._item: Final = item_of(item)
        self._name: Final = split_item(item)[1]
        self._keys: Final = keys
        self._lan: Final = lan or LanAddress()
        self._note: Final = note
        self._stopped: Final = asyncio.Event()
        self._reason = ""
        self._error: PenstockError | None = None
        self._target: Final = ReceivingTarget(directory, self._name, overwrite=overwrite)
        try:
            socket = receiver_socket(self._lan)
            beacons = group_socket(self._lan, self._lan.beacon_port)
        except BaseException:
            self._target.close()
            raise
        self._object: Final = ObjectReception(
            self._target, on_verdict=self._on_verdict, on_error=self._fail
        )
        self._port: Final = SenderPort(socket, keys, self._attach)
        self._group: DatagramTrains | None = None
        self._machine: Final = CastNode(
            self._target.state.node,
            gethostname()[:64],
            boot=self._target.state.boot,
            roles=CastRole(0),
            seeds=Seeds(SystemRandom().randrange(1 << 64)),
            now=monotonic_ns(),
            domain=keys.domain(),
        )
        self._pump: Final = CastPump(
            self._machine,
            codec=CastCodec(Blake2Sealer(keys.domain_key())),
            wiring=self._port,
            symbols=self._object,
            sealing=PlainSymbols() if keys.are_plain else UnreadableSymbols(),
            on_fact=self._on_fact,
            on_unreadable=self._port.on_unreadable,
            drops=drops,
        )
        self._pump.listen(socket)
        self._pump.listen(beacons)
        self._buffer_note: Final = buffer_note(socket)

    async def run(self, *, timeout_s: float = 600.0) -> str:
        """Receives the object; returns where it is."""
        if self._buffer_note:
            self._note(self._buffer_note)
        try:
            held = await self._object.resume()
            self._pump.call(lambda node, now: node.subscribe(self._item, held=held, now=now))
            await self._until_it_ends(timeout_s)
        finally:
            await self._end()
        if self.path is None:
            raise self._pump.error or self._error or UnreachableError(self._why_not())
        return self.path

    @property
    def path(self) -> str | None:
        """Where the object is, when it is complete."""
        return self._object.path

    @property
    def kept_bytes(self) -> int:
        """How much of it an earlier attempt has left."""
        return self._object.kept_bytes

    def kept_text(self) -> str:
        """Such as `12.3 of 24.0 MB are kept`; empty if nothing is."""
        return self._object.kept_text()

    @property
    def progress(self) -> ReceiverProgress:
        """How far it is."""
        found = self._object
        return ReceiverProgress(self._stage(), found.done_bytes, found.total_bytes)

    def _stage(self) -> ReceiverStage:
        if self.path is not None:
            return ReceiverStage.COMPLETE
        if self._object.is_resuming:
            return ReceiverStage.RESUMING
        if self._port.sender is None:
            return ReceiverStage.SEARCHING
        if self._machine.is_waiting(self._item):
            return ReceiverStage.WAITING
        if self._object.done_bytes == self._object.total_bytes:
            return ReceiverStage.VERIFYING
        return ReceiverStage.RECEIVING

    # From the beginning to the end.

    async def _until_it_ends(self, timeout_s: float) -> None:
        tasks = [
            asyncio.ensure_future(each)
            for each in (self._watch(timeout_s), self._stopped.wait(), self._pump.ended.wait())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()

    async def _end(self) -> None:
        """Leaves, if there is something to leave; what has arrived stays."""
        try:
            await self._object.settle()
            if self.path is None:
                await self._leave()
        finally:
            self._pump.close()
            self._object.close()

    async def _leave(self) -> None:
        """Nobody is to wait for this receiver."""
        has_been_stopped = self._stopped.is_set() and self._error is None
        if self._port.sender is None or self._pump.ended.is_set() or has_been_stopped:
            return
        reason = "stopped" if self._error is None else str(self._error)[:_REASON_CHARS_MAX]
        self._pump.call(lambda node, now: node.leave(self._item, reason=reason, now=now))
        until = monotonic() + _LEAVE_S
        while self._machine.unfinished()["control frames"] and monotonic() < until:
            await asyncio.sleep(_LEAVE_S / 30)

    def _attach(self, sender: Address) -> None:
        """Hears what this sender multicasts."""
        self._group = group_socket(self._lan, sender[1])
        self._pump.listen(self._group)
        self._machine.link_up(SENDER_PORT)

    async def _watch(self, timeout_s: float) -> None:
        """Leaves a sender that is silent; gives up when nothing begins for long."""
        port, started = self._port, monotonic()
        has_told_of_others = False
        while True:
            await asyncio.sleep(min(_SILENCE_S / 3, timeout_s))
            now = monotonic()
            if port.others and port.sender is None and not has_told_of_others:
                has_told_of_others = True
                self._note(f"{port.others}; waits for a sender of {self._name}")
            if port.sender is not None and now - port.heard_at > _SILENCE_S:
                self._detach()
                if self.path is not None:
                    return
            since = max(started, port.heard_at if port.sender is None else port.attached_at)
            if self._machine.is_waiting(self._item) and now - since >= timeout_s:
                return

    def _detach(self) -> None:
        self._port.sender = None
        if self._group is not None:
            self._pump.forget(self._group)
            self._group = None
        self._pump.call(lambda node, at: node.link_down(SENDER_PORT, now=at))

    def _fail(self, error: Exception) -> None:
        """It cannot go on: the sender is told, and the part stays."""
        if isinstance(error, OSError):
            error = UsageError(f"cannot write {self._target.part}: {in_words(error)}; make room")
        if not isinstance(error, PenstockError):
            # Our own fault.
            self._pump.close(error)
        elif self._error is None:
            self._error = error
            self._stopped.set()

    def _why_not(self) -> str:
        """Why there is no object, and what to do."""
        name, port = self._name, self._port
        if self._reason:
            kept = self.kept_text()
            again = f"{kept}: repeat the command to go on" if kept else "repeat the command"
            return f"{name}: {_STOPPED.get(self._reason, self._reason)}; {again}"
        if port.sender is not None:
            return (
                f"a sender is here, and has not begun to send {name}: compare the name with the"
                " sender's command, or choose a longer --wait, as it may wait for other receivers"
            )
        if port.others:
            return f"nobody sends {name} with these keys; {port.others}"
        return (
            f"nobody sends {name}: run 'penstock cast send' on the same network, and compare"
            " --group and --interface on both sides; then repeat the command"
        )

    # What the machine says.

    def _on_fact(self, fact: CastFact) -> None:
        try:
            self._take(fact)
        except (PeerError, UsageError, OSError) as error:
            self._fail(error)

    def _take(self, fact: CastFact) -> None:
        if isinstance(fact, TransferOpened):
            self._open(fact.first)
        elif isinstance(fact, EpochBegan):
            self._pump.sealing = self._keys.sealing_of(self._object.object_id, fact.epoch)
        elif isinstance(fact, BlockDecodable):
            self._object.decode(fact.block)
        elif isinstance(fact, ObjectComplete):
            # Perhaps all of it was there already.
            self._object.place()
        elif isinstance(fact, TransferStopped):
            self._reason = fact.reason
            self._stopped.set()

    def _open(self, first: First) -> None:
        self._pump.sealing = self._keys.sealing_of(first.object_id, first.epoch)
        layout = ObjectShape.of(first).layout
        self._object.open(PartObject(first.object_id, layout, first.manifest_bytes))

    def _on_verdict(self, block: int, verdict: Verdict) -> None:
        self._pump.call(lambda node, _now: node.decoded(self._item, block, verdict))
