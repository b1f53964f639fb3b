"""The connections of clients: who they are, and how much they have unconfirmed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Final, Protocol

from penstock.guaranteed.settings import PubendSettings
from penstock.kernel.machine import Port
from penstock.wire.frames.guaranteed.base import ClientFrame
from penstock.wire.frames.guaranteed.publication import Publish


class SendToClient(Protocol):
    """Sends frames to a client, if it is still there."""

    def __call__(self, port: Port, /, *frames: ClientFrame) -> None:
        """They leave in their order."""


class Connection:
    """One client that has sent CONNECT."""

    def __init__(self, publisher: str, life: int) -> None:
        self.publisher: Final = publisher
        self.life: Final = life
        # The sizes of publications that are not answered yet, by stream and id.
        self._unconfirmed: Final[dict[tuple[str, int], int]] = {}
        self._unconfirmed_bytes = 0

    def publish(self, stream: str, id_: int, size_bytes: int, limits: PubendSettings) -> bool:
        """Notes a publication; False if it exceeds the credit. One message is always within it."""
        key, unconfirmed = (stream, id_), self._unconfirmed
        if key in unconfirmed:
            self.answer(stream, id_)
        unconfirmed[key] = size_bytes
        self._unconfirmed_bytes += size_bytes
        messages = len(unconfirmed)
        return messages == 1 or (
            messages <= limits.credit_messages and self._unconfirmed_bytes <= limits.credit_bytes
        )

    def publish_all(self, frame: Publish, limits: PubendSettings) -> bool:
        """Notes publications if all are within the credit; False, and nothing, if they are not."""
        size_bytes = sum(map(len, frame.bodies))
        if (
            len(self._unconfirmed) + len(frame.ids) > limits.credit_messages
            or self._unconfirmed_bytes + size_bytes > limits.credit_bytes
        ):
            return False
        noted = dict(zip(zip(repeat(frame.stream), frame.ids), map(len, frame.bodies), strict=True))
        if len(noted) < len(frame.ids) or not self._unconfirmed.keys().isdisjoint(noted):
            # Some are repeated.
            for id_, body in zip(frame.ids, frame.bodies, strict=True):
                self.publish(frame.stream, id_, len(body), limits)
            return True
        self._unconfirmed.update(noted)
        self._unconfirmed_bytes += size_bytes
        return True

    def answer(self, stream: str, id_: int) -> None:
        """A publication has been confirmed or refused."""
        self._unconfirmed_bytes -= self._unconfirmed.pop((stream, id_), 0)

    def answer_all(self, stream: str, ids: Iterable[int]) -> None:
        """Publications have been confirmed."""
        keys = zip(repeat(stream), ids)
        self._unconfirmed_bytes -= sum(map(self._unconfirmed.pop, keys, repeat(0)))
