"""The bytes of an object that is received, in files of one directory.

    NAME.part           the object; source symbols are written in place as they arrive
    NAME.part.state     which blocks are verified, and the manifest: see `part_state`
    NAME.part.symbols   repair symbols, when there are too many for the memory
    NAME.part.tree      a tree that is almost finished: see `finished_object`
    NAME                the object, when every block is verified

Blocks may arrive before the manifest: FIRST says where they belong. They are decoded when it is
there. Not safe for threads; only a `BlockDecoding` may run elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from blake3 import blake3

from penstock.bloomcast.coding.block_layout import BlockLayout, manifest_layout
from penstock.bloomcast.coding.symbol_runs import consecutive_runs
from penstock.bloomcast.facts import Verdict
from penstock.kernel.errors import PeerError
from penstock.live.cast.bit_set import BitSet
from penstock.live.cast.block_decoding import BlockDecoding
from penstock.live.cast.file_io import open_own, read_at, write_at
from penstock.live.cast.finished_object import check_kind, place_object
from penstock.live.cast.kept_symbols import KeptSymbols
from penstock.live.cast.manifest import (
    Manifest,
    decode_manifest,
    manifest_bytes_max,
    object_id_of,
)
from penstock.live.cast.manifest_builder import OnProgress
from penstock.live.cast.part_state import PartObject
from penstock.live.cast.receiving_target import ReceivingTarget
from penstock.wire.frames.cast.base import MANIFEST_BLOCK

KEPT_BYTES_MAX: Final = 64 << 20
# So many symbols more than K fail once in 256^17 blocks: nobody needs others.
_EXCESS_MAX: Final = 16
_SYMBOL_NUMBERS: Final = 1 << 24


class ObjectSink:
    """Receives one object at a target, which it closes in the end; `resume` comes first."""

    def __init__(
        self,
        target: ReceivingTarget,
        announced: PartObject,
        *,
        kept_bytes_max: int = KEPT_BYTES_MAX,
    ) -> None:
        layout, manifest_bytes = announced.layout, announced.manifest_bytes
        if not 0 < manifest_bytes <= manifest_bytes_max(layout.symbol_bytes):
            raise PeerError(f"a manifest of {manifest_bytes:,} bytes is announced")
        self.path: Final = target.path
        self.announced: Final = announced
        self.object_id: Final = announced.object_id
        self.layout: Final = layout
        self.manifest: Manifest | None = None
        self._manifest_layout: Final = manifest_layout(manifest_bytes, layout.symbol_bytes)
        self._target: Final = target
        self._part: Final = target.part
        self._state: Final = target.state
        self._is_open = True
        self._fd: Final = open_own(self._part)
        self._state.begin(announced)
        if not self._state.is_resumed:
            os.ftruncate(self._fd, 0)
        # What was never written reads as zeros, and need not be written to become so.
        self._is_blank: Final = os.fstat(self._fd).st_size == 0
        os.ftruncate(self._fd, layout.length_bytes)
        self._kept: Final = KeptSymbols(
            f"{self._part}.symbols",
            symbol_bytes=layout.symbol_bytes,
            memory_bytes_max=kept_bytes_max,
        )
        self._verified: Final = BitSet(layout.blocks)
        self._open: Final[dict[int, _OpenBlock]] = {}
        # Decodable, but nobody knows what they should hash to.
        self._waiting: Final[list[int]] = []
        self._zeros: Final = bytes(layout.symbol_bytes)

    @property
    def is_complete(self) -> bool:
        """Whether every block is verified, the manifest too."""
        return self.manifest is not None and self.verified_blocks == self.layout.blocks

    @property
    def verified_blocks(self) -> int:
        """How many blocks are verified, without the manifest."""
        return len(self._verified)

    @property
    def verified_bytes(self) -> int:
        """How many bytes of the object are."""
        runs = self._verified.runs()
        return sum(
            min(self.layout.offset_of(stop), self.layout.length_bytes)
            - self.layout.offset_of(start)
            for start, stop in runs
        )

    def is_verified(self, block: int) -> bool:
        """Whether a block is what the publisher hashed."""
        if block == MANIFEST_BLOCK:
            return self.manifest is not None
        return block in self._verified

    def resume(self, on_progress: OnProgress | None = None) -> list[int]:
        """Verifies again what an earlier attempt has left; returns the blocks that are right."""
        data = self._read_manifest()
        if object_id_of(data) != self.object_id:
            return []
        manifest = self._learn_manifest(data)
        found = []
        looked_at = 0
        for start, stop in self._state.verified.runs():
            for block in range(start, stop):
                if blake3(self.read(block)).digest() == manifest.digest_of(block):
                    self._verified.add(block, block + 1)
                    found.append(block)
                looked_at += 1
                if on_progress is not None:
                    on_progress(looked_at, len(self._state.verified))
        return found

    def add(self, block: int, numbers: Sequence[int], payloads: Sequence[bytes]) -> int:
        """Stores symbols, wherever they belong; returns how many of them are new."""
        if self.is_verified(block):
            return 0
        target = self._opened(block)
        size = self.layout.symbol_bytes
        if any(len(payload) != size for payload in payloads):
            raise PeerError(f"a symbol has not {size} bytes")
        new = index = 0
        for start, stop in consecutive_runs(numbers):
            if not 0 <= start < stop <= _SYMBOL_NUMBERS:
                raise PeerError(f"there are no symbols {start} to {stop}")
            # A block that is being decoded must stay as it is.
            split = start if target.is_decoding else max(start, min(stop, target.symbols))
            run = payloads[index : index + stop - start]
            if start < split:
                new += self._write(target, start, run[: split - start])
            for number, payload in zip(range(split, stop), run[split - start :], strict=True):
                new += self._keep(block, target, number, payload)
            index += stop - start
        return new

    def missing(self, block: int) -> list[tuple[int, int]]:
        """The source symbols that a block lacks, as ranges."""
        return [] if self.is_verified(block) else list(self._opened(block).source.missing_runs())

    def decoding(self, block: int) -> BlockDecoding | None:
        """What it takes to decode a block, until `conclude`; None while that is not possible.

        It is not possible before the manifest is there: see `take_waiting`.
        """
        assert not self.is_verified(block), "a verified block is not decoded again"
        if block != MANIFEST_BLOCK and self.manifest is None:
            if block not in self._waiting:
                self._waiting.append(block)
            return None
        target = self._opened(block)
        assert not target.is_decoding, "a block is decoded once at a time"
        target.is_decoding = True
        return BlockDecoding(
            path=target.path,
            offset=target.offset,
            size_bytes=target.size_bytes,
            symbol_bytes=self.layout.symbol_bytes,
            block_symbols=target.symbols,
            present=tuple(target.source.runs()),
            kept=self._kept.of_block(block),
            digest=self.manifest.digest_of(block) if self.manifest is not None else self.object_id,
        )

    def conclude(self, block: int, verdict: Verdict) -> None:
        """Takes what came of a decoding."""
        target = self._open[block]
        target.is_decoding = False
        if verdict is Verdict.COMPLETE:
            del self._open[block]
            self._kept.discard(block)
            if block == MANIFEST_BLOCK:
                self._learn_manifest(self._read_manifest())
            else:
                self._verified.add(block, block + 1)
                self._state.set_verified(block)
            return
        if verdict is Verdict.POISONED and len(target.source) == target.symbols:
            # It was no repair symbol, and nothing tells which source symbol is false.
            target.source.remove(0, target.symbols)
            target.is_blank = False
        # What came meanwhile goes where it belongs.
        for number, payload in self._kept.take(block, target.symbols).items():
            self._write(target, number, [payload])
        if verdict is Verdict.POISONED:
            self._kept.discard(block)

    def decode(self, block: int) -> Verdict | None:
        """Decodes a block here and now; None if the manifest must come first."""
        if self.is_verified(block):
            return Verdict.COMPLETE
        decoding = self.decoding(block)
        if decoding is None:
            return None
        verdict = decoding.run()
        self.conclude(block, verdict)
        return verdict

    def take_waiting(self) -> list[int]:
        """Blocks that were to be decoded before the manifest was there; each is named once."""
        waiting = self._waiting.copy()
        self._waiting.clear()
        return waiting

    def read(self, block: int) -> bytes:
        """The bytes of a block as they are in the file."""
        return read_at(self._fd, self.layout.bytes_of(block), self.layout.offset_of(block))

    def sync(self) -> None:
        """Brings to disk which blocks are verified, at most every two seconds."""
        self._state.sync()

    def sync_at_last(self) -> None:
        """Brings it to disk at once: nothing more will be received for now."""
        self._state.sync(is_last=True)

    def put_in_place(self) -> str:
        """Gives the complete object its name, and closes; returns its path."""
        assert self.is_complete, "blocks are missing"
        assert self.manifest is not None
        place_object(self._part, self.path, self.manifest, overwrite=self._target.overwrite)
        self._kept.close()
        for leftover in (self._part, f"{self._part}.symbols", f"{self._part}.state"):
            if os.path.lexists(leftover):
                os.unlink(leftover)
        self.close()
        return self.path

    def release(self) -> None:
        """Closes the files of this object; another one may be received at the target."""
        if self._is_open:
            self._is_open = False
            self._kept.close()
            os.close(self._fd)

    def close(self) -> None:
        """Closes the files, which stay for another attempt."""
        self.release()
        self._target.close()

    def _opened(self, block: int) -> _OpenBlock:
        target = self._open.get(block)
        if target is None:
            target = self._open[block] = self._new_block(block)
        return target

    def _new_block(self, block: int) -> _OpenBlock:
        if block == MANIFEST_BLOCK:
            return _OpenBlock(
                self._state.fd,
                self._state.path,
                self._state.manifest_offset,
                self._manifest_layout,
                0,
                is_blank=False,
            )
        if not block < self.layout.blocks:
            raise PeerError(f"the object has no block {block}")
        offset = self.layout.offset_of(block)
        return _OpenBlock(self._fd, self._part, offset, self.layout, block, is_blank=self._is_blank)

    def _write(self, target: _OpenBlock, start: int, payloads: Sequence[bytes]) -> int:
        new = target.source.add(start, start + len(payloads))
        if new and not (target.is_blank and all(each == self._zeros for each in payloads)):
            begin = start * self.layout.symbol_bytes
            # Padding is not written.
            data = memoryview(b"".join(payloads))[: target.size_bytes - begin]
            write_at(target.fd, data, target.offset + begin)
        return new

    def _keep(self, block: int, target: _OpenBlock, number: int, payload: bytes) -> bool:
        if number < target.symbols and number in target.source:
            return False
        if len(target.source) + self._kept.count(block) >= target.symbols + _EXCESS_MAX:
            return False
        return self._kept.add(block, number, payload)

    def _learn_manifest(self, data: bytes) -> Manifest:
        manifest = decode_manifest(data, self.layout)
        # Rather now than when everything has come.
        check_kind(self.path, is_tree=manifest.is_tree)
        self.manifest = manifest
        return manifest

    def _read_manifest(self) -> bytes:
        size_bytes = self._manifest_layout.length_bytes
        return read_at(self._state.fd, size_bytes, self._state.manifest_offset)


class _OpenBlock:
    """A block that is not verified."""

    __slots__ = (
        "fd",
        "is_blank",
        "is_decoding",
        "offset",
        "path",
        "size_bytes",
        "source",
        "symbols",
    )

    def __init__(
        self, fd: int, path: str, offset: int, layout: BlockLayout, index: int, *, is_blank: bool
    ) -> None:
        self.fd: Final = fd
        self.path: Final = path
        self.offset: Final = offset
        self.size_bytes: Final = layout.bytes_of(index)
        self.symbols: Final = layout.symbols_of(index)
        # Source symbols in the file.
        self.source: Final = BitSet(self.symbols)
        self.is_decoding = False
        # Whether the file has nothing but zeros where it has no symbols.
        self.is_blank = is_blank
