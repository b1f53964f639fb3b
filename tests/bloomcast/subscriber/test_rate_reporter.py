"""What rate a subscriber allows, and when it says so."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import pytest

from penstock.bloomcast.loss_event_rate import decode_loss_event_rate
from penstock.bloomcast.settings import RateSettings
from penstock.bloomcast.subscriber.rate_reporter import RateReporter, report_wait_ns
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.tfrc.throughput_equation import tcp_throughput
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce

ME, OTHER = 7, 8
SYMBOLS = 1_000_000


class Receiver:
    """A symbol of 1 000 bytes arrives each millisecond: 1 MB/s."""

    def __init__(self) -> None:
        self.reporter = RateReporter(Seeds(1), RateSettings(), node=ME)
        self.now: Instant = 5 * SECOND
        self.number = 0
        self.delay_ns = 20 * MILLISECOND
        self.reports: list[tuple[Instant, AllowedRate]] = []

    def hear(self, slowest: int, rate_bps: int, *, child: int = ME, rtt_ms: int = 40) -> None:
        said = RateInForce(
            child=child, round_trip_us=rtt_ms * 1_000, rate_bps=rate_bps, slowest=slowest
        )
        self.reporter.on_rate(said)

    def arrive(self, count: int, *, lost_every: int = 0) -> None:
        for _ in range(count):
            self.now += MILLISECOND
            self.number += 1
            if lost_every and self.number % lost_every == 0:
                continue
            header = Header(ttl=1, choice=0, links=0, stamp_us=(self.now - self.delay_ns) // 1_000)
            self.reporter.arrived(
                header, (self.number,), symbols=SYMBOLS, symbol_bytes=1_000, now=self.now
            )
            self.take()

    def pause(self, milliseconds: int) -> None:
        for _ in range(milliseconds):
            self.now += MILLISECOND
            self.take()

    def take(self) -> None:
        report = self.reporter.due(self.now)
        if report is not None:
            self.reports.append((self.now, report))


def test_before_a_loss_event_twice_what_comes_is_allowed() -> None:
    receiver = Receiver()
    receiver.hear(ME, 1_000_000)
    receiver.arrive(200)
    _, report = receiver.reports[-1]
    assert report.loss_events == 0
    assert report.received_bps == pytest.approx(1_000_000, rel=0.05)
    assert report.allowed_bps == pytest.approx(2_000_000, rel=0.05)


def test_the_slowest_reports_once_per_round_trip() -> None:
    receiver = Receiver()
    receiver.hear(ME, 1_000_000, rtt_ms=40)
    receiver.arrive(400)
    times = [at for at, _ in receiver.reports]
    assert {after - before for before, after in pairwise(times)} == {40 * MILLISECOND}


def test_after_losses_the_equation_says_what_is_allowed() -> None:
    receiver = Receiver()
    receiver.hear(ME, 1_000_000, rtt_ms=40)
    receiver.arrive(4_000, lost_every=200)
    _, report = receiver.reports[-1]
    p = decode_loss_event_rate(report.loss_events)
    assert p == pytest.approx(1 / 200, rel=0.1)
    assert report.allowed_bps == pytest.approx(tcp_throughput(1_000, 0.04, p), rel=0.01)


def test_a_queue_that_fills_is_a_loss_event() -> None:
    """It would overflow next, and then much is lost at once."""
    receiver = Receiver()
    receiver.arrive(1)
    receiver.hear(ME, 1_000_000, rtt_ms=40)
    for grown_ms in range(120):
        receiver.arrive(2)
        if grown_ms < 80:
            assert receiver.reports[-1][1].loss_events == 0
        receiver.delay_ns += MILLISECOND
    receiver.arrive(400)
    _, report = receiver.reports[-1]
    assert report.loss_events > 0
    assert report.allowed_bps == pytest.approx(1_000_000, rel=0.4)


def test_losses_within_a_round_trip_are_one_event() -> None:
    """Every fourth symbol, 10 ms apart: of 100 in a round trip one event."""
    receiver = Receiver()
    receiver.hear(ME, 1_000_000, rtt_ms=100)
    receiver.arrive(4_000, lost_every=4)
    _, report = receiver.reports[-1]
    assert decode_loss_event_rate(report.loss_events) == pytest.approx(1 / 102, rel=0.1)


def test_the_stamp_is_echoed_with_its_hold() -> None:
    receiver = Receiver()
    receiver.hear(OTHER, 9_000_000, child=OTHER)
    receiver.arrive(100, lost_every=50)
    receiver.arrive(1)
    came_at = receiver.now
    receiver.reports.clear()
    receiver.pause(400)
    [(at, report)] = receiver.reports
    assert report.echo_us == came_at // 1_000 - 20_000
    assert report.hold_100us == (at - came_at) // 100_000


def test_others_report_only_when_they_allow_less() -> None:
    receiver = Receiver()
    receiver.hear(OTHER, 1_000_000, child=OTHER)
    receiver.arrive(1_000)
    assert receiver.reports == []
    receiver.arrive(1_000, lost_every=50)
    assert receiver.reports
    assert all(report.allowed_bps < 900_000 for _, report in receiver.reports)


def test_a_report_is_not_sent_when_somebody_else_has_as_little() -> None:
    receiver = Receiver()
    receiver.hear(OTHER, 1_000_000, child=OTHER)
    receiver.arrive(1_000)
    while receiver.reporter.next_wakeup() is None:
        receiver.arrive(1, lost_every=50)
    receiver.hear(OTHER, 100_000, child=OTHER)
    receiver.pause(1_000)
    assert receiver.reports == []


def test_whoever_hears_that_nobody_is_slowest_reports() -> None:
    receiver = Receiver()
    receiver.hear(0, 1_000_000, child=0)
    receiver.arrive(600)
    assert receiver.reports


def test_a_disk_that_does_not_keep_up_limits_the_rate() -> None:
    receiver = Receiver()
    receiver.hear(ME, 1_000_000)
    receiver.reporter.disk_rate(300_000)
    receiver.arrive(100)
    _, report = receiver.reports[-1]
    assert (report.allowed_bps, report.loss_events) == (300_000, 0)
    receiver.reporter.disk_rate(None)
    receiver.arrive(100)
    assert receiver.reports[-1][1].allowed_bps > 1_000_000


def test_nothing_is_said_after_the_end_of_generation_0() -> None:
    receiver = Receiver()
    receiver.hear(OTHER, 1_000_000, child=OTHER)
    receiver.arrive(1_000)
    while receiver.reporter.next_wakeup() is None:
        receiver.arrive(1, lost_every=50)
    receiver.reporter.ended()
    receiver.pause(1_000)
    assert receiver.reports == []


def test_another_s_round_trip_serves_until_the_own_is_known() -> None:
    receiver = Receiver()
    receiver.hear(OTHER, 1_000_000, child=OTHER, rtt_ms=10)
    receiver.arrive(2_000, lost_every=200)
    allowed = receiver.reporter._allowed_bps()
    receiver.hear(OTHER, 1_000_000, child=ME, rtt_ms=20)
    receiver.hear(OTHER, 1_000_000, child=OTHER, rtt_ms=10)
    assert receiver.reporter._allowed_bps() < allowed


def test_few_of_many_wait_for_less_than_a_round_trip() -> None:
    draws = [place / 1_000 for place in range(1_000)]
    waits = [report_wait_ns(SECOND, 1_000, draw) for draw in draws]
    assert sum(wait < SECOND for wait in waits) < 5
    assert max(waits) < 6 * SECOND
    hasty = [report_wait_ns(SECOND, 1_000, draw, allowed_share=0.1) for draw in draws]
    assert fmean(hasty) == pytest.approx(fmean(waits) / 2)
