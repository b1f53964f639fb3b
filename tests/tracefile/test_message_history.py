"""What a trace tells of one message: found quickly, and judged as far as it goes, no further."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND as MS
from penstock.trace.fates import DropReason, HopDecision, PublisherFate, ReceiverFate
from penstock.trace.records import (
    Arrival,
    Delivery,
    Drop,
    Expected,
    Hop,
    Loss,
    Publication,
    Row,
)
from penstock.tracefile import writer
from penstock.tracefile.delivery_verdict import DeliveryVerdict, Outcome, judge_deliveries
from penstock.tracefile.message_history import MessageHistory, natural_order, read_history
from penstock.tracefile.message_selector import MessageSelector, find_message, open_run
from penstock.tracefile.reader import TraceReader
from tests.tracefile.histories import keep, life_of, received, without_life
from tests.tracefile.test_round_trip import record


def read(directory: Path, text: str = "p3:17") -> MessageHistory:
    reader, run = open_run(directory, None)
    return read_history(reader, run, find_message(reader, run, text))


def verdicts(directory: Path, text: str = "p3:17") -> dict[str, DeliveryVerdict]:
    judged = judge_deliveries(TraceReader(directory), read(directory, text))
    return {verdict.subscriber: verdict for verdict in judged}


def why_lost(directory: Path, name: str = "s2") -> str:
    verdict = verdicts(directory)[name]
    assert verdict.outcome is Outcome.LOST
    return verdict.text


# Finding the rows


def test_picking_finds_what_reading_all_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ROW_GROUP_ROWS", 1)
    rows: list[Row] = []
    for seq in range(3000):
        name = f"p{seq % 7}" if seq % 5 else None
        number = seq // 3 if seq % 4 else None
        rows.append(Drop(seq, "x", DropReason.LOSS, "data", 9, 1, 0, seq, name, seq % 2, number))
    record(tmp_path, rows)
    reader = TraceReader(tmp_path)
    for publisher, seq in [("p1", 5), ("p2", 999), ("p6", 400), ("p7", 1), ("p1", 5000)]:
        where: dict[str, str | int] = {"publisher": publisher, "seq": seq}
        picked = reader.select(Drop, "a", where={**where})
        assert picked == list(reader.records(Drop, "a", where=where))
    between = [row for row in rows if isinstance(row, Drop) and row.seq in range(300, 330)]
    assert reader.select(Drop, "a", where={"seq": range(300, 330)}) == between
    assert reader.names(Drop, "publisher", "a") == [f"p{i}" for i in range(7)]


def test_nothing_is_picked_from_an_empty_table(tmp_path: Path) -> None:
    record(tmp_path, [])
    assert TraceReader(tmp_path).select(Hop, "a", where={"seq": 1}) == []
    assert TraceReader(tmp_path).names(Hop, "broker", "a") == []


def test_a_damaged_file_is_named_when_picking(tmp_path: Path) -> None:
    record(tmp_path, [])
    path = tmp_path / "run=a" / "hops.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UsageError, match=r"hops\.parquet is damaged"):
        TraceReader(tmp_path).select(Hop, "a", where={"seq": 1})


def test_names_are_sorted_as_people_count() -> None:
    assert sorted(["s10", "s9", "a1b2", "s", "a1b10"], key=natural_order) == [
        "a1b2", "a1b10", "s", "s9", "s10",
    ]  # fmt: skip


def test_a_life_has_its_own_rows_and_no_others(tmp_path: Path) -> None:
    rows = [row for seq in (16, 17, 18) for row in life_of(seq)]
    life = read(keep(tmp_path, rows))
    own = life_of(17)
    assert life.message == MessageSelector("p3", 0, 17)
    assert life.publication in own
    assert life.expected == ("s1", "s2", "s3")
    assert sorted(life.hops, key=str) == sorted([r for r in own if isinstance(r, Hop)], key=str)
    assert len(life.arrivals) == len(life.deliveries) == 3
    assert life.not_recorded == []


# Verdicts


def test_all_who_got_it_have_their_delay(tmp_path: Path) -> None:
    judged = verdicts(keep(tmp_path, life_of(17)))
    assert {name: verdict.text for name, verdict in judged.items()} == {
        "s1": "delivered after 2.000 ms",
        "s2": "delivered after 4.000 ms",
        "s3": "delivered after 4.000 ms",
    }
    assert all(verdict.is_expected for verdict in judged.values())


def test_a_copy_lost_on_the_way_is_placed_by_how_others_went(tmp_path: Path) -> None:
    # Both copies of B2 end: only the neighbours' way says which one was for whom.
    rows = [*life_of(16), *life_of(17, lost_at="B2-B3"), *life_of(18)]
    rows = [
        row
        for row in rows
        if getattr(row, "seq", 0) != 17
        or (getattr(row, "broker", "") != "B4" and getattr(row, "subscriber", "") != "s3")
    ]
    rows.append(Expected("p3", 0, 17, "s3", 1700 * MS))
    rows.append(Drop(1703 * MS, "B2-B4", DropReason.QUEUE_FULL, "data", 230, 1, 0, 17, "p3", 0, 17))
    judged = verdicts(keep(tmp_path, rows))
    assert judged["s2"].text == (
        "B2 forwarded it to B3, and it was dropped at B2-B3 (loss) at 1.703000 s"
    )
    assert judged["s3"].text == (
        "B2 forwarded it to B4, and it was dropped at B2-B4 (queue_full) at 1.703000 s"
    )
    assert judged["s3"].last == "B2"
    assert judged["s3"].drop is not None
    assert judged["s3"].drop.where == "B2-B4"


def test_without_others_all_places_are_named(tmp_path: Path) -> None:
    rows = [
        row
        for row in life_of(17, lost_at="B2-B3")
        if getattr(row, "broker", "") != "B4" and not isinstance(row, Arrival | Delivery)
    ]
    assert why_lost(keep(tmp_path, rows)) == (
        "one of: B2 forwarded it to B3, and it was dropped at B2-B3 (loss) at 1.703000 s; B2"
        " forwarded it to B4, and the trace tells no more: no drop of it was recorded"
    )


def test_the_only_place_is_what_may_have_been(tmp_path: Path) -> None:
    text = why_lost(keep(tmp_path, life_of(17, lost_at="B2-B3")))
    expected = "perhaps B2 forwarded it to B3, and it was dropped at B2-B3 (loss) at 1.703000 s"
    assert text == expected


def test_a_copy_lost_on_the_last_link_or_host(tmp_path: Path) -> None:
    text = why_lost(keep(tmp_path / "link", life_of(17, lost_at="B3-s2", lost_for="down")))
    assert text == "B3 handed it over to s2, and it was dropped at B3-s2 (down) at 1.704000 s"
    rows = without_life(life_of(17), 17, "arrivals", "deliveries")
    rows.append(
        Drop(1704 * MS, "s2", DropReason.QUEUE_FULL, "data", 9, None, None, None, "p3", 0, 17)
    )
    text = why_lost(keep(tmp_path / "host", rows))
    assert text == "B3 handed it over to s2, and it was dropped at s2 (queue_full) at 1.704000 s"


def test_what_no_broker_had_was_lost_on_the_first_link(tmp_path: Path) -> None:
    rows = without_life(life_of(17), 17, "arrivals", "deliveries", "hops")
    assert why_lost(keep(tmp_path / "silent", rows)).startswith("no broker had it, and the trace")
    rows.append(Drop(1701 * MS, "p3-B1", DropReason.LOSS, "data", 9, None, None, None, "p3", 0, 17))
    text = why_lost(keep(tmp_path / "told", rows))
    assert text == "no broker had it, and it was dropped at p3-B1 (loss) at 1.701000 s"


@pytest.mark.parametrize(
    ("hop", "why"),
    [
        (
            Hop(1701 * MS, "B1", "p3", 0, 17, HopDecision.FILTERED),
            "B1 filtered it: it knew of nobody who wants it",
        ),
        (
            Hop(1701 * MS, "B1", "p3", 0, 17, HopDecision.DROPPED, None, DropReason.NO_ROUTE),
            "B1 dropped it (no_route) at 1.701000 s",
        ),
    ],
)
def test_a_decision_of_the_first_broker_is_the_end(tmp_path: Path, hop: Hop, why: str) -> None:
    rows = without_life(life_of(17), 17, "arrivals", "deliveries", "hops")
    rows += [Hop(1701 * MS, "B1", "p3", 0, 17, HopDecision.ENTERED), hop]
    assert why_lost(keep(tmp_path, [*rows, *life_of(18)])) == why


def test_the_last_broker_had_it_and_kept_it(tmp_path: Path) -> None:
    rows = [
        row
        for row in life_of(17)
        if getattr(row, "subscriber", "") != "s2" and getattr(row, "towards", "") != "s2"
    ]
    rows.append(Expected("p3", 0, 17, "s2", 1700 * MS))
    rows.append(Hop(1703 * MS, "B3", "p3", 0, 17, HopDecision.NO_MATCH, None, None, 1, 0, 17))
    text = why_lost(keep(tmp_path, [*rows, *life_of(18)]))
    assert text == "no exact filter of a client of B3 matched it"


def test_a_broker_that_made_no_copy_is_named(tmp_path: Path) -> None:
    rows = [
        row
        for row in life_of(17)
        if "B3" not in {getattr(row, "towards", ""), getattr(row, "broker", "")}
        and getattr(row, "subscriber", "") != "s2"
    ]
    rows.append(Expected("p3", 0, 17, "s2", 1700 * MS))
    text = why_lost(keep(tmp_path / "others", [*rows, *life_of(18)]))
    assert text == "B2 had it, and sent no copy to B3, the way that others went"
    text = why_lost(keep(tmp_path / "alone", rows))
    assert text == "every copy reached its broker, and none was for this receiver"


def test_a_repair_is_not_taken_for_the_original(tmp_path: Path) -> None:
    rows = life_of(17, lost_at="B2-B3")
    packet = (4, 0, 9)
    rows += [
        Hop(1750 * MS, "B4", "p3", 0, 17, HopDecision.ENTERED),
        Hop(1750 * MS, "B4", "p3", 0, 17, HopDecision.FORWARDED, "B2", None, *packet),
        Hop(1751 * MS, "B2", "p3", 0, 17, HopDecision.FORWARDED, "B3", None, *packet),
        Drop(1752 * MS, "B2-B3", DropReason.DOWN, "data", 230, *packet, "p3", 0, 17),
        Drop(1740 * MS, "B3-B2", DropReason.LOSS, "request", 40, None, None, None, "p3", 0, 17),
    ]
    assert why_lost(keep(tmp_path, rows)).endswith("dropped at B2-B3 (loss) at 1.703000 s")


def test_a_message_that_was_dropped_at_its_source_never_left(tmp_path: Path) -> None:
    rows: list[Row] = [
        Publication("p3", 0, 17, 1, 2, 210, PublisherFate.DROPPED_AT_SOURCE, "data"),
        Expected("p3", 0, 17, "s2", 2),
    ]
    assert why_lost(keep(tmp_path, rows)) == "it never left p3: dropped_at_source"


def test_a_message_that_was_only_held_back_did_leave(tmp_path: Path) -> None:
    held = Publication("p3", 0, 17, 1, 2, 210, PublisherFate.RATE_LIMITED, "data")
    rows: list[Row] = [held, Expected("p3", 0, 17, "s2", 2)]
    assert "never left" not in why_lost(keep(tmp_path, rows))


@pytest.mark.parametrize(
    ("without", "why"),
    [
        (
            ("drops",),
            "perhaps B2 forwarded it to B3; the trace has no drops table: where it was lost is",
        ),
        (("drops", "hops"), "the trace has no drops table: where it was lost is not known"),
        (("hops",), "a copy was dropped at B2-B3 (loss) at 1.703000 s"),
    ],
)
def test_what_was_not_recorded_is_not_guessed(
    tmp_path: Path, without: tuple[str, ...], why: str
) -> None:
    rows = life_of(17, lost_at="B2-B3")
    assert why_lost(keep(tmp_path, rows, without=without)).startswith(why)


def test_without_hops_or_a_drop_nothing_is_known(tmp_path: Path) -> None:
    rows = without_life(life_of(17), 17, "arrivals", "deliveries")
    text = why_lost(keep(tmp_path, rows, without=("hops",)))
    assert text == "the trace tells of no drop of it, and has no hops table"


def test_without_arrivals_and_deliveries_nobody_is_judged(tmp_path: Path) -> None:
    judged = verdicts(keep(tmp_path, life_of(17), without=("arrivals", "deliveries")))
    assert {verdict.outcome for verdict in judged.values()} == {Outcome.UNKNOWN}


def test_what_came_and_was_not_delivered(tmp_path: Path) -> None:
    rows = [row for row in life_of(17) if not isinstance(row, Delivery)]
    rows.append(
        Delivery(
            "default",
            "s2",
            "p3",
            0,
            17,
            1700 * MS,
            1704 * MS,
            None,
            None,
            ReceiverFate.DROPPED_LATE,
        )
    )
    judged = verdicts(keep(tmp_path / "late", rows))
    assert judged["s2"].outcome is judged["s3"].outcome is Outcome.ARRIVED
    assert judged["s2"].text == "arrived after 4.000 ms, but was not delivered: dropped_late"
    assert judged["s3"].text.endswith("but was not delivered: the trace gives it no fate")
    judged = verdicts(keep(tmp_path / "bare", life_of(17), without=("deliveries",)))
    assert judged["s3"].text.endswith(
        "has no deliveries table: whether it was delivered is not known"
    )


def test_orderings_that_differ_are_told_apart(tmp_path: Path) -> None:
    rows = life_of(17)
    rows.append(
        Delivery(
            "literal", "s2", "p3", 0, 17, 1700 * MS, 1704 * MS, None, 7, ReceiverFate.DROPPED_LATE
        )
    )
    judged = verdicts(keep(tmp_path, rows))
    assert judged["s2"].outcome is Outcome.DELIVERED
    assert judged["s2"].text == "dropped_late (literal); delivered after 4.000 ms (default)"


def test_who_got_it_unexpectedly_and_who_missed_what_was_not_theirs(tmp_path: Path) -> None:
    rows = [
        *life_of(17),
        *received("s8", 17, 1700 * MS, 1709 * MS),
        Loss("default", "s9", "p3", 0, 17, 1, "gap", None, "missing", None, "given_up"),  # type: ignore[arg-type]
    ]
    judged = verdicts(keep(tmp_path, rows))
    assert (judged["s8"].outcome, judged["s8"].is_expected) == (Outcome.DELIVERED, False)
    assert judged["s9"].outcome is Outcome.NOT_FOR_IT
    bare = verdicts(keep(tmp_path / "bare", rows, without=("expected",)))
    assert bare["s8"].is_expected is None


def test_what_concerns_one_leaves_the_rest_out(tmp_path: Path) -> None:
    life = read(keep(tmp_path, life_of(17, lost_at="B4-s3"))).only_for("s2")
    assert life.receivers == ["s2"]
    assert life.drops == ()
    assert {hop.towards for hop in life.hops} == {None, "B2", "B3", "B4", "s2"}
