"""Messages that match with given probabilities, and have no other content.

Each draw is a boolean attribute that is true with its own probability; a subscriber to a draw
gets the messages on which it is true. Draws are independent, or depend on the first: where the
first is true, another is true with probability `overlap`; where it is false, with the
probability that makes both equally frequent overall.
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
    """One draw for each probability, named c0, c1, … with the prefix `name`."""

    probabilities: tuple[float, ...]
    # None for independent draws; else all have the probability of the first.
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
        """Predicate that matches the messages on which one draw is true."""
        return Predicate([Filter([Constraint(self._attribute(index), Op.EQ, True)])])

    def message_maker(
        self, rng: Random, *, first_every: int | None = None
    ) -> Callable[[], Message]:
        """Returns a message factory; in every `first_every`-th message the first draw is true."""
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
