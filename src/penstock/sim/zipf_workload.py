"""Messages with Zipf-distributed attribute values, and filters that match them.

The v-th value of each attribute has a probability in proportion to 1/v^s. A filter constrains
one to five attributes, each to a value drawn from the same distribution: a few filters match
many messages, and most match few. A share of all messages may have values that no filter names.

Knows nothing of time; `publish_schedule` says when messages leave.
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

# As long as the other values, so that these messages have the same size.
_UNMATCHED_VALUE = "w0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipfWorkload:
    """A set of attributes and values; its name keeps two workloads from overlapping."""

    name: str = "z"
    attributes: int = 5
    values: int = 20
    exponent: float = 1.0
    constraints_max: int = 5
    # The share of all messages whose values filters name.
    asked_share: float = 1.0
    payload_bytes: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.constraints_max <= self.attributes:
            raise UsageError(
                f"filters have at most as many constraints as messages have attributes,"
                f" {self.attributes}, not {self.constraints_max}"
            )

    def cumulative(self) -> list[float]:
        """Cumulative probabilities of the values, from which they are drawn."""
        weights = [1 / (rank + 1) ** self.exponent for rank in range(self.values)]
        return list(accumulate(weight / sum(weights) for weight in weights))

    def message(self, rng: Random, cumulative: Sequence[float] | None = None) -> Message:
        """Draws one message; pass `cumulative()` when drawing many."""
        drawn = cumulative or self.cumulative()
        is_matchable = self.asked_share >= 1 or rng.random() < self.asked_share
        attributes = {
            self._attribute(index): self._value(rng, drawn) if is_matchable else _UNMATCHED_VALUE
            for index in range(self.attributes)
        }
        return Message.trusted(attributes, bytes(self.payload_bytes))

    def interest(self, rng: Random, share: float | None = None) -> Predicate:
        """Draws one filter; its match probability is random, and `share` is ignored."""
        del share
        drawn = self.cumulative()
        chosen = rng.sample(range(self.attributes), rng.randint(1, self.constraints_max))
        return Predicate(
            [Filter(Constraint(self._attribute(i), Op.EQ, self._value(rng, drawn)) for i in chosen)]
        )

    def match_probability(self, interest: Predicate) -> float:
        """The probability that a message matches the filter."""
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
