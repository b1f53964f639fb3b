"""What a publisher makes of the rates that receivers allow."""

from __future__ import annotations

import pytest

from penstock.bloomcast.loss_event_rate import encode_loss_event_rate
from penstock.bloomcast.publisher.rate_control import RateControl
from penstock.bloomcast.settings import RateSettings
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.tfrc.throughput_equation import tcp_throughput
from penstock.wire.frames.cast.rate import AllowedRate

T0: Instant = 100 * SECOND
RTT = 50 * MILLISECOND


def control(*, rate_max_bps: int | None = None, rate_min_bps: int | None = None) -> RateControl:
    settings = RateSettings(rate_min_bps=rate_min_bps)
    found = RateControl(settings, rate_max_bps=rate_max_bps, symbol_bytes=1_000)
    found.begin(1, RTT, T0)
    return found


def report(
    child: int,
    now: Instant,
    *,
    allowed_bps: int = 1,
    p: float = 0.0,
    received_bps: int = 0,
    rtt_ns: int = RTT,
    hold_ns: int = 0,
) -> AllowedRate:
    return AllowedRate(
        child=child,
        echo_us=(now - rtt_ns - hold_ns) // 1_000,
        hold_100us=hold_ns // 100_000,
        loss_events=encode_loss_event_rate(p),
        received_bps=received_bps,
        allowed_bps=allowed_bps,
    )


def test_it_begins_low_and_doubles_with_each_round_trip() -> None:
    rates = control()
    found = []
    for turn in range(1, 5):
        now = T0 + turn * RTT
        came = rates.rate_bps
        rates.on_report(report(1, now, allowed_bps=2 * came, received_bps=came), now)
        found.append(rates.rate_bps)
    assert found == [2_500_000, 5_000_000, 10_000_000, 20_000_000]


def test_it_does_not_double_twice_in_a_round_trip() -> None:
    rates = control()
    for now in (T0 + RTT, T0 + RTT + MILLISECOND):
        rates.on_report(report(1, now, allowed_bps=9_000_000, received_bps=4_500_000), now)
    assert rates.rate_bps == 2_500_000


def test_the_ceiling_holds() -> None:
    rates = control(rate_max_bps=3_000_000)
    for turn in range(1, 4):
        now = T0 + turn * RTT
        rates.on_report(report(1, now, allowed_bps=9_000_000, received_bps=4_500_000), now)
    assert rates.rate_bps == 3_000_000


def test_without_control_it_is_the_chosen_rate() -> None:
    settings = RateSettings(is_controlled=False)
    assert RateControl(settings, rate_max_bps=5, symbol_bytes=1).rate_bps == 5
    default = RateControl(settings, rate_max_bps=None, symbol_bytes=1)
    assert default.rate_bps == settings.uncontrolled_bps


def test_who_allows_less_becomes_the_slowest() -> None:
    rates = control()
    now = T0 + RTT
    said = rates.on_report(report(2, now, p=0.01, received_bps=10**6, allowed_bps=10**5), now)
    assert rates.slowest == 2
    assert said is not None
    assert (said.slowest, said.child, said.rate_bps) == (2, 2, rates.rate_bps)
    # And one that allows more than that does not.
    rates.on_report(report(3, now, p=0.005, received_bps=10**6, allowed_bps=10**5), now)
    assert rates.slowest == 2


def test_the_rate_is_computed_again_with_the_round_trip_measured_here() -> None:
    """The receiver assumed another, and allowed far too little."""
    rates = control()
    now = T0 + RTT
    late = report(2, now, p=0.01, rtt_ns=20 * MILLISECOND, hold_ns=30 * MILLISECOND, allowed_bps=1)
    said = rates.on_report(late, now)
    assert said is not None
    assert said.round_trip_us == 20_000
    assert rates.rate_bps == pytest.approx(tcp_throughput(1_000, 0.02, 0.01), rel=0.01)


def test_it_grows_by_a_tenth_of_what_arrives() -> None:
    rates = control()
    now = T0 + RTT
    rates.on_report(report(2, now, p=0.01, received_bps=10**6), now)
    before = rates.rate_bps
    for turn in range(2, 4):
        now = T0 + turn * RTT
        rates.on_report(report(2, now, p=1e-5, received_bps=before), now)
        assert rates.rate_bps == pytest.approx(1.1 * before, rel=0.01)


def test_what_the_network_loses_at_random_still_grows() -> None:
    """One symbol a round trip: a tenth of what arrives is not always more than what is lost."""
    rates = control()
    now = T0 + RTT
    rates.on_report(report(2, now, p=0.3, received_bps=10**4), now)
    rates.on_report(report(2, now, p=0.01, received_bps=10**4), now)
    assert rates.rate_bps == 10**4 + 1_000 * SECOND // RTT


