"""The bytes of the symbols of an object that is sent.

Source symbols are read from the files, repair symbols are encoded from whole blocks.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from blake3 import blake3

from penstock.bloomcast.coding.base import BlockEncoder
from penstock.bloomcast.coding.block_layout import SYMBOL_BYTES, BlockLayout, manifest_layout
from penstock.bloomcast.coding.raptor import RaptorEncoder
from penstock.bloomcast.coding.symbol_runs import consecutive_runs
from penstock.live.cast.concatenated_files import ConcatenatedFiles, file_changed
from penstock.live.cast.manifest import Manifest, encode_manifest, object_id_of
from penstock.live.cast.manifest_builder import OnProgress, build_manifest
from penstock.wire.frames.cast.base import MANIFEST_BLOCK

# Of blocks that are being repaired.
_ENCODERS_MAX: Final = 4


class ObjectSource:
    """A file or tree, as it was when its manifest was built."""

    def __init__(self, path: str | os.PathLike[str], manifest: Manifest) -> None:
        self._path: Final = os.fspath(path)
        self._files: Final = ConcatenatedFiles(self._path, manifest.files)
        # Those that were used last come last.
        self._encoders: Final[OrderedDict[int, BlockEncoder]] = OrderedDict()
        # By block, the source symbols up to here were read.
        self._read_up_to: Final[dict[int, int]] = {}
        # Blocks of which some were read again.
        self._verified: Final[set[int]] = set()
        self.manifest: Final = manifest
        self.layout: Final = manifest.layout
        self.manifest_data: Final = encode_manifest(manifest)
        self.manifest_layout: Final = manifest_layout(
            len(self.manifest_data), manifest.symbol_bytes
        )
        self.object_id: Final = object_id_of(self.manifest_data)

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        *,
        symbol_bytes: int = SYMBOL_BYTES,
        block_symbols: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> ObjectSource:
        """Hashes a file or tree, and opens it."""
        manifest = build_manifest(
            path, symbol_bytes=symbol_bytes, block_symbols=block_symbols, on_progress=on_progress
        )
        return cls(path, manifest)

    def symbols(self, block: int, numbers: Sequence[int]) -> list[bytes]:
        """The bytes of these symbols, in their order; block `MANIFEST_BLOCK` is the manifest."""
        layout, index = self._place(block)
        block_symbols = layout.symbols_of(index)
        found: list[bytes] = []
        for start, stop in consecutive_runs(numbers):
            if start < block_symbols:
                found += self._source_symbols(block, start, min(stop, block_symbols))
            if stop > block_symbols:
                found += self._encoder(block).symbols(max(start, block_symbols), stop)
        return found

    def close(self) -> None:
        """Closes the files."""
        self._files.close()
        self._encoders.clear()

    def _place(self, block: int) -> tuple[BlockLayout, int]:
        """The layout that a block belongs to, and its number there."""
        return (self.manifest_layout, 0) if block == MANIFEST_BLOCK else (self.layout, block)

    def _source_symbols(self, block: int, start: int, stop: int) -> list[bytes]:
        if start < self._read_up_to.get(block, 0) and block not in self._verified:
            # Somebody lacks them, or the file is not as it was, and they would be sent for ever.
            self._verify(block)
            self._verified.add(block)
        self._read_up_to[block] = stop
        layout, index = self._place(block)
        symbol_bytes = layout.symbol_bytes
        begin = start * symbol_bytes
        data = self._read(block, begin, min(stop * symbol_bytes, layout.bytes_of(index)) - begin)
        symbols = [data[at : at + symbol_bytes] for at in range(0, len(data), symbol_bytes)]
        symbols[-1] = symbols[-1].ljust(symbol_bytes, b"\0")
        return symbols

    def _read(self, block: int, begin: int, size_bytes: int) -> bytes:
        """Bytes of a block, without padding."""
        if block == MANIFEST_BLOCK:
            return self.manifest_data[begin : begin + size_bytes]
        return self._files.read(self.layout.offset_of(block) + begin, size_bytes)

    def _encoder(self, block: int) -> BlockEncoder:
        encoder = self._encoders.get(block)
        if encoder is not None:
            self._encoders.move_to_end(block)
            return encoder
        # A false repair symbol would poison the block at every receiver.
        data = self._verify(block)
        while len(self._encoders) >= _ENCODERS_MAX:
            self._encoders.popitem(last=False)
        encoder = self._encoders[block] = RaptorEncoder(
            data, symbol_bytes=self._place(block)[0].symbol_bytes
        )
        return encoder

    def _verify(self, block: int) -> bytes:
        """The bytes of a block, if they are still what was hashed."""
        layout, index = self._place(block)
        data = self._read(block, 0, layout.bytes_of(index))
        if block != MANIFEST_BLOCK and blake3(data).digest() != self.manifest.digest_of(block):
            raise file_changed(self._path)
        return data
