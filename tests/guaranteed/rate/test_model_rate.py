"""Our law over a fluid bottleneck: one queue, hosts behind it, and a query every 250 ms."""

from __future__ import annotations

import pytest

from penstock.guaranteed.rate.base import RateSettings
from penstock.guaranteed.rate.model import ModelRate
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.frames.guaranteed.congestion import CongestionReport, Progress

DEMAND = 500.0
STEP_S = 0.25
# Ticks are milliseconds here.
MS = 1_000
RECOVERING = Progress(host="h", start=0, stop=10, elapsed_ns=SECOND)


class Bottleneck:
    """Publishers, a queue that carries so much, and a host that keeps up or recovers."""

    def __init__(self, capacity: float, *, law: ModelRate | None = None) -> None:
        self.capacity = capacity
        self.law = law or ModelRate(RateSettings())
        self.now_s = 0.0
        # (time, how much was published so far), by millisecond.
        self.published = [0.0]
        self.carried = 0.0
        self.queue_max = 0.0
        self.seq = 0
        self.recovered_to: float | None = None

    @property
    def rate(self) -> float:
        return DEMAND if self.law.rate is None else self.law.rate

    def logged(self, after: int, upto: int) -> float:
        last = len(self.published) - 1
        return self.published[min(upto, last)] - self.published[min(after, last)]

    def position(self, carried: float) -> int:
        """The millisecond up to which so many messages were published."""
        low, high = 0, len(self.published) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if self.published[middle] <= carried + 1e-9 else (low, middle - 1)
            )
        return low

    def step(self) -> None:
        """One period between two queries."""
        before = self.position(self.carried)
        recovered_before = self.recovered_to
        for _ in range(int(STEP_S * MS)):
            self.published.append(self.published[-1] + self.rate / MS)
            waiting = self.published[-1] - self.carried
            room = self.capacity / MS
            live = min(waiting, self.rate / MS if self.recovered_to is not None else room)
            self.carried += min(live, room)
            if self.recovered_to is not None:
                self.recovered_to += room - min(live, room)
            self.queue_max = max(self.queue_max, self.published[-1] - self.carried)
        self.now_s += STEP_S
        self.seq += 1
        now = len(self.published) - 1
        self.law.on_query(self.seq, now)
        position = self.position(self.carried)
        normal = Progress(
            host="h",
            start=before,
            stop=position,
            elapsed_ns=int(STEP_S * SECOND),
            over_lag_ns=(now - position) * MILLISECOND,
        )
        recovering = None
        if self.recovered_to is not None and recovered_before is not None:
            recovering = Progress(
                host="h",
                start=self.position(recovered_before),
                stop=self.position(self.recovered_to),
                elapsed_ns=int(STEP_S * SECOND),
            )
        report = CongestionReport(pubend=1, seq=self.seq, normal=normal, recovering=recovering)
        self.law.on_report(report, demand=DEMAND, logged=self.logged, is_drained=True)


def test_publishers_find_what_a_bottleneck_carries_and_use_it() -> None:
    link = Bottleneck(150)
    for _ in range(80):
        link.step()
    carried = link.carried
    for _ in range(400):
        link.step()
    assert (link.carried - carried) / 100 >= 0.97 * 150
    assert link.queue_max < 1.5 * DEMAND


def test_without_a_bottleneck_nobody_is_slowed_down() -> None:
    link = Bottleneck(501)
    for _ in range(100):
        link.step()
        assert link.law.rate is None


def test_when_the_bottleneck_is_gone_publishers_are_soon_as_quick_as_before() -> None:
    link = Bottleneck(200)
    for _ in range(100):
        link.step()
    assert link.rate < 240
    link.capacity = 10_000
    for _ in range(60):
        link.step()
    assert link.law.rate is None


def test_a_host_that_recovers_gets_its_share() -> None:
    link = Bottleneck(725)
    for _ in range(480):
        link.step()
    link.recovered_to = 0.0
    for _ in range(100):
        link.step()
    # It needs 1 000/s beside what is published: publishers go down to the floor.
    assert link.rate == pytest.approx(0.25 * DEMAND)
    assert link.recovered_to > 0


def test_where_hosts_may_lag_they_slow_nobody_down() -> None:
    law = ModelRate(RateSettings(), waits_for_recovery=False)
    recovering = Progress(host="h", start=0, stop=10, elapsed_ns=SECOND)
    law.on_report(
        CongestionReport(pubend=1, seq=1, recovering=recovering),
        demand=DEMAND,
        logged=lambda _after, _upto: 0,
        is_drained=True,
    )
    assert law.rate is None


def test_a_report_counts_once() -> None:
    law = ModelRate(RateSettings())
    report = CongestionReport(
        pubend=1, seq=1, recovering=Progress(host="h", start=0, stop=10, elapsed_ns=SECOND)
    )
    for _ in range(3):
        law.on_report(report, demand=DEMAND, logged=lambda _after, _upto: 700, is_drained=True)
        assert law.rate == 200


def test_throttling_does_not_end_while_messages_wait() -> None:
    law = ModelRate(RateSettings())
    found: list[float | None] = []
    for seq in range(1, 12):
        got = Progress(
            host="h", start=0, stop=1, elapsed_ns=SECOND, over_lag_ns=5 * SECOND * (seq == 1)
        )
        law.on_report(
            CongestionReport(pubend=1, seq=seq, normal=got),
            demand=10,
            logged=lambda _after, _upto: 10,
            is_drained=seq > 10,
        )
        found.append(law.rate)
    assert found[0] == 5
    assert all(rate is not None for rate in found[:-1])
    assert max(rate for rate in found if rate is not None) > 10
    assert found[-1] is None


def said(seq: int, *, lag_s: float, got: bool) -> CongestionReport:
    """One host that keeps up and lags so far, and one that recovers and gets all or nothing."""
    normal = Progress(
        host="normal", start=0, stop=1, elapsed_ns=SECOND, over_lag_ns=int(lag_s * SECOND)
    )
    recovering = Progress(host="recovering", start=0, stop=10 * got, elapsed_ns=SECOND)
    return CongestionReport(pubend=1, seq=seq, normal=normal, recovering=recovering)


def logged(_after: int, upto: int) -> float:
    """A recovering host that moves at all gets more than it needs; the other one all."""
    return {0: 0.0, 1: DEMAND, 10: 3 * DEMAND}[upto]


def test_the_host_that_publishers_are_slowed_down_for_is_known() -> None:
    law = ModelRate(RateSettings())

    def hear(seq: int, *, lag_s: float, got: bool) -> tuple[bool, str | None]:
        law.on_report(
            said(seq, lag_s=lag_s, got=got), demand=DEMAND, logged=logged, is_drained=True
        )
        return law.rate is not None, law.limited_by

    # Both are well: nobody is slowed down, for nobody.
    assert hear(1, lag_s=0, got=True) == (False, None)
    assert hear(2, lag_s=2, got=True) == (True, "normal")
    # At the floor already, and kept there by the other one.
    for seq in range(3, 6):
        assert hear(seq, lag_s=0, got=False) == (True, "recovering")
    # While the rate rises it was last lowered for the same.
    assert hear(6, lag_s=0, got=True) == (True, "recovering")
    seq = 6
    while law.rate is not None:
        seq += 1
        hear(seq, lag_s=0, got=True)
    assert law.limited_by == "recovering"


def test_a_recovery_that_may_lag_is_not_named() -> None:
    law = ModelRate(RateSettings(), waits_for_recovery=False)
    law.on_report(said(1, lag_s=2, got=False), demand=DEMAND, logged=logged, is_drained=True)
    assert law.limited_by == "normal"
