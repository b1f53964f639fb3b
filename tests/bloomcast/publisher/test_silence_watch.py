"""When nobody hears a publisher."""

from __future__ import annotations

from penstock.bloomcast.publisher.silence_watch import Silence, SilenceWatch
from penstock.bloomcast.settings import HeadSettings
from penstock.kernel.instant import SECOND

SETTINGS = HeadSettings()


def watch() -> SilenceWatch:
    found = SilenceWatch(SETTINGS)
    found.heard()
    return found


def looks(at: SilenceWatch, times: int, *, symbols: int = 16) -> list[Silence]:
    found = []
    for _ in range(times):
        at.sent(symbols)
        found.append(at.look())
    return found


def test_all_are_asked_for_ten_seconds_before_they_are_given_up() -> None:
    each = watch()
    assert looks(each, 7) == [Silence.NONE, *[Silence.ASK] * 5, Silence.NOBODY]
    assert 5 * each.interval_ns == SETTINGS.unreached_ns == 10 * SECOND


def test_one_who_answers_is_enough() -> None:
    each = watch()
    for _ in range(10):
        assert Silence.NOBODY not in looks(each, 6)
        each.heard()


def test_who_answers_and_gets_no_symbols_is_given_half_a_minute() -> None:
    each = watch()
    found = []
    while Silence.NOBODY not in found:
        found += looks(each, 1)
        each.answered()
    assert len(found) == 17
    assert 15 * each.interval_ns == SETTINGS.stuck_ns


def test_where_nothing_was_sent_nobody_has_to_answer() -> None:
    assert set(looks(watch(), 20, symbols=0)) == {Silence.NONE}


def test_few_symbols_may_all_be_lost() -> None:
    each = watch()
    assert Silence.NOBODY not in looks(each, 20, symbols=2)
    assert Silence.NOBODY in looks(each, 20, symbols=2)
