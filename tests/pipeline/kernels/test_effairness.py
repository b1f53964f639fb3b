"""Effairness of runs small enough to be judged by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.kernel.instant import SECOND
from penstock.pipeline.kernels.measure import measure
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Arrival, Edge, Expected, Publication, Row
from tests.pipeline.kernels.brute import keyed
from tests.pipeline.kernels.traces import trace

# A message of 100 bytes a second, 11 of them in 10 s.
BITS = 800
SENT = range(11)


def sent(publisher: str = "p", *, of: Sequence[int] = SENT, to: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for seq in of:
        at = seq * SECOND
        rows.append(Publication(publisher, 0, seq, at, at, 100, PublisherFate.SENT, "data"))
        rows += [Expected(publisher, 0, seq, name, at) for name in to]
    return rows


def came(publisher: str, subscriber: str, seqs: Sequence[int]) -> list[Row]:
    return [
        Arrival(subscriber, publisher, 0, seq, seq * SECOND, seq * SECOND, 1, False) for seq in seqs
    ]


def found(tmp_path: Path, rows: Sequence[Row]) -> dict[Any, float]:
    trace(*rows, duration_ns=10 * SECOND).write(tmp_path, "run")
    batches = measure(tmp_path, "run", ["effairness"]).batches()
    told = keyed(row for batch in batches for row in batch.to_pylist())
    return {which or metric: value for (_, _, metric, which), value in told.items()}


def test_who_got_all_in_time_was_served_as_in_the_ideal(tmp_path: Path) -> None:
    """The narrow way would have let 0.55 messages a second through: 5 in 9.09 s, not in 10."""
    edges = [Edge("p", "B", None, 0), Edge("B", "near", None, 0), Edge("B", "far", 440, 0)]
    got = [*came("p", "near", SENT), *came("p", "far", [0, 2, 4, 6, 8])]
    told = found(tmp_path, [*edges, *sent(to=["near", "far"]), *got])
    assert told["near", "p"] == pytest.approx(1)
    assert told["far", "p"] == pytest.approx(5 / 0.55 / 10)
    assert told["effairness"] == pytest.approx((1 + 5 / 5.5) / 2)
    assert told["effairness.p"] == told["effairness"]
    assert told["effairness_judged"] == 1


def test_who_got_nothing_has_nothing_of_the_ideal(tmp_path: Path) -> None:
    edges = [Edge("p", "B", None, 0), Edge("B", "s", None, 0)]
    quiet = [Edge("p", "q", None, 0), Arrival("q", "p", 0, 0, 0, 0, 1, False)]
    told = found(tmp_path, [*edges, *quiet, *sent(to=["s"])])
    assert told["s", "p"] == 0


NARROW = [Edge("p", "B", BITS // 2, 0), Edge("B", "s", None, 0), Edge("B", "t", None, 0)]


def test_what_two_want_alike_crosses_a_link_once(tmp_path: Path) -> None:
    """One message in 2 s fits, for both: three take 6 s."""
    got = [*came("p", "s", [0, 1, 2]), *came("p", "t", [0, 1, 2])]
    told = found(tmp_path, [*NARROW, *sent(to=["s", "t"]), *got])
    assert [told["s", "p"], told["t", "p"]] == pytest.approx([0.6, 0.6])


def test_what_two_want_apart_shares_a_link(tmp_path: Path) -> None:
    """`s` has it alone for the first second, `t` once `s` has its two messages, after 7 s."""
    rows = [*sent(of=SENT[::2], to=["s"]), *sent(of=SENT[1::2], to=["t"])]
    got = [*came("p", "s", [0, 2]), *came("p", "t", [1, 3])]
    told = found(tmp_path, [*NARROW, *rows, *got])
    assert told["s", "p"] == pytest.approx(7 / 10)
    assert told["t", "p"] == pytest.approx(7 / 8)


def test_a_network_with_no_way_to_somebody_is_not_judged(tmp_path: Path) -> None:
    rows = [Edge("p", "B", None, 0), *sent(to=["s"]), *came("p", "s", SENT)]
    assert found(tmp_path, rows) == {"effairness_judged": 0}


def test_a_clock_that_begins_below_zero_changes_nothing(tmp_path: Path) -> None:
    edges = [Edge("p", "B", None, 0), Edge("B", "s", 440, 0)]
    rows: list[Row] = [*sent(to=["s"]), *came("p", "s", [0, 2, 4, 6, 8])]
    earlier = [_moved(row, -20 * SECOND) for row in rows]
    assert found(tmp_path / "a", [*edges, *rows]) == pytest.approx(
        found(tmp_path / "b", [*edges, *earlier])
    )


def test_a_link_that_is_there_in_two_ways_is_not_judged(tmp_path: Path) -> None:
    edges = [Edge("p", "s", None, 0), Edge("p", "s", 440, 0)]
    assert found(tmp_path, [*edges, *sent(to=["s"]), *came("p", "s", SENT)]) == {
        "effairness_judged": 0
    }


def _moved(row: Row, by_ns: int) -> Row:
    times = [name for name in row.__struct_fields__ if name.endswith("_ns")]
    return replace(row, **{name: getattr(row, name) + by_ns for name in times})