def test_without_the_slowest_s_report_the_rate_is_halved() -> None:
    rates = control()
    assert rates.next_wakeup() == T0 + SECOND
    assert rates.wake(T0 + SECOND - 1) is None
    said = rates.wake(T0 + SECOND)
    assert said is not None
    assert (rates.rate_bps, said.slowest) == (625_000, 0)
    # Whoever answers is the next.
    now = T0 + SECOND + RTT
    rates.on_report(report(3, now, allowed_bps=8_000_000, received_bps=4_000_000), now)
    assert (rates.slowest, rates.rate_bps) == (3, 625_000)


def test_silence_alone_does_not_bring_it_below_eight_symbols_a_second() -> None:
    rates, now = control(), T0
    for _ in range(20):
        now += SECOND
        rates.wake(now)
    assert rates.rate_bps == 8_000


def test_four_long_round_trips_are_waited_for() -> None:
    rates = RateControl(RateSettings(), rate_max_bps=None, symbol_bytes=1_000)
    rates.begin(1, SECOND, T0)
    assert rates.next_wakeup() == T0 + 4 * SECOND


def test_repair_rounds_leave_the_rate_as_it_is() -> None:
    rates = control()
    rates.end(T0)
    assert rates.next_wakeup() is None
    assert rates.on_report(report(2, T0 + RTT, p=0.5), T0 + RTT) is None
    assert rates.rate_bps == 1_250_000


def test_repairs_go_at_the_mean_rate() -> None:
    """The last rate may have been a peak."""
    rates = control()
    now = T0 + RTT
    rates.on_report(report(1, now, allowed_bps=9_000_000, received_bps=4_500_000), now)
    assert rates.rate_bps == 2_500_000
    rates.end(T0 + 2 * RTT)
    assert rates.rate_bps == (1_250_000 + 2_500_000) // 2


def test_echoes_of_the_future_are_ignored() -> None:
    rates = control()
    forged = replace_echo(report(2, T0, p=0.5), (T0 + SECOND) // 1_000)
    assert rates.on_report(forged, T0) is None
    assert rates.slowest == 1


def replace_echo(body: AllowedRate, echo_us: int) -> AllowedRate:
    fields = {name: getattr(body, name) for name in body.__struct_fields__}
    return AllowedRate(**{**fields, "echo_us": echo_us})


def test_the_minimum_holds_and_others_hear_what_the_slowest_allows() -> None:
    rates = control(rate_min_bps=2_000_000)
    now = T0 + RTT
    said = rates.on_report(report(2, now, p=0.1, received_bps=1_900_000), now)
    assert said is not None
    assert rates.rate_bps == 2_000_000
    assert said.rate_bps < 200_000


@pytest.mark.parametrize(("received_bps", "is_slow"), [(1_900_000, False), (1_000_000, True)])
def test_who_gets_much_less_than_the_minimum_is_slow(received_bps: int, is_slow: bool) -> None:
    """Losses at random look like congestion to the equation: what arrives tells them apart."""
    rates = control(rate_min_bps=2_000_000)
    found = []
    for turn in range(0, 6_000, 50):
        now = T0 + turn * MILLISECOND
        found.append(rates.is_slow(report(2, now, p=0.1, received_bps=received_bps), now))
    assert any(found) is is_slow
    assert not any(found[:100])


def test_who_has_a_slow_disk_is_slow() -> None:
    rates = control(rate_min_bps=2_000_000)
    for turn in (0, 3, 6):
        now = T0 + turn * SECOND
        body = report(2, now, allowed_bps=1_000_000, received_bps=2_000_000)
        assert rates.is_slow(body, now) is (turn == 6)


def test_when_the_slowest_leaves_anyone_may_be_the_next() -> None:
    rates = control()
    assert rates.left(2, T0) is None
    said = rates.left(1, T0)
    assert said is not None
    assert said.slowest == rates.slowest == 0


def test_settings_are_as_the_specification_says() -> None:
    settings = RateSettings()
    assert settings.first_bps * 8 == 10_000_000
    assert settings.slow_ns == 5 * SECOND
    assert settings.silence_min_ns == SECOND


def test_of_many_who_report_at_once_few_are_answered() -> None:
    rates = control()
    now = T0 + RTT
    rates.on_report(report(2, now, p=0.01, received_bps=10**6), now)
    answers = [rates.on_report(report(child, now, p=0.009), now) for child in range(3, 50)]
    assert sum(answer is not None for answer in answers) == 1
