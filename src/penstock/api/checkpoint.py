"""How far a subscription has read all of its pubends, as a short text.

    version 1 byte | { pubend 8 bytes, tick varint }, by rising pubend | CRC-32 4 bytes

in base64 for addresses (`-` and `_`, no padding). The sum is there because a program keeps the text
beside its own results: one that was cut or mixed up must not pass for another place in the stream.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from zlib import crc32

from penstock.api.position import U64_MAX, Position
from penstock.api.units import quoted
from penstock.kernel.errors import UsageError

_VERSION: Final = 1
_SUM_BYTES: Final = 4
_PUBEND_BYTES: Final = 8
PUBENDS_MAX: Final = 4_096
_CHARS_MAX: Final = (1 + PUBENDS_MAX * 18 + _SUM_BYTES) * 4 // 3 + 4


class Checkpoint(Mapping[int, int]):
    """An immutable map from pubends to the tick up to which, inclusive, they have been read."""

    __slots__ = ("_ticks",)

    def __init__(self, positions: Iterable[Position] = ()) -> None:
        self._ticks: Final = {position.pubend: position.tick for position in positions}
        if len(self._ticks) > PUBENDS_MAX:
            raise UsageError(
                f"a checkpoint has at most {PUBENDS_MAX} pubends, not {len(self._ticks)}:"
                " subscribe to fewer streams at once"
            )

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """The checkpoint whose text this is."""
        if not isinstance(text, str):
            raise _nonsense(text, "it is no text")
        if not text.isascii() or len(text) > _CHARS_MAX:
            raise _nonsense(text, "it has other characters, or too many")
        try:
            data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            raise _nonsense(text, "it is cut or has other characters") from None
        body, sum_ = data[:-_SUM_BYTES], data[-_SUM_BYTES:]
        if len(body) < 1 or crc32(body) != int.from_bytes(sum_, "big"):
            raise _nonsense(text, "its check sum is wrong")
        if body[0] != _VERSION:
            raise _nonsense(text, f"it has version {body[0]}, and this program reads {_VERSION}")
        checkpoint = cls(_read(body, text))
        if str(checkpoint) != text:
            # Other spellings of the same bytes; nobody but a person makes them.
            raise _nonsense(text, "it has other characters")
        return checkpoint

    def advanced(self, position: Position) -> Checkpoint:
        """A copy that has read up to `position`."""
        copy = Checkpoint()
        copy._ticks.update(self._ticks)
        copy._ticks[position.pubend] = position.tick
        return copy

    @property
    def positions(self) -> tuple[Position, ...]:
        """One for each pubend, by rising pubend."""
        return tuple(Position(pubend, tick) for pubend, tick in sorted(self._ticks.items()))

    def __getitem__(self, pubend: int) -> int:
        return self._ticks[pubend]

    def __iter__(self) -> Iterator[int]:
        return iter(self._ticks)

    def __len__(self) -> int:
        return len(self._ticks)

    def __hash__(self) -> int:
        return hash(frozenset(self._ticks.items()))

    def __str__(self) -> str:
        body = bytearray([_VERSION])
        for pubend, tick in sorted(self._ticks.items()):
            body += pubend.to_bytes(_PUBEND_BYTES, "big")
            rest = tick
            while rest > 0x7F:
                body.append(rest & 0x7F | 0x80)
                rest >>= 7
            body.append(rest)
        body += crc32(body).to_bytes(_SUM_BYTES, "big")
        return urlsafe_b64encode(body).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"Checkpoint.parse({str(self)!r})"

    def __reduce__(self) -> tuple[object, tuple[tuple[Position, ...]]]:
        return Checkpoint, (self.positions,)


def _read(body: bytes, text: str) -> Iterator[Position]:
    at, last = 1, -1
    while at < len(body):
        pubend = int.from_bytes(body[at : at + _PUBEND_BYTES], "big")
        at += _PUBEND_BYTES
        tick = shift = 0
        more = True
        while more:
            if at >= len(body) or shift > 63:
                raise _nonsense(text, "it is cut")
            tick |= (body[at] & 0x7F) << shift
            more = body[at] > 0x7F
            shift += 7
            at += 1
        if pubend <= last or tick > U64_MAX:
            raise _nonsense(text, "no program has written it")
        last = pubend
        yield Position(pubend, tick)


def _nonsense(text: object, why: str) -> UsageError:
    return UsageError(
        f"{quoted(text)} is no checkpoint, {why}: pass a text of message.checkpoint, unchanged"
    )
