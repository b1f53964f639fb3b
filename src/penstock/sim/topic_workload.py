"""Messages about topics, and subscriptions to topics, for simulated applications.

A few hot topics carry a given share of all messages and most subscribers subscribe to them; the
many cold topics have hardly any subscribers. A subscriber adds hot topics until it reaches a
match probability of its own, drawn uniformly up to a given maximum, and a few cold ones. So
many messages have few receivers, few messages have many, and no pair of publisher and
subscriber matches often: the hardest workload for recovery.

Knows nothing of time; `publish_schedule` says when messages leave.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.limits import PAYLOAD_BYTES_MAX
from penstock.content.message import Message
from penstock.kernel.errors import UsageError

# Rounding tolerance, so that an interest of 1 covers all topics.
_ROUNDING: Final = 1e-9


@cache
def _payload(size_bytes: int) -> bytes:
    """One payload shared by all messages: its content is not read, and copies would take memory."""
    return bytes(size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWorkload:
    """A set of topics; shares are of all messages, interests are match probabilities.

    Topic names start with the workload's name, so that two workloads do not overlap.
    """

    name: str = "t"
    hot: int = 60
    cold: int = 600
    hot_share: float = 0.5
    interest_max: float = 0.1
    cold_interest: float = 0.0015
    attributes: int = 10
    payload_bytes: int = 0

    def __post_init__(self) -> None:
        if self.hot < 1 or self.cold < 0:
            raise UsageError("a market needs at least one hot topic, and 0 or more cold ones")
        if not 0 < self.hot_share <= 1 or (self.hot_share == 1) != (self.cold == 0):
            raise UsageError(
                f"hot_share must lie between 0 and 1, and be 1 if there are no cold topics and"
                f" only then, not {self.hot_share} with {self.cold} cold topics"
            )
        if not 0 <= self.cold_interest <= self.interest_max <= self.hot_share:
            raise UsageError(
                "cold_interest must be 0 or more, interest_max at least as much,"
                f" and hot_share at least that: {self.cold_interest}, {self.interest_max},"
                f" {self.hot_share}"
            )
        if not 0 <= self.payload_bytes <= PAYLOAD_BYTES_MAX:
            raise UsageError(
                f"a payload has 0 to {PAYLOAD_BYTES_MAX} bytes, not {self.payload_bytes}"
            )
        if not 1 <= self.attributes <= 64:
            raise UsageError(f"a message has 1 to 64 attributes, not {self.attributes}")

    def shares(self) -> list[float]:
        """The share of each topic: hot ones first, in decreasing order."""
        weights = [1 / (rank + 10) for rank in range(self.hot)]
        whole = sum(weights)
        hot = [self.hot_share * weight / whole for weight in weights]
        return hot + [(1 - self.hot_share) / max(1, self.cold)] * self.cold

    def message(self, rng: Random, cumulative: Sequence[float] | None = None) -> Message:
        """Draws one message; pass `cumulative()` when drawing many."""
        topic = bisect_left(cumulative or self.cumulative(), rng.random() * (1 - 1e-12))
        details = {f"detail{i}": rng.randrange(1000) for i in range(1, self.attributes)}
        return Message.trusted(
            {"topic": self._topic(topic), **details}, _payload(self.payload_bytes)
        )

    def cumulative(self) -> list[float]:
        """Cumulative shares, from which topics are drawn."""
        return list(accumulate(self.shares()))

    def interest(self, rng: Random, share: float | None = None) -> Predicate:
        """Draws a predicate that matches `share` of all messages, or slightly less.

        Without `share`, its match probability is drawn uniformly up to `interest_max`.
        """
        shares = self.shares()
        left = rng.uniform(0, self.interest_max) if share is None else share
        cold_left = min(left, rng.uniform(0, 2 * self.cold_interest)) if self.cold else 0.0
        chosen = []
        for topic in rng.sample(range(self.hot), self.hot):
            if shares[topic] <= left - cold_left + _ROUNDING:
                chosen.append(topic)
                left -= shares[topic]
        for topic in rng.sample(range(self.hot, self.hot + self.cold), self.cold):
            if shares[topic] > cold_left:
                break
            chosen.append(topic)
            cold_left -= shares[topic]
        # A share below that of every topic still gets one topic, the least frequent kind.
        chosen = chosen or [rng.randrange(self.hot + self.cold - max(1, self.cold), len(shares))]
        return Predicate(Filter([Constraint("topic", Op.EQ, self._topic(t))]) for t in chosen)

    def match_probability(self, interest: Predicate) -> float:
        """The probability that a message matches."""
        shares = self.shares()
        topics = [c.operand for f in interest.filters for c in f.constraints]
        return sum(shares[int(str(name).removeprefix(self.name))] for name in topics)

    def _topic(self, index: int) -> str:
        return f"{self.name}{index}"
