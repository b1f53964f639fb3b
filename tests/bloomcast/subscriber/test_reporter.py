"""When a subscriber answers."""

from __future__ import annotations

from penstock.bloomcast.settings import SubscriberSettings
from penstock.bloomcast.subscriber.reporter import Question, Reporter
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.wire.frames.cast.header import Flag, Header


def end(round_: int, at: Instant, *, is_poll: bool = False) -> Question:
    flags = Flag.POLL if is_poll else Flag(0)
    header = Header(ttl=1, choice=0, links=0, flags=flags, generation=round_ - 1)
    return Question(round_, header, at, 50 * MILLISECOND)


def reporter() -> Reporter:
    return Reporter(Seeds(1), SubscriberSettings())


def test_an_answer_waits_for_a_random_time() -> None:
    waits = []
    for seed in range(30):
        each = Reporter(Seeds(seed), SubscriberSettings())
        each.asked(end(1, 1_000))
        due_at = each.next_wakeup()
        assert due_at is not None
        waits.append(due_at - 1_000)
    assert 0 < min(waits) < 2 * MILLISECOND
    assert 8 * MILLISECOND < max(waits) < 10 * MILLISECOND


def test_who_is_polled_answers_at_once() -> None:
    each = reporter()
    poll = end(1, 1_000, is_poll=True)
    each.asked(poll)
    assert each.due(1_000) is poll


def test_who_has_answered_in_vain_answers_a_poll_again() -> None:
    each = reporter()
    each.asked(end(2, 0))
    assert each.due(10 * MILLISECOND) is not None
    each.asked(end(2, 12 * MILLISECOND))
    assert each.due(12 * MILLISECOND) is None
    poll = end(2, 15 * MILLISECOND, is_poll=True)
    each.asked(poll)
    assert each.due(15 * MILLISECOND) is poll


def test_a_poll_of_an_earlier_round_is_late() -> None:
    each = reporter()
    each.asked(end(3, 0))
    each.asked(end(2, 0, is_poll=True))
    assert each.due(0) is None


def test_a_false_round_far_ahead_does_not_silence_it() -> None:
    each = reporter()
    each.asked(end(3, 0))
    each.asked(end(256, 1_000))
    each.asked(end(4, 2_000))
    question = each.due(20 * MILLISECOND)
    assert question is not None
    assert question.round == 4


def test_who_missed_many_rounds_answers_the_next() -> None:
    each = reporter()
    each.asked(end(1, 0))
    each.asked(end(90, 1_000))
    question = each.due(20 * MILLISECOND)
    assert question is not None
    assert question.round == 90
