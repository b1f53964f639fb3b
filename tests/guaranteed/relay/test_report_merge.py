"""REPORTs of children become one, in time."""

from __future__ import annotations

from penstock.guaranteed.relay.report_merge import ReportMerge
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.frames.guaranteed.congestion import CongestionReport, Progress


def report(
    seq: int, *, lag: int | None = None, behind: int | None = None, host: str = "h"
) -> CongestionReport:
    normal = (
        None if lag is None else Progress(host=host, start=0, stop=9, elapsed_ns=1, over_lag_ns=lag)
    )
    recovering = None if behind is None else Progress(host=host, start=0, stop=behind, elapsed_ns=1)
    return CongestionReport(pubend=7, seq=seq, normal=normal, recovering=recovering)


def test_one_goes_up_when_all_who_were_asked_have_answered() -> None:
    merge = ReportMerge(7)
    merge.on_query(1, ["a", "b", "c"], now=0)
    merge.add("a", report(1, lag=5), now=0)
    merge.add("b", report(1, behind=40), now=1)
    assert merge.due(1) is None
    merge.add("c", report(1, lag=8, behind=30), now=2)
    assert merge.due(2) == report(1, lag=8, behind=30)
    assert merge.due(10**12) is None


def test_who_does_not_answer_is_waited_for_a_moment() -> None:
    merge = ReportMerge(7)
    merge.on_query(1, ["a", "b"], now=0)
    merge.add("a", report(1, lag=5), now=100)
    at = merge.next_wakeup()
    assert at == 100 + 60 * MILLISECOND
    assert merge.due(at - 1) is None
    assert merge.due(at) == report(1, lag=5)


def test_what_comes_late_joins_the_next_unless_it_is_too_old() -> None:
    merge = ReportMerge(7)
    merge.on_query(1, ["a", "b"], now=0)
    merge.add("a", report(1, lag=5), now=0)
    assert merge.due(60 * MILLISECOND) == report(1, lag=5)
    merge.on_query(2, ["a", "b"], now=0)
    merge.add("b", report(1, lag=9), now=0)
    assert merge.due(10**12) is None
    merge.add("a", report(2, lag=5), now=0)
    merge.add("b", report(2, lag=4), now=0)
    assert merge.due(0) == report(2, lag=9)
    for seq in range(3, 6):
        merge.on_query(seq, ["a"], now=seq * SECOND)
    merge.add("b", report(2, lag=9), now=6 * SECOND)
    merge.add("a", report(5, lag=1), now=6 * SECOND)
    assert merge.due(6 * SECOND) == report(5, lag=1)


def test_what_was_never_asked_is_not_answered() -> None:
    """Else one report with a large number would be the last one that goes up."""
    merge = ReportMerge(7)
    merge.on_query(1, ["a"], now=0)
    merge.add("a", report(1 << 63, lag=9), now=0)
    assert merge.due(0) is None
    merge.add("a", report(1, lag=1), now=0)
    assert merge.due(0) == report(1, lag=1)


def test_where_all_answers_are_late_they_go_up_all_the_same() -> None:
    merge = ReportMerge(7)
    sent = []
    for seq in range(1, 8):
        merge.on_query(seq, ["a", "b"], now=0)
        # Both answer the query before.
        if seq > 1:
            merge.add("a", report(seq - 1, lag=seq), now=seq * 250 * MILLISECOND)
            merge.add("b", report(seq - 1, lag=0), now=seq * 250 * MILLISECOND)
        due = merge.due((seq * 250 + 60) * MILLISECOND)
        sent.append(None if due is None else due.seq)
    assert sent == [None, 1, 2, 3, 4, 5, 6]


def test_a_child_that_leaves_keeps_nobody_waiting() -> None:
    merge = ReportMerge(7)
    merge.on_query(1, ["a", "b"], now=0)
    merge.add("a", report(1, lag=5), now=0)
    merge.gone("b")
    assert merge.due(0) == report(1, lag=5)


def test_a_silent_network_says_nothing() -> None:
    merge = ReportMerge(7)
    merge.on_query(1, ["a"], now=0)
    assert merge.due(10**12) is None
    assert merge.next_wakeup() is None


def test_each_kind_keeps_the_name_of_the_host_that_counts() -> None:
    merge = ReportMerge(7)
    merge.on_query(1, ["a", "b"], now=0)
    merge.add("a", report(1, lag=5, behind=30, host="near"), now=0)
    merge.add("b", report(1, lag=8, behind=40, host="far"), now=0)
    merged = merge.due(0)
    assert merged is not None
    assert merged.normal is not None
    assert merged.recovering is not None
    assert (merged.normal.host, merged.recovering.host) == ("far", "near")
