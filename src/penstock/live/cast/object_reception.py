"""The bytes of a receiver's object on their way to the disk.

What an earlier attempt has left is verified again in a thread, blocks are decoded in another
process, and the complete object gets its name in a thread: its loop must miss no symbols. Nobody
else touches the sink while a thread does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import Final

from penstock.bloomcast.facts import Held, SymbolsArrived, Verdict
from penstock.kernel.errors import PeerError, UsageError
from penstock.live.cast.block_decoders import decoder_process
from penstock.live.cast.object_sink import ObjectSink
from penstock.live.cast.part_state import PartObject
from penstock.live.cast.receiving_target import ReceivingTarget
from penstock.live.error_text import in_words
from penstock.wire.frames.cast.base import MANIFEST_BLOCK, Item


class ObjectReception:
    """Of one target, which it closes in the end."""

    def __init__(
        self,
        target: ReceivingTarget,
        *,
        # What came of decoding a block; of the last one only when the object has its name.
        on_verdict: Callable[[int, Verdict], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._target: Final = target
        self._on_verdict: Final = on_verdict
        self._on_error: Final = on_error
        self._decoders: Final = decoder_process()
        self._sink: ObjectSink | None = None
        self._arrived_bytes = 0
        self._is_ending: Final = Event()
        self._resuming: asyncio.Future[list[int]] | None = None
        self._placing: asyncio.Future[str] | None = None
        # Of an earlier attempt, verified again.
        self.kept_bytes = 0
        # Where the object is, when it is complete.
        self.path: str | None = None

    # How far it is.

    @property
    def object_id(self) -> bytes:
        """Which object it is, after `open`."""
        assert self._sink is not None
        return self._sink.object_id

    @property
    def is_resuming(self) -> bool:
        """Whether blocks are being verified again."""
        return self._resuming is not None and not self._resuming.done()

    @property
    def total_bytes(self) -> int | None:
        """The size of the object, when it is known."""
        return None if self._sink is None else self._sink.layout.length_bytes

    @property
    def done_bytes(self) -> int:
        """How much of it has come, repair symbols included."""
        return min(self.kept_bytes + self._arrived_bytes, self.total_bytes or 0)

    def kept_text(self) -> str:
        """Such as `12.3 of 24.0 MB are kept`; empty if nothing is."""
        sink = self._sink
        if sink is None or not sink.verified_bytes:
            return ""
        done, total = sink.verified_bytes / 1e6, sink.layout.length_bytes / 1e6
        return f"{done:,.1f} of {total:,.1f} MB are kept"

    # From the beginning to the end.

    async def resume(self) -> Held | None:
        """Verifies again what an earlier attempt has left."""
        earlier = self._target.state.object
        if earlier is None:
            return None
        self._sink = sink = ObjectSink(self._target, earlier)

        def look(_done: int, _total: int) -> None:
            if self._is_ending.is_set():
                raise InterruptedError

        self._resuming = asyncio.get_running_loop().run_in_executor(None, sink.resume, look)
        await asyncio.wait({self._resuming})
        try:
            blocks = self._resuming.result()
        except PeerError:
            # The manifest is that of another layout: the state is damaged.
            blocks = []
        except OSError as error:
            raise UsageError(f"cannot read {self._target.part}: {in_words(error)}") from None
        self.kept_bytes = sink.verified_bytes
        if sink.manifest is None:
            return None
        return Held(object_id=sink.object_id, blocks=frozenset([MANIFEST_BLOCK, *blocks]))

    def open(self, announced: PartObject) -> None:
        """The sender has said which object it is; another one is dropped."""
        sink = self._sink
        if sink is None or sink.announced != announced:
            if sink is not None:
                sink.release()
            self.kept_bytes = self._arrived_bytes = 0
            self._sink = ObjectSink(self._target, announced)

    async def settle(self) -> None:
        """Waits until no thread is at it."""
        self._is_ending.set()
        threads = [each for each in (self._resuming, self._placing) if each is not None]
        if threads:
            await asyncio.wait(threads)

    def close(self) -> None:
        """What is there stays for another attempt."""
        self._is_ending.set()
        self._decoders.shutdown(wait=False, cancel_futures=True)
        if self._sink is None:
            self._target.close()
        elif self.path is None:
            self._sink.sync_at_last()
            self._sink.close()

    # Symbols: `SymbolBytes`.

    def payloads(self, _item: Item, _block: int, _numbers: Sequence[int]) -> None:
        """There are none."""
        raise AssertionError("a receiver sends no symbols")

    def arrived(self, fact: SymbolsArrived, payloads: Sequence[bytes]) -> None:
        """Stores symbols."""
        assert self._sink is not None
        try:
            new = self._sink.add(fact.block, fact.numbers, payloads)
        except OSError as error:
            self._on_error(error)
        else:
            if fact.block != MANIFEST_BLOCK:
                self._arrived_bytes += new * self._sink.layout.symbol_bytes

    # Blocks.

    def decode(self, block: int) -> None:
        """Decodes a block, if the manifest is there; otherwise when it comes."""
        assert self._sink is not None
        decoding = self._sink.decoding(block)
        if decoding is not None:
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._decoders, decoding.run)
            future.add_done_callback(partial(self._decoded, block))

    def _decoded(self, block: int, future: asyncio.Future[Verdict]) -> None:
        if future.cancelled() or self._is_ending.is_set():
            return
        try:
            self._conclude(block, future.result())
        except Exception as error:
            self._on_error(error)

    def _conclude(self, block: int, verdict: Verdict) -> None:
        sink = self._sink
        assert sink is not None
        sink.conclude(block, verdict)
        sink.sync()
        if sink.is_complete:
            self.place(lambda: self._on_verdict(block, verdict))
            return
        if block == MANIFEST_BLOCK and verdict is Verdict.COMPLETE:
            for waiting in sink.take_waiting():
                self.decode(waiting)
        self._on_verdict(block, verdict)

    def place(self, tell: Callable[[], None] = lambda: None) -> None:
        """Gives the object its name, which may take long; then says that it is done."""
        if self._placing is not None or self._sink is None:
            return
        loop = asyncio.get_running_loop()
        self._placing = loop.run_in_executor(None, self._sink.put_in_place)

        def placed(future: asyncio.Future[str]) -> None:
            if future.cancelled():
                return
            error = future.exception()
            if error is None:
                self.path = future.result()
                tell()
            elif isinstance(error, Exception):
                self._on_error(error)

        self._placing.add_done_callback(placed)
