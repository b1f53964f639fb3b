"""Messages that match with given probabilities, and nothing else to them.

Each coin is an attribute that is true with its own probability; whoever asks for
a coin gets the messages on which it is true. Coins fall independently, or as the
first one falls: where that is true another is with probability `overlap`, where it
is not so often that all in all it is true as often as the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.kernel.errors import UsageError
from penstock.sim.loss import check_chance


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchDraws:
    """A coin for each of these odds, named c0, c1, … after `name`."""

    probabilities: tuple[float, ...]
    # None for coins that know nothing of one another; else all have the odds of the first.
    overlap: float | None = None
    name: str = ""
    payload_bytes: int = 0

    def __post_init__(self) -> None:
        if not self.probabilities:
            raise UsageError("coins need odds: at least one probability")
        for chance in self.probabilities:
            check_chance("odds", chance)
        if self.overlap is not None:
            check_chance("overlap", self.overlap)
            if len(set(self.probabilities)) > 1 or self.probabilities[0] * (2 - self.overlap) > 1:
                raise UsageError(
                    "coins that overlap all have the same odds, at most 1/(2 - overlap)"
                )

    def interest(self, index: int) -> Predicate:
        """What is asked for by who wants the messages of one coin."""
        return Predicate([Filter([Constraint(self._attribute(index), Op.EQ, True)])])

    def message_maker(
        self, rng: Random, *, first_every: int | None = None
    ) -> Callable[[], Message]:
        """Makes one message after another; in every so many, the last, the first coin is true."""
        names = [self._attribute(index) for index in range(len(self.probabilities))]
        payload = bytes(self.payload_bytes)
        made = 0

        def make() -> Message:
            nonlocal made
            made += 1
            is_first = first_every is not None and made % first_every == 0
            return Message.trusted(
                dict(zip(names, self._draw(rng, is_first), strict=True)), payload
            )

        return make

    def _draw(self, rng: Random, is_first: bool) -> list[bool]:
        first = rng.random() < self.probabilities[0] or is_first
        others = self.probabilities[1:]
        if self.overlap is not None:
            match = self.probabilities[0]
            besides = match * (1 - self.overlap) / (1 - match) if match < 1 else 0.0
            others = (self.overlap if first else besides,) * len(others)
        return [first, *(rng.random() < chance for chance in others)]

    def _attribute(self, index: int) -> str:
        return f"{self.name}c{index}"
