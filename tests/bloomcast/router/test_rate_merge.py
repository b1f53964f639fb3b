"""Which RATEs a relay point passes on."""

from __future__ import annotations

from penstock.bloomcast.router.rate_merge import RateMerge
from penstock.bloomcast.segment.end_table import EndTable
from penstock.bloomcast.settings import HeadSettings, RateSettings
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce

RELAY, NEAR, FAR, ELSEWHERE = 1, 2, 3, 9


def ends() -> EndTable:
    table = EndTable(HeadSettings())
    table.replace({NEAR: (0, 0), FAR: (0, 0)})
    for node, milliseconds in ((NEAR, 5), (FAR, 30)):
        end = table.get(node)
        assert end is not None
        end.measure(milliseconds * MILLISECOND)
    return table


def merge(slowest: int = ELSEWHERE) -> RateMerge:
    found = RateMerge(RateSettings(), RELAY)
    found.down(in_force(slowest), ends())
    return found


def in_force(slowest: int) -> RateInForce:
    return RateInForce(child=slowest, round_trip_us=40_000, rate_bps=10**6, slowest=slowest)


def allowed(child: int, rate_bps: int) -> AllowedRate:
    return AllowedRate(
        child=child,
        echo_us=0,
        hold_100us=0,
        loss_events=1,
        received_bps=0,
        allowed_bps=rate_bps,
    )


def test_in_a_round_trip_only_what_is_less_passes() -> None:
    rates = merge()
    said = [(NEAR, 500), (FAR, 600), (NEAR, 400), (FAR, 400), (FAR, 300)]
    assert [rates.passes(allowed(*each), SECOND) for each in said] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_another_round_trip_begins_again() -> None:
    rates = merge()
    assert rates.passes(allowed(NEAR, 500), SECOND)
    assert not rates.passes(allowed(NEAR, 600), SECOND + 39 * MILLISECOND)
    assert rates.passes(allowed(NEAR, 600), SECOND + 40 * MILLISECOND)


def test_the_slowest_passes_always() -> None:
    rates = merge(slowest=NEAR)
    assert rates.passes(allowed(FAR, 100), SECOND)
    assert rates.passes(allowed(NEAR, 900), SECOND)
    assert rates.passes(allowed(NEAR, 900), SECOND)


def test_a_relay_that_is_named_slowest_names_the_farthest_of_its_ends() -> None:
    said = RateMerge(RateSettings(), RELAY).down(in_force(RELAY), ends())
    assert (said.slowest, said.child, said.round_trip_us) == (FAR, FAR, 70_000)


def test_of_others_it_says_what_it_was_told() -> None:
    body = in_force(ELSEWHERE)
    assert RateMerge(RateSettings(), RELAY).down(body, ends()) is body
