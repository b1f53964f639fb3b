"""The connections of clients: who they are, and how much they have unconfirmed."""

from __future__ import annotations

from typing import Final

from penstock.guaranteed.settings import PubendSettings


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
        self.answer(stream, id_)
        self._unconfirmed[stream, id_] = size_bytes
        self._unconfirmed_bytes += size_bytes
        messages = len(self._unconfirmed)
        return messages == 1 or (
            messages <= limits.credit_messages and self._unconfirmed_bytes <= limits.credit_bytes
        )

    def answer(self, stream: str, id_: int) -> None:
        """A publication has been confirmed or refused."""
        self._unconfirmed_bytes -= self._unconfirmed.pop((stream, id_), 0)
