"""Reader 0 through a recovery, with a relay whose every answer is chosen by the test."""

from __future__ import annotations

import pytest

from penstock.content.syntax import parse
from penstock.guaranteed.settings import CongestionSettings
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.wire.frames.guaranteed.congestion import CongestionReport, Live
from penstock.wire.frames.guaranteed.requests import Nack, ReaderRequest

from .fake_relay import FakeRelay, Subscriber

SOME = parse("k = 1")
OUTAGE_MS = 20_000


def out_of_touch(congestion: CongestionSettings | None = None) -> tuple[FakeRelay, Subscriber]:
    """A host that has read for a second, and whose link comes back after a long time."""
    relay = FakeRelay(congestion)
    subscriber = Subscriber(relay, SOME, 0)
    relay.answer()
    relay.run(1_000)
    relay.cut()
    relay.run(OUTAGE_MS)
    relay.mend()
    return relay, subscriber


def recover(relay: FakeRelay, *, steps: int = 1_000) -> None:
    """Answers take 20 ms each; the stream goes on."""
    for _ in range(steps):
        assert relay.reading.live is not None
        if not relay.answer() and relay.reading.is_idle:
            return
        relay.run(20)
    raise AssertionError(f"{relay.to_go_ms} ms are left")


def recovers(relay: FakeRelay) -> bool:
    return relay.reading.is_recovering


def lives(relay: FakeRelay) -> list[bool]:
    return [frame.is_on for frame in relay.all_asked(Live)]


def test_a_host_that_is_far_behind_recovers_and_leaves_nothing_behind() -> None:
    """20 s are missing, more than the receive window of 10 s."""
    relay, subscriber = out_of_touch()
    assert recovers(relay)
    # Repairs in a name of its own, of a first window; and nothing new by the link.
    reader_request, nack, live = (
        relay.all_asked(ReaderRequest)[-1],
        relay.all_asked(Nack)[-1],
        relay.all_asked(Live)[-1],
    )
    assert reader_request.predicate == SOME
    assert nack.reader == reader_request.reader
    assert [stop - start for start, stop in nack.ranges] == [100 << 20]
    assert not live.is_on
    recover(relay)
    assert not recovers(relay)
    assert subscriber.got == relay.ticks(SOME)
    assert lives(relay) == [False, True]
    assert relay.all_asked(ReaderRequest)[-1].predicate is None
    assert relay.reading.window_ms == 100
    # What comes now needs no repair.
    nacks = len(relay.all_asked(Nack))
    relay.run(1_000)
    assert len(relay.all_asked(Nack)) == nacks
    assert subscriber.got == relay.ticks(SOME)


def test_the_window_opens_in_a_recovery_and_live_is_on_before_its_end() -> None:
    relay, _ = out_of_touch()
    windows, on_at = [], None
    while recovers(relay):
        relay.run(20)
        relay.answer()
        windows.append(relay.reading.window_ms)
        if on_at is None and lives(relay)[-1]:
            on_at = relay.to_go_ms
    assert max(windows) > 1_000
    assert on_at is not None
    assert 1_000 < on_at < 8_000


def test_live_is_off_to_the_end_of_a_recovery_that_ends_at_once() -> None:
    """The window takes all that is left: LIVE goes on again with the end itself."""
    relay, subscriber = out_of_touch(CongestionSettings(window_law="none"))
    assert lives(relay) == [False]
    relay.answer()
    relay.answer()
    relay.answer()
    assert lives(relay) == [False, True]
    recover(relay)
    assert subscriber.got == relay.ticks(SOME)


def test_what_is_published_while_live_is_off_is_asked_for() -> None:
    relay, subscriber = out_of_touch()
    relay.take()
    relay.run(3_000)
    assert relay.to_go_ms == pytest.approx(OUTAGE_MS + 3_000, abs=200)
    recover(relay)
    assert subscriber.got == relay.ticks(SOME)


def test_a_query_is_no_evidence_of_a_gap() -> None:
    """What the pubend has said since may be on its way."""
    relay = FakeRelay()
    Subscriber(relay, SOME, 0)
    relay.answer()
    relay.run(1_000)
    relay.is_up = False
    relay.run(30_000)
    asked = len(relay.asked)
    relay.query()
    assert relay.asked[asked:] == []
    relay.run(25)
    relay.wake()
    assert [type(frame) for frame in relay.asked[asked:]] == [CongestionReport]
    assert not recovers(relay)
    [report] = relay.all_asked(CongestionReport)
    assert report.normal is not None
    assert report.normal.over_lag_ns == 0


def test_a_host_does_not_lag_that_hears_soon_what_a_query_speaks_of() -> None:
    relay = FakeRelay()
    Subscriber(relay, SOME, 0)
    relay.answer()
    for wait_ms in (2, 2, 12, 12):
        relay.run(980)
        relay.is_up = False
        relay.run(20)
        relay.query()
        relay.ms += wait_ms
        relay.say()
        relay.is_up = True
    over_ms = [
        report.normal.over_lag_ns // 1_000_000
        for report in relay.all_asked(CongestionReport)
        if report.normal is not None
    ]
    assert over_ms == [0, 0, 10, 10]


