"""One open block of a stream at its publisher."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.publisher.generation import Train
from penstock.bloomcast.publisher.rounds import Rounds, Step


class StreamBlock:
    """First it is written, and sent as it is; then come rounds of its own."""

    __slots__ = ("_sent", "digest", "is_filled", "number", "rounds", "symbols")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        # Those that have been written, and how many of them were sent.
        self.symbols = 0
        self._sent = 0
        self.is_filled = False
        # From the driver, when it is filled.
        self.digest: bytes | None = None
        # None: END has not been said of it.
        self.rounds: Rounds | None = None

    @property
    def is_unsent(self) -> bool:
        """Whether nothing of it was sent."""
        return not self._sent

    @property
    def has_repairs(self) -> bool:
        """Whether a generation of repairs is under way."""
        return self.rounds is not None and self.rounds.step is Step.SENDING

    @property
    def has_sources(self) -> bool:
        """Whether some of it has not been sent at all."""
        return self._sent < self.symbols

    @property
    def can_end(self) -> bool:
        """Whether END is to be said for the first time."""
        return self.rounds is None and self.digest is not None and not self.has_sources

    @property
    def is_resting(self) -> bool:
        """Whether its repairs have been sent, and a later block will say what they brought."""
        return self.rounds is not None and self.rounds.step is Step.RESTING

    @property
    def will_tell(self) -> bool:
        """Whether reports about it are to come, which say of earlier ones what is over."""
        return self.rounds is None or self.rounds.is_first

    @property
    def is_over(self) -> bool:
        """Whether nobody lacks anything of it."""
        return self.rounds is not None and self.rounds.step is Step.OVER

    @property
    def is_spent(self) -> bool:
        """Whether it cannot be repaired any more."""
        return self.rounds is not None and self.rounds.step is Step.SPENT

    def next_sources(self, symbols_max: int) -> Train:
        """The next symbols, as they are."""
        start, self._sent = self._sent, min(self._sent + symbols_max, self.symbols)
        return Train(0, self.number, tuple(range(start, self._sent)), None)
