"""Ranges of missing symbols: merged, cut into reports, and served, as sets of numbers would be."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.segment.missing import Listed, Missing, exact_max
from penstock.bloomcast.segment.repair_targets import RepairTargets
from penstock.bloomcast.segment.report_parts import ReportPart, report_parts
from penstock.bloomcast.segment.round_table import RoundTable
from penstock.bloomcast.settings import HeadSettings, PublisherSettings
from penstock.kernel.interval_set import IntervalSet
from penstock.wire.frames.cast.base import NEEDS_MAX, RANGES_A_BLOCK_MAX, REPORT_PARTS_MAX
from penstock.wire.frames.cast.header import Flag
from penstock.wire.frames.cast.report import ranges_bytes
from penstock.wire.frames.cast.transfer import RepairChoice

SYMBOLS = 200
NUMBERS = st.sets(st.integers(0, SYMBOLS - 1), min_size=1, max_size=60)
BLOCKS = st.integers(0, 3)
# By end and block: a count, or the numbers of symbols that are listed or required.
SAID = st.dictionaries(
    st.tuples(st.integers(1, 4), BLOCKS),
    st.tuples(st.sampled_from(["counted", "listed", "exact"]), NUMBERS),
    max_size=10,
)


def ranges(numbers: set[int]) -> IntervalSet:
    return IntervalSet([(number, number + 1) for number in sorted(numbers)])


def numbers_in(intervals: IntervalSet) -> set[int]:
    return {number for start, stop in intervals for number in range(start, stop)}


def missing_of(said: dict[tuple[int, int], tuple[str, set[int]]], end: int) -> Missing:
    own = {block: each for (node, block), each in said.items() if node == end}
    return Missing(
        {block: len(numbers) for block, (how, numbers) in own.items() if how == "counted"},
        {
            block: Listed(ranges(numbers), len(numbers))
            for block, (how, numbers) in own.items()
            if how == "listed"
        },
        {block: ranges(numbers) for block, (how, numbers) in own.items() if how == "exact"},
    )


def parts_of(missing: Missing, child: int = 1) -> list[ReportPart]:
    return report_parts(missing, child=child, hold_100us=0, loss=0, done=0, total=1)


def table_of(said: dict[tuple[int, int], tuple[str, set[int]]]) -> RoundTable:
    table = RoundTable(blocks_max=1_024)
    table.begin(1)
    for end in range(1, 5):
        for report, flags in parts_of(missing_of(said, end), end):
            is_exact = bool(flags & Flag.EXACT)
            table.add(1, end, report, all_blocks=False, is_exact=is_exact)
    return table


def naive_merge(
    said: dict[tuple[int, int], tuple[str, set[int]]], symbols_max: int
) -> tuple[dict[int, int], dict[int, tuple[set[int], int]], dict[int, set[int]]]:
    counted, listed, exact = {}, {}, {}
    for block in range(4):
        own = [each for (_, named), each in said.items() if named == block]
        required = [numbers for how, numbers in own if how == "exact"]
        others = [(how, numbers) for how, numbers in own if how != "exact"]
        if required:
            exact[block] = set().union(*required)
        if not others:
            continue
        need = max(len(numbers) for _, numbers in others)
        union: set[int] = set().union(*[numbers for _, numbers in others])
        runs = sum(number - 1 not in union for number in union)
        can_list = all(how == "listed" for how, _ in others)
        if can_list and len(union) <= symbols_max and runs <= RANGES_A_BLOCK_MAX:
            listed[block] = (union, need)
        else:
            counted[block] = need
    return counted, listed, exact


@given(SAID, st.integers(0, SYMBOLS))
def test_ends_are_merged_by_union_while_that_fits_and_else_by_maximum(
    said: dict[tuple[int, int], tuple[str, set[int]]], symbols_max: int
) -> None:
    merged = table_of(said).missing(1, lambda _block: symbols_max)
    listed = {block: (numbers_in(each.ranges), each.need) for block, each in merged.listed.items()}
    exact = {block: numbers_in(each) for block, each in merged.exact.items()}
    assert (merged.counted, listed, exact) == naive_merge(said, symbols_max)


@given(SAID, NUMBERS)
def test_a_symbol_goes_to_those_who_list_it_and_nobody_else(
    said: dict[tuple[int, int], tuple[str, set[int]]], numbers: set[int]
) -> None:
    targets = RepairTargets(table_of(said), EndTable(HeadSettings()), PublisherSettings())
    for block in range(4):
        sent: Counter[tuple[int, int]] = Counter()
        for piece in targets.split_exact(1, block, sorted(numbers)):
            assert list(piece.numbers) == sorted(piece.numbers)
            sent.update((end, number) for end in piece.ends for number in piece.numbers)
        assert sent == {
            (end, number): 1
            for (end, named), (how, wanted) in said.items()
            if named == block and how != "counted"
            for number in wanted & numbers
        }


@given(SAID, st.sampled_from(RepairChoice))
def test_the_publisher_repairs_exactly_what_all_have_listed_if_it_is_little(
    said: dict[tuple[int, int], tuple[str, set[int]]], choice: RepairChoice
) -> None:
    targets = RepairTargets(table_of(said), EndTable(HeadSettings()), PublisherSettings())
    most = {RepairChoice.AUTO: 1, RepairChoice.EXACT: SYMBOLS, RepairChoice.CODED: 0}[choice]
    assert exact_max(SYMBOLS, choice) == most
    for block in range(4):
        exact = targets.exact(1, block, SYMBOLS, choice)
        own = [each for (_, named), each in said.items() if named == block]
        required = set().union(*[numbers for how, numbers in own if how == "exact"])
        others = [numbers for how, numbers in own if how != "exact"]
        union: set[int] = set().union(*others)
        is_listed = all(how != "counted" for how, _ in own)
        is_all = not others or (is_listed and len(union) <= most)
        assert exact.is_all == is_all
        assert numbers_in(exact.ranges) == (required | union if is_all else required)


@given(
    st.dictionaries(st.integers(0, 2_000), st.integers(1, 50), max_size=1_100),
    st.dictionaries(st.integers(2_001, 2_200), st.integers(1, 32), max_size=100),
    st.dictionaries(st.integers(2_201, 2_210), st.integers(1, 300), max_size=4),
)
def test_a_report_says_all_that_fits(
    counted: dict[int, int], listed: dict[int, int], exact: dict[int, int]
) -> None:
    every_other = {
        runs: IntervalSet([(2 * at, 2 * at + 1) for at in range(runs)]) for runs in range(301)
    }
    missing = Missing(
        counted,
        {block: Listed(every_other[runs], runs) for block, runs in listed.items()},
        {block: every_other[runs] for block, runs in exact.items()},
    )
    parts = parts_of(missing)
    assert [report.part for report, _ in parts] == [*range(len(parts))]
    assert 1 <= len(parts) == parts[0].report.parts <= REPORT_PARTS_MAX
    assert not any(report.needs and report.ranges for report, _ in parts)
    said = table_of_parts(parts).missing(1, lambda _block: 1_000)
    rows = len(counted) + len(listed)
    if rows <= NEEDS_MAX * (REPORT_PARTS_MAX // 2):
        # What does not fit as a list is counted.
        assert dict(said.counted) | {b: each.need for b, each in said.listed.items()} == {
            **counted, **listed,
        }  # fmt: skip
        assert not said.listed or said.listed == missing.listed
    for block, required in said.exact.items():
        assert numbers_in(required) <= numbers_in(missing.exact[block])
    if sum(4 * runs + 4 * (1 + runs // 32) for runs in exact.values()) < 900 * 4:
        assert said.exact == missing.exact
    assert all(ranges_bytes(report.ranges) <= 1_024 for report, _ in parts)


def table_of_parts(parts: list[ReportPart]) -> RoundTable:
    table = RoundTable(blocks_max=1_024)
    table.begin(1)
    for report, flags in parts:
        table.add(1, 1, report, all_blocks=False, is_exact=bool(flags & Flag.EXACT))
    return table


def test_a_count_outweighs_a_shorter_list_and_the_other_way_round() -> None:
    """Both are of one end and one round: a copy that is late may be older."""
    counted = Missing({0: 5})
    for need, expected in ((4, Missing({0: 5})), (7, Missing({0: 7}))):
        later = Missing(listed={0: Listed(IntervalSet([(0, need)]), need)})
        assert (
            table_of_parts(parts_of(counted) + parts_of(later)).missing(1, lambda _block: 100)
            == expected
        )
    listed = Missing(listed={0: Listed(IntervalSet([(0, 6)]), 6)})
    both = table_of_parts(parts_of(listed) + parts_of(counted))
    assert both.missing(1, lambda _block: 100) == listed
    both = table_of_parts(parts_of(listed) + parts_of(Missing({0: 9})))
    assert both.missing(1, lambda _block: 100) == Missing({0: 9})


def test_who_leaves_needs_nothing_any_more() -> None:
    said = {(1, 0): ("listed", {1}), (2, 0): ("exact", {2}), (3, 1): ("counted", {3})}
    table = table_of(said)
    assert table.blocks(1) == [0, 1]
    for end in (1, 2, 3):
        table.forget(end)
    assert table.blocks(1) == []
    assert table.missing(1, lambda _block: 100) == Missing()
