import math
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.wire.quantise import (
    ROUND_TRIP_CODES_US,
    decode_round_trip_ns,
    delta_100us,
    delta_ns,
    encode_round_trip,
    hold_100us,
    is_float16,
    is_rate,
    quantise_float16,
    quantise_rate,
    stamp_us,
)


def test_stamps_are_whole_microseconds_and_wrap() -> None:
    assert stamp_us(1_999) == 1
    assert stamp_us((1 << 48) * 1_000 + 5_000) == 5
    assert stamp_us((1 << 32) * 1_000 + 7_000, bits=32) == 7


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (0, 0),
        (49_999, 0),
        (50_000, 1),
        (149_999, 1),
        (-1, 0),
        (-SECOND, 0),
        (10_000 * SECOND, 2**24 - 1),
    ],
)
def test_deltas_round_to_the_nearest_and_stop_at_the_edges(duration: int, expected: int) -> None:
    assert delta_100us(duration) == expected


def test_holds_have_two_bytes() -> None:
    assert hold_100us(10 * SECOND) == 2**16 - 1
    assert delta_ns(hold_100us(3 * MILLISECOND)) == 3 * MILLISECOND


def test_r_max_codes_rise_by_six_percent_from_a_tenth_of_a_millisecond() -> None:
    assert ROUND_TRIP_CODES_US[0] == 100
    assert ROUND_TRIP_CODES_US[12] == 200
    assert ROUND_TRIP_CODES_US[-1] // 1_000_000 == 249
    assert all(1.04 < b / a < 1.08 for a, b in pairwise(ROUND_TRIP_CODES_US))


@given(st.integers(0, 240 * SECOND))
def test_r_max_is_never_understated(duration: int) -> None:
    code = encode_round_trip(duration)
    assert decode_round_trip_ns(code) >= duration
    assert code == 0 or decode_round_trip_ns(code - 1) < duration
    assert encode_round_trip(decode_round_trip_ns(code)) == code


def test_r_max_stops_at_its_last_code() -> None:
    assert encode_round_trip(10_000 * SECOND) == 255


@given(st.floats(allow_nan=False))
def test_quantising_twice_changes_nothing(value: float) -> None:
    once = quantise_float16(value)
    assert quantise_float16(once) == once
    assert is_float16(once)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.1, 0.0999755859375), (440.1, 440.0), (65_519.0, 65_504.0), (1e6, math.inf)],
)
def test_half_precision(value: float, expected: float) -> None:
    assert quantise_float16(value) == expected
    assert quantise_float16(-value) == -expected


def test_nan_is_refused() -> None:
    with pytest.raises(UsageError, match="NaN"):
        quantise_float16(math.nan)
    assert not is_float16(math.nan)


@given(st.floats(min_value=0))
def test_rates_are_finite_and_fit(rate: float) -> None:
    quantised = quantise_rate(rate)
    assert 0 <= quantised <= 65_504
    assert is_rate(quantised)


@pytest.mark.parametrize("rate", [-1.0, math.nan, -math.inf])
def test_what_is_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(UsageError, match="rate"):
        quantise_rate(rate)


@pytest.mark.parametrize("rate", [-0.0, 0.1, 70_000.0, math.inf, -math.inf, math.nan, -1.0, 1e300])
def test_rates_that_would_change_on_the_wire_are_known(rate: float) -> None:
    assert not is_rate(rate)


def test_rates_are_all_finite_halves_without_a_sign() -> None:
    halves = [struct.unpack(">e", bits.to_bytes(2, "big"))[0] for bits in range(1 << 16)]
    assert [bits for bits, half in enumerate(halves) if is_rate(half)] == list(range(0x7C00))
    assert math.copysign(1, quantise_rate(-0.0)) == 1
