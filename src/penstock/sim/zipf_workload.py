"""Messages of attributes whose values are not equally popular, and filters that ask for them.

The v-th value of each attribute comes with a probability in proportion to 1/v^s. A filter
asks for one to five attributes, each for a value that is drawn likewise: a few filters match
much, and most match little. Of all messages a share may be of values that no filter asks for.

Knows nothing of time, as `content` does not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.kernel.errors import UsageError

# Of the length that values have, so that these messages are as large as others.
_UNMATCHED_VALUE = "w0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipfWorkload:
    """A market of values; named, so that two markets do not meet."""

    name: str = "z"
    attributes: int = 5
    values: int = 20
    exponent: float = 1.0
    constraints_max: int = 5
    # How many of all messages have values that filters ask for.
    asked_share: float = 1.0
    payload_bytes: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.constraints_max <= self.attributes:
            raise UsageError(
                f"filters have at most as many constraints as messages have attributes,"
                f" {self.attributes}, not {self.constraints_max}"
            )

    def cumulative(self) -> list[float]:
        """The probabilities of values, summed up, to draw them by."""
        weights = [1 / (rank + 1) ** self.exponent for rank in range(self.values)]
        return list(accumulate(weight / sum(weights) for weight in weights))

    def message(self, rng: Random, cumulative: Sequence[float] | None = None) -> Message:
        """One message; pass `cumulative()` when making many."""
        drawn = cumulative or self.cumulative()
        is_matchable = self.asked_share >= 1 or rng.random() < self.asked_share
        attributes = {
            self._attribute(index): self._value(rng, drawn) if is_matchable else _UNMATCHED_VALUE
            for index in range(self.attributes)
        }
        return Message.trusted(attributes, bytes(self.payload_bytes))

    def interest(self, rng: Random, share: float | None = None) -> Predicate:
        """One filter; how much it matches is for chance to say, and `wanted` is not asked for."""
        del share
        drawn = self.cumulative()
        chosen = rng.sample(range(self.attributes), rng.randint(1, self.constraints_max))
        return Predicate(
            [Filter(Constraint(self._attribute(i), Op.EQ, self._value(rng, drawn)) for i in chosen)]
        )

    def match_probability(self, interest: Predicate) -> float:
        """How probable it is that a message matches the filter."""
        (filter_,) = interest.filters
        shares = [1 / (rank + 1) ** self.exponent for rank in range(self.values)]
        probability = self.asked_share
        for constraint in filter_.constraints:
            probability *= shares[int(str(constraint.operand)[1:])] / sum(shares)
        return probability

    def _value(self, rng: Random, cumulative: Sequence[float]) -> str:
        return f"v{bisect_left(cumulative, rng.random() * (1 - 1e-12))}"

    def _attribute(self, index: int) -> str:
        return f"{self.name}{index}"
