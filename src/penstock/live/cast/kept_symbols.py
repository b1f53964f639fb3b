"""Symbols that have no place in the file: they are kept until their block is decoded.

In memory up to a bound, behind it in a file that is removed at the end.
"""

from __future__ import annotations

import os
from typing import Final

from penstock.live.cast.file_io import open_own, read_at, write_at


class KeptSymbols:
    """Of all blocks of one object that are not decoded yet."""

    def __init__(self, spill_path: str, *, symbol_bytes: int, memory_bytes_max: int) -> None:
        self._spill_path: Final = spill_path
        self._symbol_bytes: Final = symbol_bytes
        self._in_memory_max: Final = memory_bytes_max // symbol_bytes
        self._in_memory = 0
        # By block and number: the symbol itself, or its slot in the file.
        self._blocks: Final[dict[int, dict[int, bytes | int]]] = {}
        self._fd = -1
        self._slots = 0
        self._free_slots: Final[list[int]] = []

    def add(self, block: int, number: int, payload: bytes) -> bool:
        """Keeps a symbol; False if it is there already."""
        symbols = self._blocks.setdefault(block, {})
        if number in symbols:
            return False
        if self._in_memory < self._in_memory_max:
            self._in_memory += 1
            symbols[number] = payload
        else:
            symbols[number] = self._spill(payload)
        return True

    def count(self, block: int) -> int:
        """How many symbols of a block are kept."""
        return len(self._blocks.get(block, ()))

    def of_block(self, block: int) -> dict[int, bytes]:
        """The symbols of a block by their numbers."""
        return {number: self._read(kept) for number, kept in self._blocks.get(block, {}).items()}

    def take(self, block: int, stop: int) -> dict[int, bytes]:
        """Removes and returns the symbols of a block whose numbers are below `stop`."""
        symbols = self._blocks.get(block, {})
        found = {}
        for number in [number for number in symbols if number < stop]:
            kept = symbols.pop(number)
            found[number] = self._read(kept)
            self._free(kept)
        return found

    def discard(self, block: int) -> None:
        """Forgets the symbols of a block."""
        for kept in self._blocks.pop(block, {}).values():
            self._free(kept)

    def close(self) -> None:
        """Forgets everything."""
        self._blocks.clear()
        if self._fd >= 0:
            os.close(self._fd)
            os.unlink(self._spill_path)
            self._fd = -1

    def _read(self, kept: bytes | int) -> bytes:
        if isinstance(kept, bytes):
            return kept
        return read_at(self._fd, self._symbol_bytes, kept * self._symbol_bytes)

    def _free(self, kept: bytes | int) -> None:
        if isinstance(kept, int):
            self._free_slots.append(kept)
        else:
            self._in_memory -= 1

    def _spill(self, payload: bytes) -> int:
        if self._fd < 0:
            self._fd = open_own(self._spill_path)
        if self._free_slots:
            slot = self._free_slots.pop()
        else:
            slot = self._slots
            self._slots += 1
        write_at(self._fd, payload, slot * self._symbol_bytes)
        return slot
