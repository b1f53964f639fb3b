"""How long casts take, and what of them crosses links, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from penstock.kernel.instant import SECOND
from penstock.trace.records import (
    CastCrossing,
    CastNodeTotal,
    CastReport,
    CastTransfer,
    CastYardstick,
)
from tests.metrics.brute.run import BruteRun, share

PARTS = ("publisher", "relay", "subscriber")
REPORTS = ("needs", "done")


def measure(run: BruteRun) -> None:
    if run.rows(CastTransfer):
        completion(run, run.rows(CastTransfer))
    if run.has("cast_crossings"):
        crossings(run)
    yardsticks(run)
    if run.has("cast_reports"):
        reports(run)
    if run.has("cast_nodes"):
        nodes = run.rows(CastNodeTotal)
        run.value("cast_relays", len([r for r in nodes if r.part == "relay"]))
        run.value("cast_filters", sum(r.filters for r in nodes))


def completion(run: BruteRun, rows: list[CastTransfer]) -> None:
    began = min(r.began_ns for r in rows)
    run.value("cast_setup", (began - min(r.asked_ns for r in rows)) / SECOND)
    run.value("missed_share", fmean(share(r.missed_packets, r.sent_packets) for r in rows))
    complete = [(r.began_ns, r.completed_ns) for r in rows if r.completed_ns is not None]
    if complete:
        run.value("completion_time", fmean((end - start) / SECOND for start, end in complete))
    unfinished = [r for r in rows if r.completed_ns is None]
    run.value("cast_unfinished", len(unfinished))
    bound_s = max(r.bound_ns for r in rows) / SECOND
    run.value("cast_time_bound", bound_s)
    if not unfinished:
        time_s = (max(end for _, end in complete) - began) / SECOND
        run.value("cast_time", time_s)
        if bound_s:
            run.value("cast_time_over_bound", time_s / bound_s)
    late = [r for r in rows if r.asked_ns > r.began_ns]
    if not any(r.completed_ns is None for r in late):
        copies = [over for r in late if (over := over_copy(r)) is not None]
        if copies:
            run.value("late_over_copy", max(copies))


def over_copy(r: CastTransfer) -> float | None:
    """None for one that would need no time for a copy of what it missed."""
    if not r.sent_packets or r.ended_ns <= r.began_ns or not r.missed_packets:
        return None
    copy_ns = (r.ended_ns - r.began_ns) / r.sent_packets * r.missed_packets
    assert r.completed_ns is not None
    return max(0, r.completed_ns - r.ended_ns) / copy_ns


def crossings(run: BruteRun) -> None:
    rows = run.rows(CastCrossing)

    def crossed(*kinds: str, only_false: bool = False) -> int:
        return sum(
            r.crossed_packets for r in rows if r.kind in kinds and not (only_false and r.is_planned)
        )

    run.value("repair_crossings", crossed("repair"))
    run.value("repair_false_crossings", crossed("repair", only_false=True))
    run.value("report_crossings", crossed(*REPORTS))
    run.value("report_false_crossings", crossed(*REPORTS, only_false=True))
    for kind in REPORTS:
        run.value("report_crossings", crossed(kind), entity=kind)
    nodes = run.rows(CastNodeTotal)
    sent = sum(r.repair_packets for r in nodes) if run.has("cast_nodes") else None
    for name, amount, whole in (
        ("repairs_of_unicast", crossed("repair"), known(run, "unicast", "repair_crossings")),
        ("repairs_over_bound", crossed("repair"), known(run, "publisher_only", "repair_crossings")),
        ("needs_of_unicast", crossed("needs"), known(run, "unicast", "report_crossings")),
        ("feedback_of_unicast", crossed(*REPORTS), known(run, "unicast", "report_crossings")),
        ("repair_nodes_of_unicast", sent, known(run, "unicast", "repair_packets")),
        ("repair_nodes_over_bound", sent, known(run, "publisher_only", "repair_packets")),
    ):
        if whole and amount is not None:
            run.value(name, amount / whole)


def known(run: BruteRun, yardstick: str, column: str) -> float | None:
    """What a yardstick has in all its rows; None if none of them says."""
    rows: Iterable[CastYardstick] = run.rows(CastYardstick)
    values = [getattr(r, column) for r in rows if r.yardstick == yardstick]
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def yardsticks(run: BruteRun) -> None:
    for name, column in (
        ("yardstick_repairs", "repair_crossings"),
        ("yardstick_nodes", "repair_packets"),
        ("yardstick_feedback", "report_crossings"),
    ):
        whole = known(run, "unicast", column)
        for yardstick in {r.yardstick for r in run.rows(CastYardstick)}:
            own = known(run, yardstick, column)
            if whole and own is not None:
                run.value(name, own / whole, entity=yardstick)


def reports(run: BruteRun) -> None:
    rows = [r for r in run.rows(CastReport) if r.kind in REPORTS]
    sent = {part: [r for r in rows if (r.part, r.direction) == (part, "sent")] for part in PARTS}
    came = {
        part: [r for r in rows if (r.part, r.direction) == (part, "received")] for part in PARTS
    }
    for part in PARTS:
        run.value("reports_sent", sum(r.reported_messages for r in sent[part]), entity=part)
        run.value("reports_received", sum(r.reported_messages for r in came[part]), entity=part)
    for what in ("messages", "bytes", "packets"):
        made = sum(getattr(r, f"reported_{what}") for r in sent["subscriber"])
        left = sum(getattr(r, f"reported_{what}") for r in came["publisher"])
        if made:
            run.value("aggregation", 1 - left / made, entity=what)
