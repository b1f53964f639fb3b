"""RaptorQ (RFC 6330), as the `raptorq` library has it.

The library chooses its parameters by itself. With a whole number of symbols as data, and blocks
within the bounds of `block_layout`, they are one source block without sub-blocks, whose source
symbols are the data. The library holds the interpreter's lock as long as it works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raptorq import Decoder, Encoder

# A packet begins with the number of the source block, 0, and that of the symbol.
_PAYLOAD_ID_BYTES: Final = 4
# A call copies all source symbols, too: not for each of the first few repair symbols.
_REPAIRS_MIN: Final = 64


class RaptorEncoder:
    """Makes the repair symbols of one block; takes 2.3 times its memory."""

    __slots__ = ("_block_symbols", "_encoder", "_packets")

    def __init__(self, block: bytes, *, symbol_bytes: int) -> None:
        padded = block + bytes(-len(block) % symbol_bytes)
        self._block_symbols: Final = len(padded) // symbol_bytes
        self._encoder: Final[Encoder] = Encoder.with_defaults(padded, symbol_bytes)
        self._packets: list[bytes] = []

    def symbols(self, start: int, stop: int) -> list[bytes]:
        """The repair symbols from number `start` up to, not including, `stop`."""
        start, stop = start - self._block_symbols, stop - self._block_symbols
        assert start >= 0, "source symbols are not encoded"
        if stop > len(self._packets):
            count = max(_REPAIRS_MIN, 1 << (stop - 1).bit_length())
            # More packets begin with the same ones.
            self._packets = self._encoder.get_encoded_packets(count)[self._block_symbols :]
        return [packet[_PAYLOAD_ID_BYTES:] for packet in self._packets[start:stop]]


class RaptorDecoder:
    """Decodes blocks of so many source symbols."""

    __slots__ = ("_block_symbols", "_symbol_bytes")

    def __init__(self, block_symbols: int, *, symbol_bytes: int) -> None:
        self._block_symbols: Final = block_symbols
        self._symbol_bytes: Final = symbol_bytes

    def decode(self, symbols: Mapping[int, bytes]) -> bytes | None:
        """The block with the padding of its last symbol; None if more symbols are needed."""
        wanted = self._block_symbols
        if len(symbols) < wanted:
            return None
        numbers = sorted(symbols)
        if numbers[wanted - 1] == wanted - 1:
            return b"".join([symbols[number] for number in range(wanted)])
        decoder = Decoder.with_defaults(wanted * self._symbol_bytes, self._symbol_bytes)
        for number in numbers:
            block: bytes | None = decoder.decode(number.to_bytes(4, "big") + symbols[number])
            if block is not None:
                return block
        return None
