"""Relations between filters: covering, overlap, and minimal sets.

A filter covers another if every message that matches the other matches it too. Results come from
comparing extents attribute by attribute, so they are always sound, and exact for one constraint per
attribute and for conjunctions of ranges; no reasoning spans attributes. An unsatisfiable filter is
covered only by filters whose encoding permits it (see `implies`), so that for every pair: if g
covers f, the tags of g are among the tags of f.
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

    Each filter of `narrow` must be covered by a single filter of `wide`: coverage by two of them
    together is not found.
    """
    return all(
        any(_covers(extents_of(w), extents_of(n)) for w in _filters(wide)) for n in _filters(narrow)
    )


def overlaps(left: Interest, right: Interest) -> bool:
    """False only if it is certain that no message matches both."""
    return any(_overlaps(a, b) for a in _filters(left) for b in _filters(right))


def minimal(filters: Iterable[Filter]) -> list[Filter]:
    """The filters that no other covers, in the given order; of equivalent ones the first.

    A filter is dropped only while a filter that covers it remains, so each dropped one is covered
    by one of the result.
    """
    alive = {f: extents_of(f) for f in filters}
    order = list(alive.items())
    cover_index = _CoverIndex(order)
    # Backwards, so that of two equivalent filters the later one is dropped.
    for narrow, extents in reversed(order):
        for wide in cover_index.candidates(extents):
            if wide in alive and wide != narrow and _covers(alive[wide], extents):
                del alive[narrow]
                break
    return list(alive)


def implies(narrow: Extent, wide: Extent) -> bool:
    """Whether every value that `narrow` allows is known to be allowed by `wide`.

    A contradictory extent would imply everything. It is encoded as the bare presence of its
    attribute, so it implies only extents that are encoded by no more than that: otherwise encoding
    would not preserve covering.
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
    """Whether `narrow` implies a constraint that interval and suffix do not decide."""
    operand: Any = constraint.operand
    match constraint.op:
        case Op.NE:
            return not narrow.holds(operand)
        case Op.CONTAINS:
            required = (narrow.suffix, narrow.common_prefix(), *narrow.contains)
            return any(operand in text for text in required)
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


class _CoverIndex:
    """An index of filters that finds the candidates to cover a given one.

    A filter that covers another names only attributes of that one. If it allows only certain
    values, they include the other's, and if it allows an interval, the other's lies within. So each
    filter is stored under one of its attributes, by value or by interval: the one that is looked up
    least often.
    """

    def __init__(self, filters: list[tuple[Filter, Extents]]) -> None:
        lookups = Counter(slot.key for _, extents in filters for slot in _lookup_slots(extents))
        by_key: dict[Hashable, list[tuple[Cut, Cut, Filter]]] = {}
        for f, extents in filters:
            choices = [_storage_slots(name, extent) for name, extent in extents.items()]
            cheapest = min(
                choices,
                key=lambda slots: sum(lookups[slot.key] for slot in slots),
                default=[_Slot(None)],
            )
            for slot in cheapest:
                by_key.setdefault(slot.key, []).append((slot.low, slot.high, f))
        self._lists = {key: _IntervalList(entries) for key, entries in by_key.items()}

    def candidates(self, narrow: Extents) -> Iterator[Filter]:
        """All filters that may cover `narrow`, in a fixed order."""
        for slot in _lookup_slots(narrow):
            interval_list = self._lists.get(slot.key)
            if interval_list is not None:
                yield from interval_list.around(slot.low, slot.high)


class _IntervalList:
    """The filters under one key, sorted by the start of their intervals."""

    def __init__(self, entries: list[tuple[Cut, Cut, Filter]]) -> None:
        self._entries = sorted(entries)
        # The highest end of all intervals that start no later than this one.
        self._reach = list(accumulate((high for _, high, _ in self._entries), max))

    def around(self, low: Cut, high: Cut) -> Iterator[Filter]:
        """The filters whose interval contains everything between the two cuts."""
        index = bisect_right(self._entries, low, key=itemgetter(0))
        while index > 0 and self._reach[index - 1] >= high:
            index -= 1
            if self._entries[index][1] >= high:
                yield self._entries[index][2]


class _Slot(NamedTuple):
    """A key of the index, and the interval to store or to look up there."""

    key: Hashable
    low: Cut = BOTTOM
    high: Cut = TOP


def _storage_slots(name: str, extent: Extent) -> list[_Slot]:
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
            # All points must be among the other's, so looking up one is sufficient.
            point = extent.points[0]
            yield _Slot(("=", name, key_of(point)))
            yield _Slot((kind_of(point), name), before(point), after(point))
        elif extent.interval is not None:
            yield _Slot((extent.interval.kind, name), extent.interval.low, extent.interval.high)
        elif extent.contradictory:
            # An empty interval, which lies within all others.
            yield _Slot(("number", name), TOP, BOTTOM)
            yield _Slot(("string", name), TOP, BOTTOM)
