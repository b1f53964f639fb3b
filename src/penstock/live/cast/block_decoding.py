"""Decodes one block of an unfinished object: in this process, or pickled in another.

Only a block that hashes to what it should is written; its source symbols that arrived are in the
file already.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from blake3 import blake3

from penstock.bloomcast.coding.raptor import RaptorDecoder
from penstock.bloomcast.facts import Verdict
from penstock.live.cast.file_io import read_at, write_at


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDecoding:
    """What is known of a block; while it runs, nobody else may write to the block."""

    path: str
    # Where in the file the block is, without padding.
    offset: int
    size_bytes: int
    symbol_bytes: int
    block_symbols: int
    # Source symbols in the file, as ranges.
    present: tuple[tuple[int, int], ...]
    # Others, by their numbers.
    kept: dict[int, bytes]
    # A BLAKE3, or the beginning of one.
    digest: bytes

    def run(self) -> Verdict:
        """Decodes, checks and completes the block."""
        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            block = read_at(fd, self.size_bytes, self.offset).ljust(self.size_bytes, b"\0")
            if self.present != ((0, self.block_symbols),):
                decoded = self._decoded(block)
                if decoded is None:
                    return Verdict.UNDECODED
                block = decoded[: self.size_bytes]
            if blake3(block).digest(len(self.digest)) != self.digest:
                return Verdict.POISONED
            self._write_missing(fd, block)
        finally:
            os.close(fd)
        return Verdict.COMPLETE

    def _decoded(self, block: bytes) -> bytes | None:
        size = self.symbol_bytes
        symbols = dict(self.kept)
        for start, stop in self.present:
            for number in range(start, stop):
                symbols[number] = block[number * size : (number + 1) * size].ljust(size, b"\0")
        return RaptorDecoder(self.block_symbols, symbol_bytes=size).decode(symbols)

    def _write_missing(self, fd: int, block: bytes) -> None:
        view = memoryview(block)
        done = 0
        for start, stop in (*self.present, (self.block_symbols, self.block_symbols)):
            begin = done * self.symbol_bytes
            if done < start:
                write_at(fd, view[begin : start * self.symbol_bytes], self.offset + begin)
            done = stop
