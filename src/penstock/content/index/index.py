"""Finds the predicates that a message matches.

Each filter is stored under one of its pieces, its *pivot*: the one that currently holds the fewest
other filters. A message makes candidates of the filters whose pivot it satisfies, and the rest of
each candidate is checked: one by one when there are few, in columns when there are many.

1. For each attribute of the message, look up the buckets of its value.
2. With few candidates: test the remaining constraints of each, in Python.
3. With many: describe the message once as a vector and narrow the candidates down by interval tests
   on whole arrays; verify those with a constraint that is not an interval test.

Nothing is ever rebuilt as a whole: adding and removing change the buckets of one filter, so they
cost the same while matching goes on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter, Predicate
from penstock.content.index.columns import DEPTH, Columns
from penstock.content.index.entries import Entries
from penstock.content.index.level import Level
from penstock.content.index.narrow import best_narrow, narrow_arrays
from penstock.content.index.pieces import (
    Piece,
    Test,
    has_check,
    pieces_of,
    settles,
    tests_of,
)
from penstock.content.index.pool import Pool, Slots, Spans
from penstock.content.index.small_index import SmallIndex
from penstock.content.message import Message
from penstock.content.value import shorten
from penstock.kernel.errors import UsageError

Id = TypeVar("Id", bound=Hashable)

# Up to this number of filters, a `SmallIndex` is faster than the lookup below.
SCAN_UPTO: Final = 16
# From this number of candidates on, columns are faster than a loop: compiled, and in numpy.
COMPILED_FROM: Final = 24
ARRAYS_FROM: Final = 150

Tests: TypeAlias = tuple[Test, ...]
_is_absent: Final = Constraint("any", Op.ABSENT).test
# No attribute has an empty name, so this never holds.
_DEAD: Final[Tests] = (("", Constraint("any", Op.EXISTS).test, None),)


class MatchingIndex(Generic[Id]):
    """Predicates by id; `match` finds those a message satisfies."""

    def __init__(self) -> None:
        narrow = best_narrow()
        self._columns = Columns(narrow)
        self._columns_from = ARRAYS_FROM if narrow is narrow_arrays else COMPILED_FROM
        self._entries: dict[str, Entries] = {}
        self._pool = Pool()
        self._top = Level(self._pool)
        self._slots_of: dict[Id, list[int]] = {}
        self._shared_ids = 0
        # While there are few: None if it is to be built, and the order of their ids.
        self._small: SmallIndex[Id] | None = None
        self._ranks: dict[Id, int] = {}
        # By slot:
        self._ids: list[Any] = []
        self._filters: list[Filter | None] = []
        self._paths: list[tuple[int, ...]] = []  # the pieces it is stored under
        self._rests: list[Tests | None] = []  # what being a candidate does not prove; see _rest_of
        self._unchecked: list[Tests] = []  # what the columns do not decide either
        self._places: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._slots_of)

    def __contains__(self, id_: Id) -> bool:
        return id_ in self._slots_of

    def add(self, id_: Id, predicate: Predicate) -> None:
        """Adds a predicate; a known id gets the new one."""
        if not isinstance(predicate, Predicate):
            raise UsageError(f"an interest must be a Predicate, not {shorten(predicate)}: parse it")
        if id_ in self._slots_of:
            self.remove(id_)
        self._slots_of[id_] = [self._add_filter(id_, f) for f in predicate.filters]
        self._shared_ids += len(predicate.filters) > 1

    def remove(self, id_: Id) -> None:
        """Removes a predicate; raises KeyError for an unknown id."""
        slots = self._slots_of.pop(id_)
        self._shared_ids -= len(slots) > 1
        for slot in slots:
            self._remove_filter(slot)

    def match(self, message: Message) -> list[Id]:
        """The ids of all predicates that the message matches, each once.

        Their order depends only on what was added and removed before.
        """
        if type(message) is not Message:
            raise UsageError(f"only a Message can be matched, not {shorten(message)}")
        if len(self._ids) - len(self._free) <= SCAN_UPTO:
            return self._match_few(message)
        spans: Spans = []
        self._top.collect(message.keys, spans)
        matched: list[Id] = []
        if sum(spans[1::2]) < self._columns_from:
            listed = self._pool.listed
            slots: list[int] = []
            for i in range(0, len(spans), 2):
                slots += listed[spans[i] : spans[i] + spans[i + 1]]
            self._test(slots, self._rests, message, matched)
        else:
            sure, unsure = self._narrow(message, spans)
            ids = self._ids
            matched += [ids[slot] for slot in sure.tolist()]
            self._test(unsure.tolist(), self._unchecked, message, matched)
        return list(dict.fromkeys(matched)) if self._shared_ids else matched

    def _match_few(self, message: Message) -> list[Id]:
        """In the order in which they were added."""
        small = self._small
        if small is None:
            self._ranks = {id_: rank for rank, id_ in enumerate(self._slots_of)}
            small = self._small = SmallIndex(
                (id_, self._filters[slot])  # type: ignore[misc]
                for id_, slots in self._slots_of.items()
                for slot in slots
            )
        matched = small.match(message)
        if len(matched) > 1:
            matched = sorted(dict.fromkeys(matched), key=self._ranks.__getitem__)
        return matched

    def _test(
        self, slots: list[int], tests: Sequence[Tests | None], message: Message, matched: list[Id]
    ) -> None:
        """Adds the ids of the slots whose tests all hold."""
        get, ids = message.attributes.get, self._ids
        for slot in slots:
            rest = tests[slot]
            if rest is None:
                rest = self._rest_of(slot)
            for name, test, operand in rest:
                value = get(name)
                if value is None:
                    if test is not _is_absent:
                        break
                elif not test(value, operand):
                    break
            else:
                matched.append(ids[slot])

    def _rest_of(self, slot: int) -> Tests:
        """Computed on first use: a large index rarely needs it."""
        pieces = pieces_of(self._filters[slot])  # type: ignore[arg-type]
        path = [pieces[i] for i in self._paths[slot]]
        rest = self._rests[slot] = _tests(_left_to_check(pieces, path))
        return rest

    def _narrow(self, message: Message, spans: Spans) -> tuple[Slots, Slots]:
        """The candidates whose column checks hold: those that match, and those that may."""
        columns: list[int] = []
        values: list[Any] = []
        for name, key in message.keys.items():
            if (entries := self._entries.get(name)) is not None:
                entries.describe(key, columns, values)
        return self._columns.select(self._pool.array, spans, columns, values)

    # Storing filters ------------------------------------------------------------------------

    def _add_filter(self, id_: Id, f: Filter) -> int:
        self._small = None
        slot = self._take_slot()
        pieces = pieces_of(f)
        path, self._places[slot] = self._top.file(pieces, slot)
        rest = _left_to_check(pieces, path)
        checked, others = _split(rest)
        checks = [self._entries_of(piece).check_for(piece) for piece in checked]
        self._columns.put(slot, checks, unsure=bool(others))
        self._ids[slot] = id_
        self._filters[slot] = f
        self._paths[slot] = tuple([pieces.index(piece) for piece in path])
        self._rests[slot] = None
        self._unchecked[slot] = _tests(others)
        return slot

    def _remove_filter(self, slot: int) -> None:
        self._small = None
        f = self._filters[slot]
        assert f is not None
        pieces = pieces_of(f)
        path = [pieces[i] for i in self._paths[slot]]
        self._ids[slot] = None
        self._filters[slot] = None
        self._rests[slot] = _DEAD
        self._unchecked[slot] = _DEAD
        self._columns.kill(slot)
        checked, _others = _split(_left_to_check(pieces, path))
        for piece in checked:
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
        self._unchecked.append(_DEAD)
        self._places.append(0)
        return slot


def _left_to_check(pieces: list[Piece], path: list[Piece]) -> list[Piece]:
    """The pieces that being a candidate does not prove, in the same order."""
    settled = [id(piece) for piece in path if settles(piece)]
    return [piece for piece in pieces if id(piece) not in settled]


def _split(rest: list[Piece]) -> tuple[list[Piece], list[Piece]]:
    """The pieces that the columns decide, and the others."""
    checked: list[Piece] = []
    others: list[Piece] = []
    for piece in rest:
        (checked if len(checked) < DEPTH and has_check(piece) else others).append(piece)
    return checked, others


def _tests(pieces: list[Piece]) -> Tests:
    return tuple([test for piece in pieces for test in tests_of(piece)])
