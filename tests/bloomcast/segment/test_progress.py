"""Who answers, and gets nothing."""

from __future__ import annotations

from penstock.bloomcast.segment.progress import Progress
from penstock.bloomcast.settings import HeadSettings
from penstock.kernel.instant import SECOND, Instant
from penstock.wire.frames.cast.header import Flag, Header
from penstock.wire.frames.cast.report import BlockNeed, Report

SETTINGS = HeadSettings()
COUNTS = (0, 1)
NO_FLAGS = Flag(0)


def after(
    generations: int, *, every_ns: int = 2 * SECOND, shrinks: bool = False
) -> tuple[Progress, Instant]:
    progress, now = Progress(), 0
    for number in range(generations):
        now += every_ns
        progress.note({0: 100 - number if shrinks else 100, 1: 7}, COUNTS, now)
    return progress, now


def has_ceased(progress: Progress, now: Instant, *, is_relay: bool = False) -> bool:
    return progress.has_ceased(SETTINGS, now, is_relay=is_relay)


def test_who_needs_as_much_after_twenty_generations_is_stuck() -> None:
    assert not has_ceased(*after(20))
    assert has_ceased(*after(21))


def test_twenty_short_generations_are_not_enough() -> None:
    assert not has_ceased(*after(200, every_ns=SECOND // 10))
    assert has_ceased(*after(302, every_ns=SECOND // 10))


def test_who_needs_less_each_time_is_not_stuck() -> None:
    assert not has_ceased(*after(90, shrinks=True))


def test_one_that_began_anew_needs_more_and_is_measured_by_that() -> None:
    progress, now = after(15)
    for need in range(1_000, 900, -1):
        now += 2 * SECOND
        progress.note({0: need}, COUNTS, now)
        assert not has_ceased(progress, now)


def test_a_relay_is_given_time_to_give_up_its_own() -> None:
    assert not has_ceased(*after(40), is_relay=True)
    assert has_ceased(*after(41), is_relay=True)
    progress, now = after(40)
    progress.note({0: 100, 1: 7}, (1, 2), now)
    assert not has_ceased(progress, now, is_relay=True)


def test_one_who_was_given_up_shows_that_it_needs_less() -> None:
    progress, _now = after(21)
    assert not shows(progress, 100, 7)
    assert shows(progress, 99, 7)
    assert shows(progress, 100)
    assert not shows(progress, flags=Flag.OPENING | Flag.ALL)
    assert shows(progress, done=1)


def shows(progress: Progress, *needs: int, done: int = 0, flags: Flag = NO_FLAGS) -> bool:
    report = Report(
        child=1,
        part=0,
        parts=1,
        hold_100us=0,
        loss=0,
        done=done,
        total=1,
        failed=(),
        needs=tuple(BlockNeed(block, need) for block, need in enumerate(needs)),
        ranges=(),
    )
    return progress.shows(Header(ttl=1, choice=0, links=0, flags=flags), report)
