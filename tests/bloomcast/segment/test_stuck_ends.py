"""Ends that answer and need as much as ever, at the head of a segment."""

from __future__ import annotations

from penstock.bloomcast.outbox import Outbox
from penstock.bloomcast.segment.head_plan import HeadPlan, HeadSegment
from penstock.bloomcast.segment.segment_head import SegmentHead
from penstock.bloomcast.settings import CastSettings
from penstock.kernel.instant import SECOND, Instant
from penstock.wire.frames.cast.base import Item
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.plan import SegmentFilter
from penstock.wire.frames.cast.report import BlockNeed, Report

SEGMENT = 1
GOOD, BAD = 7, 8


def new_head() -> SegmentHead:
    head = SegmentHead(
        Outbox(1, 1), Item(1, 2), settings=CastSettings(), forward=lambda _packet: None
    )
    segment = SegmentFilter(
        segment=SEGMENT, plan=1, choice=0, links=3, depth=1, up_choice=0, up_links=1
    )
    head.apply(HeadPlan(1, 1, {SEGMENT: HeadSegment(segment, {GOOD: 1, BAD: 2})}))
    head.symbols_of = lambda _block: 100
    return head


def says(head: SegmentHead, child: int, round_: int, now: Instant, need: int) -> bool:
    report = Report(
        child=child,
        part=0,
        parts=1,
        hold_100us=0,
        loss=0,
        done=int(not need),
        total=1,
        failed=(),
        needs=(BlockNeed(0, need),) if need else (),
        ranges=(),
    )
    header = Header(ttl=1, choice=0, links=0, segment=SEGMENT, generation=round_ - 1)
    return head.on_report(header, report, now)


def test_one_is_given_up_and_taken_back_when_it_needs_less() -> None:
    head, now, round_ = new_head(), 0, 0
    question = head.questions.opening
    while not head.ends.failed:
        round_, now = round_ + 1, now + 2 * SECOND
        question.open_round(round_, 0, now)
        says(head, GOOD, round_, now, 100 - round_)
        says(head, BAD, round_, now, 100)
        question.note_silence(round_, now)
    assert (round_, list(head.ends.failed)) == (21, [BAD])
    question.open_round(22, 0, now)
    assert not says(head, BAD, 22, now, 100)
    assert list(head.ends.failed) == [BAD]
    assert says(head, BAD, 22, now, 60)
    assert not head.ends.failed
    assert {end.node for end in head.ends} == {GOOD, BAD}
