"""Which filters contain which: covering, overlap, and the few that cover all.

A filter covers another when every message that matches the other matches it
too. Answers come from comparing extents attribute by attribute, so they are
sound always, and exact for one constraint per attribute and for conjunctions of
ranges; no reasoning spans attributes. An unsatisfiable filter is covered only
by what its encoding keeps (see `implies`), so that this holds of every pair:
if g covers f, the tags of g are among the tags of f.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from penstock.content.constraint import Constraint, Op
from penstock.content.extent import Extent, collate, extents_of
from penstock.content.filter import Filter, Predicate
from penstock.content.interval import BOTTOM, TOP, Cut, after, before, prefixed
from penstock.content.value import key_of, kind_of

Interest: TypeAlias = Filter | Predicate
Extents: TypeAlias = Mapping[str, Extent]


def covers(wide: Interest, narrow: Interest) -> bool:
    """Whether every message that matches `narrow` is known to match `wide`.

    A predicate must cover each filter of the other by one of its own: what only
    two of them cover together is not found.
    """
    return all(
        any(_covers(extents_of(w), extents_of(n)) for w in _filters(wide)) for n in _filters(narrow)
    )


def overlaps(left: Interest, right: Interest) -> bool:
    """False only if it is certain that no message matches both."""
    return any(_overlaps(a, b) for a in _filters(left) for b in _filters(right))


def minimal(filters: Iterable[Filter]) -> list[Filter]:
    """The filters that no other covers, in the order given; of equivalents the first.

    A filter is dropped only while something that covers it is still there, so
    each one dropped is covered by one that stays.
    """
    alive = {f: extents_of(f) for f in filters}
    order = list(alive.items())
    shelves = _Shelves(order)
    # Backwards, because it is the later of two equivalent filters that goes.
    for narrow, extents in reversed(order):
        for wide in shelves.candidates(extents):
            if wide in alive and wide != narrow and _covers(alive[wide], extents):
                del alive[narrow]
                break
    return list(alive)


def implies(narrow: Extent, wide: Extent) -> bool:
    """Whether every value that `narrow` allows is known to be allowed by `wide`.

    A contradictory extent would imply everything. It is encoded as the bare
    presence of its attribute, so it implies what is encoded in no more than
    that: otherwise covering would not be kept by encoding.
    """
    if narrow.contradictory:
        return wide.contradictory or wide.encodes_presence_only
    if wide.contradictory:
        return False
    if narrow.absent or wide.absent:
        return narrow.absent and wide.absent
    if narrow.points is not None:
        return all(wide.holds(point) for point in narrow.points)
    if wide.points is not None:
        return False
    if wide.interval is not None and not (
        narrow.interval is not None and narrow.interval.within(wide.interval)
    ):
        return False
    return narrow.suffix.endswith(wide.suffix) and all(
        _implies_constraint(narrow, constraint) for constraint in wide.constraints
    )


def _implies_constraint(narrow: Extent, constraint: Constraint) -> bool:
    """One constraint, of those that the interval and the suffix do not settle."""
    operand: Any = constraint.operand
    match constraint.op:
        case Op.NE:
            return not narrow.holds(operand)
        case Op.CONTAINS:
            held = (narrow.suffix, narrow.common_prefix(), *narrow.contains)
            return any(operand in text for text in held)
        case Op.NOT_PREFIX:
            return (
                not (narrow.interval and narrow.interval.meets(prefixed(operand)))
                or any(operand.startswith(p) for p in narrow.operands(Op.NOT_PREFIX))
                or _excludes_part(narrow, operand)
            )
        case Op.NOT_SUFFIX:
            return (
                not (narrow.suffix.endswith(operand) or operand.endswith(narrow.suffix))
                or any(operand.endswith(s) for s in narrow.operands(Op.NOT_SUFFIX))
                or _excludes_part(narrow, operand)
            )
        case Op.NOT_CONTAINS:
            return _excludes_part(narrow, operand)
    return True


def _excludes_part(narrow: Extent, text: str) -> bool:
    return any(part in text for part in narrow.operands(Op.NOT_CONTAINS))


def _filters(interest: Interest) -> tuple[Filter, ...]:
    return interest.filters if isinstance(interest, Predicate) else (interest,)


def _covers(wide: Extents, narrow: Extents) -> bool:
    for name, extent in wide.items():
        ours = narrow.get(name)
        if ours is None or not implies(ours, extent):
            return False
    return True


def _overlaps(left: Filter, right: Filter) -> bool:
    ours, theirs = extents_of(left), extents_of(right)
    for extents in (ours, theirs):
        if any(extent.contradictory for extent in extents.values()):
            return False
    return not any(
        collate(extent.constraints + theirs[name].constraints).contradictory
        for name, extent in ours.items()
        if name in theirs
    )


class _Shelves:
    """Filters filed so that those that might cover a given one are found without looking at all.

    What covers a filter names no attribute that the filter does not. Where it
    allows only certain values the filter's own are among them, and where it
    allows an interval the filter's own lies within. So every filter is filed
    under one of its attributes, by value or by interval, the one asked for least.
    """

    def __init__(self, filters: list[tuple[Filter, Extents]]) -> None:
        asked = Counter(slot.place for _, extents in filters for slot in _lookup_slots(extents))
        filed: dict[Hashable, list[tuple[Cut, Cut, Filter]]] = {}
        for f, extents in filters:
            choices = [_filed(name, extent) for name, extent in extents.items()]
            cheapest = min(
                choices,
                key=lambda slots: sum(asked[slot.place] for slot in slots),
                default=[_Slot(None)],
            )
            for slot in cheapest:
                filed.setdefault(slot.place, []).append((slot.low, slot.high, f))
        self._shelves = {place: _Shelf(entries) for place, entries in filed.items()}

    def candidates(self, narrow: Extents) -> Iterator[Filter]:
        """Everything that might cover `narrow`, in a fixed order."""
        for slot in _lookup_slots(narrow):
            shelf = self._shelves.get(slot.place)
            if shelf is not None:
                yield from shelf.around(slot.low, slot.high)


class _Shelf:
    """The filters of one place, by where their intervals begin."""

    def __init__(self, entries: list[tuple[Cut, Cut, Filter]]) -> None:
        self._entries = sorted(entries)
        # How far any interval reaches that begins no later than this one.
        self._reach = list(accumulate((high for _, high, _ in self._entries), max))

    def around(self, low: Cut, high: Cut) -> Iterator[Filter]:
        """Those whose interval holds all between the two cuts."""
        index = bisect_right(self._entries, low, key=itemgetter(0))
        while index > 0 and self._reach[index - 1] >= high:
            index -= 1
            if self._entries[index][1] >= high:
                yield self._entries[index][2]


class _Slot(NamedTuple):
    """A place to file or to look, and the interval to file or to look for there."""

    place: Hashable
    low: Cut = BOTTOM
    high: Cut = TOP


def _filed(name: str, extent: Extent) -> list[_Slot]:
    if extent.points:
        return [_Slot(("=", name, key_of(point))) for point in extent.points]
    run = extent.interval
    if run is not None:
        return [_Slot((run.kind, name), run.low, run.high)]
    return [_Slot(("exists", name))]


def _lookup_slots(narrow: Extents) -> Iterator[_Slot]:
    yield _Slot(None)
    for name, extent in narrow.items():
        yield _Slot(("exists", name))
        if extent.points:
            # All points must be among the other's, so one will do to find it.
            point = extent.points[0]
            yield _Slot(("=", name, key_of(point)))
            yield _Slot((kind_of(point), name), before(point), after(point))
        elif extent.interval is not None:
            yield _Slot((extent.interval.kind, name), extent.interval.low, extent.interval.high)
        elif extent.contradictory:
            # An empty interval, which lies within all others.
            yield _Slot(("number", name), TOP, BOTTOM)
            yield _Slot(("string", name), TOP, BOTTOM)