def test_a_recovery_ends_near_the_newest_tick_that_a_query_has_told_of() -> None:
    relay, _ = out_of_touch()
    relay.take()
    # The link says nothing more, but the pubend goes on.
    relay.is_up = False
    relay.run(5_000)
    relay.query()
    relay.is_up = True
    answers = 0
    while relay.answer():
        answers += 1
    assert recovers(relay)
    assert relay.to_go_ms == pytest.approx(5_000)
    assert answers
    relay.say()
    recover(relay)


def test_new_messages_beyond_the_window_begin_a_recovery_until_none_was_ignored_for_a_while() -> (
    None
):
    """A short gap that nobody repairs, and a link that goes on."""
    relay = FakeRelay(CongestionSettings(live=False))
    subscriber = Subscriber(relay, EVERYTHING, 0)
    relay.answer()
    relay.run(1_000)
    relay.cut()
    relay.run(1_000)
    relay.mend()
    relay.run(8_900)
    assert not recovers(relay)
    relay.run(600)
    assert recovers(relay)
    ignored_at = relay.ms
    while relay.to_go_ms:
        relay.answer()
    assert recovers(relay)
    while recovers(relay):
        relay.answer()
        relay.run(20)
    assert relay.ms - ignored_at == pytest.approx(2_000, abs=40)
    recover(relay)
    assert subscriber.got == relay.ticks(EVERYTHING)


def test_a_link_that_is_lost_in_a_recovery_has_live_on_again_and_off_once_it_has_spoken() -> None:
    relay, subscriber = out_of_touch()
    relay.take()
    relay.cut()
    assert lives(relay) == [False, True]
    # Answers of the relay at this broker say nothing of the link.
    relay.reading.wake(now=relay.now)
    assert lives(relay) == [False, True]
    relay.run(2_000)
    relay.mend()
    assert lives(relay) == [False, True, False]
    recover(relay)
    assert lives(relay) == [False, True, False, True]
    assert subscriber.got == relay.ticks(SOME)


def test_who_comes_in_a_recovery_misses_nothing() -> None:
    """Answers are on their way that leave out what it wants."""
    relay, subscriber = out_of_touch()
    under_way = relay.take()
    assert under_way
    named = len(relay.all_asked(ReaderRequest))
    newcomer = Subscriber(relay, EVERYTHING, relay.ms)
    old, closed, new = relay.all_asked(ReaderRequest)[named - 1 : named + 2]
    assert old.reader == closed.reader != new.reader
    assert (closed.predicate, new.predicate) == (None, EVERYTHING)
    doubt = relay.reading.doubts()[0]
    for run in under_way:
        relay.reading.receive(run, now=relay.now)
    # Nobody listens to the old name any more.
    assert relay.reading.doubts()[0] == doubt
    joined_ms = relay.ms
    recover(relay)
    assert subscriber.got == relay.ticks(SOME)
    assert newcomer.got == relay.ticks(EVERYTHING, joined_ms)


def test_an_answer_that_goes_further_than_asked_for_holds_for_nobody_who_came_since() -> None:
    """The pubend tells a reader all that it finds; the link is behind with what it grants."""
    relay, subscriber = out_of_touch()
    horizon_ms = relay.ms
    # The pubend is ahead of the link by a second.
    relay.is_up = False
    relay.run(1_000)
    relay.is_up = True
    [run] = relay.take()[:1]
    run.stop = relay.horizon
    run.items = [item for item in relay._items if run.start <= item.tick and item.matches(SOME)]
    relay.reading.receive(run, now=relay.now)
    relay.ms, ms = horizon_ms, relay.ms
    newcomer = Subscriber(relay, EVERYTHING, horizon_ms)
    relay.take()
    relay.ms = ms
    recover(relay)
    assert subscriber.got == relay.ticks(SOME)
    assert newcomer.got == relay.ticks(EVERYTHING, horizon_ms)


def test_a_pubend_that_has_forgotten_the_name_is_told_again() -> None:
    relay, subscriber = out_of_touch()
    relay.take_none()
    # The request is repeated, and answered with what the pubend does not know.
    relay.run(600)
    before = relay.all_asked(ReaderRequest)
    relay.answer()
    assert relay.all_asked(ReaderRequest) == [*before, before[-1]]
    recover(relay)
    assert subscriber.got == relay.ticks(SOME)


def test_both_can_be_left_out() -> None:
    relay, subscriber = out_of_touch(CongestionSettings(live=False, filtered_repair=False))
    recover(relay)
    assert not relay.all_asked(Live)
    assert not relay.all_asked(ReaderRequest)
    assert subscriber.got == relay.ticks(SOME)


def test_the_rate_of_a_recovery_begins_where_it_has_to_be_with_the_corrected_law() -> None:
    rates = {}
    for law in ("literal", "corrected", "model"):
        relay, _ = out_of_touch(CongestionSettings(rate_law=law))
        relay.query()
        rates[law] = relay.reading.dh_rate
    assert rates["corrected"] == 2.0
    assert rates["model"] == pytest.approx(1, abs=0.01)
    # To the paper a link that is down is a slow one.
    assert rates["literal"] == pytest.approx(0.9**20, abs=0.01)
