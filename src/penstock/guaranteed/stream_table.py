"""The streams that a broker knows by name: those it stores, and those that parents announce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.guaranteed.announcements import Announcements
from penstock.guaranteed.pubend.pubend import Pubend
from penstock.guaranteed.wildcard_addresses import is_wildcard


class StreamTable:
    """Finds the pubends of a stream."""

    def __init__(self, announcements: Announcements) -> None:
        self._announcements: Final = announcements
        self._here: Final[dict[str, list[Pubend]]] = {}

    def add(self, pubend: Pubend) -> None:
        """A pubend is stored here."""
        self._here.setdefault(pubend.stream, []).append(pubend)

    def remove(self, pubend: Pubend) -> None:
        """A pubend is stored here no more."""
        own = self._here[pubend.stream]
        own.remove(pubend)
        if not own:
            del self._here[pubend.stream]

    def here(self, stream: str) -> Sequence[Pubend]:
        """The pubends of a stream that are stored here."""
        return self._here.get(stream, ())

    def everywhere(self, stream: str) -> list[int]:
        """All pubends of a stream that are known."""
        announced = self._announcements.remembered.items()
        own = (pubend.id for pubend in self.here(stream))
        return sorted({*own, *(id_ for id_, each in announced if each.stream == stream)})

    def address_of(self, stream: str) -> str:
        """Where clients reach a broker that stores the stream; "" if that is not known."""
        announced = self._announcements.remembered.values()
        found = next((each.address for each in announced if each.stream == stream), "")
        # Earlier releases have stored what was announced.
        return "" if is_wildcard(found) else found

    def names(self) -> set[str]:
        """The names of all streams that are known."""
        return {*self._here, *(each.stream for each in self._announcements.remembered.values())}
