"""Searches one string for many text patterns at once.

Prefixes and suffixes are looked up by length. A substring is stored under one of its own n-grams of
at most three characters, the least used so far, and searched for only in strings with that n-gram.
Results are cached by string until the patterns change: attributes tend to repeat their values.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from penstock.content.constraint import Op

Entry = TypeVar("Entry")

_CONTAINS: Final = Op.CONTAINS
_GRAM: Final = 3
_REMEMBERED_MAX: Final = 1024


class Patterns(Generic[Entry]):
    """Entries by pattern; `found_in` returns those whose pattern occurs in a string."""

    __slots__ = ("_count", "_ends", "_gram_of", "_grams", "_prefixes", "_remembered", "_suffixes")

    def __init__(self) -> None:
        # By length first, so that only lengths in use are tried.
        self._prefixes: dict[int, dict[str, Entry]] = {}
        self._suffixes: dict[int, dict[str, Entry]] = {}
        self._ends = {Op.PREFIX: self._prefixes, Op.SUFFIX: self._suffixes}
        self._grams: dict[int, dict[str, dict[str, Entry]]] = {}
        self._gram_of: dict[str, str] = {}
        self._count = 0
        self._remembered: dict[str, list[Entry]] = {}

    def __len__(self) -> int:
        return self._count

    def get(self, op: Op, pattern: str) -> Entry | None:
        """The entry of a pattern."""
        home = self._home(op, pattern)
        return None if home is None else home.get(pattern)

    def has_kind(self, op: Op, pattern: str) -> bool:
        """Whether strings are already searched for such patterns."""
        if op is _CONTAINS:
            return min(_GRAM, len(pattern)) in self._grams
        return len(pattern) in self._ends[op]

    def add(self, op: Op, pattern: str, entry: Entry) -> None:
        """Adds a new pattern."""
        self._remembered = {}
        self._count += 1
        if op is _CONTAINS:
            gram = self._gram_of[pattern] = self._rarest_gram(pattern)
            home = self._grams.setdefault(len(gram), {}).setdefault(gram, {})
        else:
            home = self._ends[op].setdefault(len(pattern), {})
        assert pattern not in home
        home[pattern] = entry

    def remove(self, op: Op, pattern: str) -> None:
        """Removes a pattern."""
        self._remembered = {}
        self._count -= 1
        home = self._home(op, pattern)
        assert home is not None
        del home[pattern]
        if op is _CONTAINS:
            gram = self._gram_of.pop(pattern)
            grams = self._grams[len(gram)]
            if not home:
                del grams[gram]
            if not grams:
                del self._grams[len(gram)]
        elif not home:
            del self._ends[op][len(pattern)]

    def found_in(self, text: str) -> list[Entry]:
        """The entries whose pattern occurs in `text`, each once."""
        found = self._remembered.get(text)
        if found is None:
            found = self._look_into(text)
            if len(self._remembered) >= _REMEMBERED_MAX:
                self._remembered = {}
            self._remembered[text] = found
        return found

    def _look_into(self, text: str) -> list[Entry]:
        found = []
        for size, prefixes in self._prefixes.items():
            if (entry := prefixes.get(text[:size])) is not None:
                found.append(entry)
        for size, suffixes in self._suffixes.items():
            if (entry := suffixes.get(text[-size:])) is not None:
                found.append(entry)
        for size, grams in self._grams.items():
            for gram in {text[i : i + size]: None for i in range(len(text) - size + 1)}:
                if (patterns := grams.get(gram)) is not None:
                    found += [entry for pattern, entry in patterns.items() if pattern in text]
        return found

    def _home(self, op: Op, pattern: str) -> dict[str, Entry] | None:
        if op is _CONTAINS:
            gram = self._gram_of.get(pattern)
            return None if gram is None else self._grams[len(gram)][gram]
        return self._ends[op].get(len(pattern))

    def _rarest_gram(self, pattern: str) -> str:
        size = min(_GRAM, len(pattern))
        used = self._grams.get(size, {})
        grams = [pattern[i : i + size] for i in range(len(pattern) - size + 1)]
        return min(grams, key=lambda gram: len(used.get(gram, ())))
