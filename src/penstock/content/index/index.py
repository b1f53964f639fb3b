"""Which of many predicates a message matches.

Each filter waits under one of its pieces, its *pivot*: the one that, as things
stand, the fewest other filters wait under. A message makes candidates of the
filters whose pivot it satisfies, and what is left of each is checked: one by
one when there are few, in columns when there are many.

1. For each attribute of the message, look up the buckets its value falls in.
2. Few candidates in all: test the remaining constraints of each, in Python.
3. Many: describe the message once as a vector and narrow the candidates down
   by interval tests on whole arrays; verify those with a constraint that is no
   interval test.

Nothing is ever rebuilt as a whole: adding and removing touch the buckets of
one filter, so they cost the same while matching goes on.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.index.bucket import Candidates
from penstock.content.index.columns import DEPTH, FEW, Columns, Slots
from penstock.content.index.entries import Entries
from penstock.content.index.level import Level
from penstock.content.index.pieces import (
    Piece,
    Test,
    has_check,
    pieces_of,
    settles,
    telling_first,
    tests_of,
)
from penstock.content.message import Message

Id = TypeVar("Id", bound=Hashable)

# From this many candidates on, arrays are quicker than a loop (measured by `penstock bench match`).
ARRAYS_FROM: Final = 150

# What being a candidate leaves to test of a filter.
Rest: TypeAlias = tuple[Test, ...]
_is_absent: Final = Constraint("any", Op.ABSENT).test
# No attribute has an empty name, so this holds of no message.
_DEAD: Final[Rest] = (("", Constraint("any", Op.EXISTS).test, None),)


class MatchingIndex(Generic[Id]):
    """Predicates by id; `match` finds those a message satisfies."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._entries: dict[str, Entries] = {}
        self._top = Level()
        self._slots_of: dict[Id, list[int]] = {}
        self._shared_ids = 0
        # By slot:
        self._ids: list[Any] = []
        self._filters: list[Filter | None] = []
        self._paths: list[tuple[int, ...]] = []  # which pieces it waits under
        self._rests: list[Rest] = []
        self._places: list[int] = []
        self._unsure = np.zeros(1024, np.bool_)
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._slots_of)

    def __contains__(self, id_: Id) -> bool:
        return id_ in self._slots_of

    def add(self, id_: Id, predicate: Predicate) -> None:
        """Enters a predicate; an id that is known already gets the new one."""
        if id_ in self._slots_of:
            self.remove(id_)
        self._slots_of[id_] = [self._add_filter(id_, f) for f in predicate.filters]
        self._shared_ids += len(predicate.filters) > 1

    def remove(self, id_: Id) -> None:
        """Forgets a predicate; an id that is not known is a KeyError."""
        slots = self._slots_of.pop(id_)
        self._shared_ids -= len(slots) > 1
        for slot in slots:
            self._remove_filter(slot)

    def match(self, message: Message) -> list[Id]:
        """The ids of all predicates that the message matches, each once.

        Their order depends only on what was added and removed before.
        """
        found: list[Candidates] = []
        self._top.collect(message.keys, found)
        if sum(map(len, found)) < ARRAYS_FROM:
            matched: list[Id] = []
            for candidates in found:
                self._test(candidates.slots, message, matched)
        else:
            matched = self._match_many(message, found)
        return list(dict.fromkeys(matched)) if self._shared_ids else matched

    def _match_many(self, message: Message, found: list[Candidates]) -> list[Id]:
        slots = self._narrow(message, found)
        if len(slots) <= FEW:
            matched: list[Id] = []
            self._test(slots.tolist(), message, matched)
            return matched
        unsure = self._unsure.take(slots)
        matched = [self._ids[slot] for slot in slots[~unsure].tolist()]
        self._test(slots[unsure].tolist(), message, matched)
        return matched

    def _test(self, slots: list[int], message: Message, matched: list[Id]) -> None:
        """Adds the ids of those whose remaining constraints hold."""
        rests, get = self._rests, message.attributes.get
        for slot in slots:
            for name, test, operand in rests[slot]:
                value = get(name)
                if value is None:
                    if test is not _is_absent:
                        break
                elif not test(value, operand):
                    break
            else:
                matched.append(self._ids[slot])

    def _narrow(self, message: Message, found: list[Candidates]) -> Slots:
        """The candidates whose column checks hold; if only few are left, not all were made."""
        arrays: list[Slots] = []
        loose: list[int] = []
        for candidates in found:
            candidates.gather(arrays, loose)
        if loose:
            arrays.append(np.array(loose, np.int32))
        columns: list[int] = []
        values: list[Any] = []
        for name, key in message.keys.items():
            if (entries := self._entries.get(name)) is not None:
                entries.describe(key, columns, values)
        return self._columns.select(np.concatenate(arrays), columns, values)

    # Filing ---------------------------------------------------------------------------------

    def _add_filter(self, id_: Id, f: Filter) -> int:
        slot = self._take_slot()
        pieces = pieces_of(f)
        path, self._places[slot] = self._top.file(pieces, slot)
        rest = _left_to_check(pieces, path)
        checked = _checked(rest)
        self._columns.put(slot, [self._entries_of(piece).check_for(piece) for piece in checked])
        self._unsure[slot] = len(checked) < len(rest)
        self._ids[slot] = id_
        self._filters[slot] = f
        self._paths[slot] = tuple(pieces.index(piece) for piece in path)
        self._rests[slot] = tuple(test for piece in rest for test in tests_of(piece))
        return slot

    def _remove_filter(self, slot: int) -> None:
        f = self._filters[slot]
        assert f is not None
        pieces = pieces_of(f)
        path = [pieces[i] for i in self._paths[slot]]
        self._ids[slot] = None
        self._filters[slot] = None
        self._rests[slot] = _DEAD
        self._columns.kill(slot)
        for piece in _checked(_left_to_check(pieces, path)):
            self._release(piece)
        for gone in self._top.withdraw(path, self._is_dead):
            self._places[gone] -= 1
            if not self._places[gone]:
                self._free.append(gone)

    def _is_dead(self, slot: int) -> bool:
        return self._filters[slot] is None

    def _entries_of(self, piece: Piece) -> Entries:
        entries = self._entries.get(piece.attribute)
        if entries is None:
            entries = self._entries[piece.attribute] = Entries(self._columns)
        return entries

    def _release(self, piece: Piece) -> None:
        entries = self._entries[piece.attribute]
        entries.release(piece)
        if not entries.checks:
            self._columns.free_columns(entries.columns())
            del self._entries[piece.attribute]

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = len(self._ids)
        self._ids.append(None)
        self._filters.append(None)
        self._paths.append(())
        self._rests.append(_DEAD)
        self._places.append(0)
        if slot == len(self._unsure):
            self._unsure = np.concatenate([self._unsure, np.zeros_like(self._unsure)])
        return slot


def _left_to_check(pieces: list[Piece], path: list[Piece]) -> list[Piece]:
    """What being a candidate does not settle, the most telling first."""
    settled = [piece for piece in path if settles(piece)]
    return telling_first(piece for piece in pieces if piece not in settled)


def _checked(rest: list[Piece]) -> list[Piece]:
    """Those of the rest that the columns decide."""
    return [piece for piece in rest if has_check(piece)][:DEPTH]
