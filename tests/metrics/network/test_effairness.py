"""Effairness of runs small enough to be judged by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.kernel.instant import SECOND
from penstock.metrics.network.effairness import Effairness
from penstock.metrics.results import Results
from penstock.metrics.tally import Tally
from penstock.trace.fates import PublisherFate
from penstock.trace.records import Arrival, Edge, Expected, LinkSample, Publication, Row
from tests.metrics.measured import measure_rows, measurement_of, values_of

# A message of 100 bytes a second, 11 of them in 10 s.
BITS = 800
SENT = range(11)
TABLES = ("publications", "expected", "arrivals", "edges")


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


def keyed(results: Results) -> dict[Any, float]:
    """Values by flat name, and those of pairs by (subscriber, publisher)."""
    found: dict[Any, float] = dict(values_of(results))
    for pairs in results.pairs:
        found |= dict(zip(zip(pairs.names, pairs.peers, strict=True), pairs.values, strict=True))
    return found


def found(rows: Sequence[Row]) -> dict[Any, float]:
    return keyed(measure_rows(rows, [Effairness]))


def test_a_receiver_that_got_all_in_time_was_served_as_in_the_ideal() -> None:
    """The narrow link would have let 0.55 messages a second through: 5 in 9.09 s, not in 10."""
    edges = [Edge("p", "B", None, 0), Edge("B", "near", None, 0), Edge("B", "far", 440, 0)]
    got = [*came("p", "near", SENT), *came("p", "far", [0, 2, 4, 6, 8])]
    told = found([*edges, *sent(to=["near", "far"]), *got])
    assert told["near", "p"] == pytest.approx(1)
    assert told["far", "p"] == pytest.approx(5 / 0.55 / 10)
    assert told["effairness"] == pytest.approx((1 + 5 / 5.5) / 2)
    assert told["effairness.p"] == told["effairness"]
    assert told["effairness_judged"] == 1


def test_a_receiver_that_got_nothing_has_an_effairness_of_0() -> None:
    edges = [Edge("p", "B", None, 0), Edge("B", "s", None, 0)]
    quiet = [Edge("p", "q", None, 0), Arrival("q", "p", 0, 0, 0, 0, 1, False)]
    told = found([*edges, *quiet, *sent(to=["s"])])
    assert told["s", "p"] == 0
    # It got a message that it did not expect.
    assert ("q", "p") not in told


NARROW = [Edge("p", "B", BITS // 2, 0), Edge("B", "s", None, 0), Edge("B", "t", None, 0)]


def test_messages_that_two_receivers_expect_cross_a_link_once() -> None:
    """One message in 2 s fits, for both: three take 6 s."""
    got = [*came("p", "s", [0, 1, 2]), *came("p", "t", [0, 1, 2])]
    told = found([*NARROW, *sent(to=["s", "t"]), *got])
    assert [told["s", "p"], told["t", "p"]] == pytest.approx([0.6, 0.6])


def test_messages_that_one_receiver_expects_share_a_link_with_those_of_others() -> None:
    """`s` has it alone for the first second, `t` once `s` has its two messages, after 7 s."""
    rows = [*sent(of=SENT[::2], to=["s"]), *sent(of=SENT[1::2], to=["t"])]
    got = [*came("p", "s", [0, 2]), *came("p", "t", [1, 3])]
    told = found([*NARROW, *rows, *got])
    assert told["s", "p"] == pytest.approx(7 / 10)
    assert told["t", "p"] == pytest.approx(7 / 8)


def test_a_link_that_was_sampled_has_its_mean_rate() -> None:
    """As fast as in the first test on average: 240 bit/s, then 640."""
    edges = [Edge("p", "far", 99, 0)]
    samples = [
        LinkSample((i + 1) * SECOND, "p-far", SECOND, rate, 0, 0, 0, 0, 0, 0)
        for i, rate in enumerate([240] * 5 + [640] * 5)
    ]
    got = came("p", "far", [0, 2, 4, 6, 8])
    told = found([*edges, *samples, *sent(to=["far"]), *got])
    assert told["far", "p"] == pytest.approx(5 / 0.55 / 10)


def test_a_network_without_a_path_to_a_receiver_is_not_judged() -> None:
    rows = [Edge("p", "B", None, 0), *sent(to=["s"]), *came("p", "s", SENT)]
    assert found(rows) == {"effairness_judged": 0}


def test_a_clock_that_begins_below_zero_changes_nothing() -> None:
    edges = [Edge("p", "B", None, 0), Edge("B", "s", 440, 0)]
    rows: list[Row] = [*sent(to=["s"]), *came("p", "s", [0, 2, 4, 6, 8])]
    earlier = [_moved(row, -20 * SECOND) for row in rows]
    assert found([*edges, *rows]) == pytest.approx(found([*edges, *earlier]))


def test_a_link_with_two_capacities_is_not_judged() -> None:
    edges = [Edge("p", "s", None, 0), Edge("p", "s", 440, 0)]
    assert found([*edges, *sent(to=["s"]), *came("p", "s", SENT)]) == {"effairness_judged": 0}


def test_nothing_is_reported_without_a_service_or_without_a_table() -> None:
    rows = [Edge("p", "s", None, 0), *came("p", "s", SENT)]
    assert not keyed(measure_rows(rows, [Effairness], recorded=TABLES))
    assert not found([*sent(to=["s"]), *came("p", "s", SENT)])


def test_parts_by_subscriber_add_up() -> None:
    edges = [*NARROW, Edge("q", "B", None, 0)]
    got = [*came("p", "s", [0, 1, 2]), *came("p", "t", [0, 1]), *came("q", "t", [3])]
    rows: list[Row] = [*edges, *sent(to=["s", "t"]), *sent("q", to=["t"]), *got]
    of_t = [row for row in rows if getattr(row, "subscriber", None) == "t"]
    others = [row for row in rows if row not in of_t]
    # The parts see names in different orders.
    parts = [measurement_of(part, [Effairness], recorded=TABLES) for part in (of_t, list(others))]
    tally = Tally()
    for part in parts:
        tally.merge(*part.tallies())
    out = Results("test", Effairness.OUTPUTS)
    Effairness.report(tally, parts[0].run, out)
    assert keyed(out) == found(rows)


def _moved(row: Row, by_ns: int) -> Row:
    times = [name for name in row.__struct_fields__ if name.endswith("_ns")]
    return replace(row, **{name: getattr(row, name) + by_ns for name in times})
