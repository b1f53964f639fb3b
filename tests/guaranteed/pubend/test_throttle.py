"""A pubend asks hosts how they are, and slows publishers down as a law says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.guaranteed.pubend.throttle import Throttle
from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.rate.literal import LiteralRate
from penstock.guaranteed.rate.model import ModelRate
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Progress,
)

STEP = 10 * MILLISECOND


def queries(throttle: Throttle, start: int, stop: int) -> list[int]:
    """When hosts are asked."""
    found = []
    for now in range(start, stop, STEP):
        query = throttle.wake(now, now=now)
        if query is not None:
            assert isinstance(query, CongestionQuery)
            found.append(now)
    return found


def published(throttle: Throttle, per_s: int, seconds: int) -> None:
    for number in range(per_s * seconds):
        throttle.arrived("p", 1, now=number * SECOND // per_s)


def test_hosts_are_asked_once_a_second_and_more_often_while_publishers_are_slowed_down() -> None:
    throttle = Throttle(7, ModelRate(RateSettings()), quickens=True, start=0, now=0)
    published(throttle, 100, 2)
    assert len(queries(throttle, 0, 2 * SECOND)) == 2
    slow = Progress(host="h", start=0, stop=1, elapsed_ns=SECOND, over_lag_ns=2 * SECOND)
    throttle.on_report(CongestionReport(pubend=7, seq=2, normal=slow), now=2 * SECOND)
    assert throttle.rate == 25
    assert throttle.limited_by == "h"
    assert len(queries(throttle, 2 * SECOND, 4 * SECOND)) == 8


def test_the_paper_asks_at_one_pace() -> None:
    throttle = Throttle(7, LiteralRate(RateSettings()), quickens=False, start=0, now=0)
    published(throttle, 100, 2)
    throttle.on_alert(CongestionAlert(pubend=7, seq=1, normal_rate=0.5), now=2 * SECOND)
    assert throttle.rate == 50
    # Alerts have no names.
    assert throttle.limited_by is None
    assert len(queries(throttle, 0, 10 * SECOND)) == 10


def test_without_a_law_hosts_hear_where_the_pubend_is_and_nobody_waits() -> None:
    throttle = Throttle(7, None, quickens=False, start=0, now=0)
    throttle.on_alert(CongestionAlert(pubend=7, seq=1, normal_rate=0.5), now=0)
    assert throttle.rate is None
    assert throttle.may_take(0)
    assert len(queries(throttle, 0, 3 * SECOND)) == 3


def test_messages_are_taken_at_the_rate_of_the_law() -> None:
    throttle = Throttle(7, LiteralRate(RateSettings()), quickens=False, start=0, now=0)
    published(throttle, 100, 2)
    throttle.on_alert(CongestionAlert(pubend=7, seq=1, normal_rate=0.5), now=2 * SECOND)
    taken = 0
    for now in range(2 * SECOND, 3 * SECOND, MILLISECOND):
        while throttle.may_take(now):
            taken += 1
        assert throttle.ready_at(now) > now
    assert 49 <= taken <= 51
    assert throttle.throttled_ns(3 * SECOND) == SECOND


class GivenRate:
    """A law that allows what a test says."""

    rate: float | None = None
    limited_by = None

    def on_query(self, seq: int, newest: int) -> None: ...
    def on_alert(self, *_args: object, **_kwargs: object) -> None: ...
    def on_report(self, *_args: object, **_kwargs: object) -> None: ...
    def wake(self, *_args: object, **_kwargs: object) -> None: ...


def test_time_in_which_more_may_be_published_than_is_wanted_does_not_count_as_slowed_down() -> None:
    law = GivenRate()
    throttle = Throttle(7, law, quickens=True, start=0, now=0)
    published(throttle, 125, 2)
    throttle.wait("p", True, now=2 * SECOND)
    # What is wanted is 125 a second.
    for second, law.rate in ((2, 31.0), (3, 62.0), (4, 136.0), (7, 31.0), (8, 136.0), (9, None)):
        queries(throttle, second * SECOND, (second + 1) * SECOND)
    assert throttle.throttled_ns(10 * SECOND) == 3 * SECOND


@given(messages=st.integers(1, 300), elapsed_ns=st.integers(SECOND, 2 * SECOND))
def test_a_message_may_be_taken_when_it_is_said_to_be_ready(messages: int, elapsed_ns: int) -> None:
    """Else a broker that wakes then would wake again and again, at one instant."""
    law = ModelRate(RateSettings())
    # What a host has got, as the law computes it.
    law.rate = messages * SECOND / elapsed_ns
    throttle = Throttle(7, law, quickens=True, start=0, now=0)
    published(throttle, 1_000, 1)
    throttle.wake(0, now=(now := SECOND))
    for _ in range(20):
        now = max(now, throttle.ready_at(now))
        assert throttle.may_take(now)


def test_a_publisher_that_has_gone_wants_nothing() -> None:
    throttle = Throttle(7, ModelRate(RateSettings()), quickens=True, start=0, now=0)
    published(throttle, 100, 2)
    assert throttle.demand(2 * SECOND) == 100
    throttle.gone("p")
    assert throttle.demand(2 * SECOND) == 0


def far_behind(seq: int) -> CongestionReport:
    """A host recovers, and has got next to nothing."""
    behind = Progress(host="h", start=0, stop=1, elapsed_ns=SECOND, over_lag_ns=0)
    return CongestionReport(pubend=7, seq=seq, recovering=behind)


def test_a_publisher_that_connects_again_while_it_waits_wants_what_it_wanted_before() -> None:
    """Else a lost connection would cost it most of what it may publish, until the recovery ends."""
    throttle = Throttle(7, ModelRate(RateSettings()), quickens=True, start=0, now=0)
    published(throttle, 100, 20)
    now = 20 * SECOND
    throttle.on_report(far_behind(2), now=now)
    assert throttle.rate == 25
    throttle.gone("p")
    throttle.arrived("p", 1, now=now)
    throttle.wait("p", True, now=now)
    throttle.on_report(far_behind(3), now=now + SECOND)
    assert throttle.rate == 25


def test_a_recovery_slows_nobody_down_of_whom_it_is_not_known_what_they_want() -> None:
    throttle = Throttle(7, ModelRate(RateSettings()), quickens=True, start=0, now=0)
    throttle.arrived("p", 1, now=0)
    # It has published nothing for a minute when it begins in earnest.
    rates = []
    for number in range(1_500):
        now = 60 * SECOND + number * 10 * MILLISECOND
        throttle.arrived("p", 1, now=now)
        if number % 100 == 99:
            throttle.on_report(far_behind(number), now=now)
            rates.append(throttle.rate)
    assert rates[:9] == [None] * 9
    assert rates[10:] == [25] * 5
