"""Messages that were handed out too often and were put aside, so that those behind them go on.

They are kept whole, since the log may trim them, and in memory too: hence a bound in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.settings import HostSettings
from penstock.wire.frames.guaranteed.subscription import Position

KEY: Final = "parked/"


class ParkedMessage(msgspec.Struct, frozen=True, array_like=True):
    """One message; add fields at the end."""

    pubend: int
    tick: int
    published_ns: int
    # How often it was handed out.
    attempts: int
    # What the client said of it last.
    reason: str
    body: bytes

    @property
    def position(self) -> Position:
        """Ticks are unique within a pubend only."""
        return Position(self.pubend, self.tick)


class Parking:
    """The parked messages of all durable names of a host."""

    def __init__(self, disk: Disk, settings: HostSettings) -> None:
        self._disk: Final = disk
        self._settings: Final = settings
        self._by_durable: Final[dict[str, dict[Position, ParkedMessage]]] = {}
        self._bytes: Final[dict[str, int]] = {}

    def restore(self, stored: Mapping[str, bytes]) -> None:
        """Takes up what was saved."""
        for key, value in stored.items():
            if key.startswith(KEY):
                durable = key.removeprefix(KEY).rsplit("/", 2)[0]
                self._add(durable, msgspec.msgpack.decode(value, type=ParkedMessage))

    def of(self, durable: str) -> list[ParkedMessage]:
        """All of one name, in the order in which they were put aside."""
        return list(self._by_durable.get(durable, {}).values())

    def find(self, durable: str, position: Position) -> ParkedMessage | None:
        """The message at that place, if it is parked."""
        return self._by_durable.get(durable, {}).get(position)

    def park(self, durable: str, message: ParkedMessage) -> bool:
        """Puts a message aside; False if there is no room.

        A cursor that moves past the message is saved after this, so none is lost by a crash.
        """
        settings = self._settings
        if (
            len(self._by_durable.get(durable, ())) >= settings.parked_max
            or self._bytes.get(durable, 0) + len(message.body) > settings.parked_bytes_max
        ):
            return False
        self._add(durable, message)
        self._disk.save(_key(durable, message.position), msgspec.msgpack.encode(message))
        return True

    def discard(self, durable: str, position: Position) -> bool:
        """Deletes a message; False if there is none."""
        message = self._by_durable.get(durable, {}).pop(position, None)
        if message is None:
            return False
        self._bytes[durable] -= len(message.body)
        self._disk.save(_key(durable, position), None)
        return True

    def forget(self, durable: str) -> None:
        """Deletes all messages of a name."""
        for position in list(self._by_durable.get(durable, ())):
            self.discard(durable, position)
        self._by_durable.pop(durable, None)
        self._bytes.pop(durable, None)

    def _add(self, durable: str, message: ParkedMessage) -> None:
        self._by_durable.setdefault(durable, {})[message.position] = message
        self._bytes[durable] = self._bytes.get(durable, 0) + len(message.body)


def _key(durable: str, position: Position) -> str:
    return f"{KEY}{durable}/{position.pubend:016x}/{position.tick}"
