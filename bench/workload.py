"""Synthetic messages and filters for measuring matching.

A message has 10 of 30 attributes, drawn by Zipf popularity. An attribute holds
a word of its own vocabulary, one of a few categories, or a number. A filter has
one to five constraints on attributes drawn the same way, and its ranges are cut
so that it matches about one message in a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.kernel.seeds import Seeds

ATTRIBUTES: Final = 30
MESSAGE_ATTRIBUTES: Final = 10
CONSTRAINTS_MAX: Final = 5
MATCH_SHARE: Final = 1e-3
WORDS: Final = 200
CATEGORIES: Final = 12
NUMBER_MAX: Final = 1000.0

# Attribute i is of kind KINDS[i % 3], so that each kind has popular and rare attributes.
MIXES: Final = {
    "mixed": ("word", "category", "number"),
    "range": ("number", "number", "number"),
    "string": ("word", "word", "word"),
}


@dataclass(frozen=True, slots=True)
class _Part:
    """One constraint to be, and the share of this attribute's values it lets through."""

    attribute: int
    op: Op | None
    share: float


class Workload:
    """A seeded source of filters and messages of one mix."""

    def __init__(self, seeds: Seeds, mix: str = "mixed") -> None:
        self._mix = mix
        self._kinds = MIXES[mix]
        self._filter_rng = seeds.rng(mix, "filters")
        self._message_rng = seeds.rng(mix, "messages")
        words = seeds.rng("words")
        self._words = [_word(words) for _ in range(WORDS)]
        self._weights = list(accumulate(1.0 / (rank + 1) for rank in range(ATTRIBUTES)))
        self._presence = self._measure_presence(seeds.rng("presence"))

    def filters(self, count: int) -> Iterator[Filter]:
        """`count` filters of one to five constrained attributes."""
        for _ in range(count):
            yield self._filter(self._filter_rng)

    def messages(self, count: int) -> list[Message]:
        """`count` messages of ten attributes."""
        rng = self._message_rng
        return [
            Message({_name(i): self._value(rng, i) for i in self._choose(rng, MESSAGE_ATTRIBUTES)})
            for _ in range(count)
        ]

    def _choose(self, rng: Random, count: int) -> list[int]:
        chosen: dict[int, None] = {}
        while len(chosen) < count:
            chosen[rng.choices(range(ATTRIBUTES), cum_weights=self._weights)[0]] = None
        return list(chosen)

    def _measure_presence(self, rng: Random, draws: int = 2000) -> list[float]:
        seen = [0] * ATTRIBUTES
        for _ in range(draws):
            for attribute in self._choose(rng, MESSAGE_ATTRIBUTES):
                seen[attribute] += 1
        return [count / draws for count in seen]

    def _kind(self, attribute: int) -> str:
        return self._kinds[attribute % len(self._kinds)]

    def _value(self, rng: Random, attribute: int) -> int | float | str:
        kind = self._kind(attribute)
        if kind == "number":
            return rng.uniform(0, NUMBER_MAX)
        return rng.randrange(CATEGORIES) if kind == "category" else rng.choice(self._words)

    def _filter(self, rng: Random) -> Filter:
        count = rng.randint(1, CONSTRAINTS_MAX)
        chosen = self._choose(rng, count)
        while count == 1 and self._kind(chosen[0]) == "category":  # alone, far too broad
            chosen = self._choose(rng, count)
        parts = [self._part(rng, attribute, count) for attribute in chosen]
        share = 1.0
        for part in parts:
            share *= self._presence[part.attribute] * part.share
        ranges = sum(part.op is None for part in parts)
        width = min(0.9, MATCH_SHARE / share) ** (1 / ranges) if ranges else 0.0
        return Filter(c for part in parts for c in self._constraints(rng, part, width))

    def _part(self, rng: Random, attribute: int, count: int) -> _Part:
        kind = self._kind(attribute)
        if kind == "number":
            return _Part(attribute, None, 1.0)
        if kind == "category":
            return _Part(attribute, Op.EQ, 1 / CATEGORIES)
        if self._mix == "mixed" and (count == 1 or rng.random() < 0.8):
            return _Part(attribute, Op.EQ, 1 / WORDS)
        op = rng.choice((Op.PREFIX, Op.SUFFIX, Op.CONTAINS))
        return _Part(attribute, op, 0.05)

    def _constraints(self, rng: Random, part: _Part, width: float) -> Iterator[Constraint]:
        name = _name(part.attribute)
        if part.op is None:
            low = rng.uniform(0, NUMBER_MAX * (1 - width))
            yield Constraint(name, Op.GE, low)
            yield Constraint(name, Op.LT, low + NUMBER_MAX * width)
        elif part.op is Op.EQ:
            yield Constraint(name, Op.EQ, self._value(rng, part.attribute))
        else:
            yield Constraint(name, part.op, self._piece(rng, part.op))

    def _piece(self, rng: Random, op: Op) -> str:
        word = rng.choice(self._words)
        size = 2 if self._mix == "mixed" else rng.randint(2, 4)
        if op is Op.PREFIX:
            return word[:size]
        if op is Op.SUFFIX:
            return word[-size:]
        start = rng.randint(0, len(word) - size)
        return word[start : start + size]


def _name(attribute: int) -> str:
    return f"a{attribute:02}"


def _word(rng: Random) -> str:
    """Consonant and vowel in turn, so that pieces of words recur in others."""
    return "".join(rng.choice("bcdfglmnprst") + rng.choice("aeiou") for _ in range(4))
