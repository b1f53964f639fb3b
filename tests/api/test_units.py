"""Durations, sizes, rates and shares: what is written, what it is, and what is refused."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api import units
from penstock.kernel.errors import UsageError

S = 10**9


@pytest.mark.parametrize(
    ("given_", "ns"),
    [
        ("200ms", S // 5),
        ("2s", 2 * S),
        ("1.5m", 90 * S),
        ("12h", 43_200 * S),
        ("7d", 604_800 * S),
        ("50us", 50_000),
        ("0.001us", 1),
        ("200 ms", S // 5),
        ("0.1", S // 10),
        (".5s", S // 2),
        ("1e-3s", 10**6),
        (0.1, S // 10),
        (0.2, S // 5),
        (3, 3 * S),
        (0, 0),
        (timedelta(days=1, microseconds=1), 86_400 * S + 1_000),
    ],
)
def test_a_duration_is_read_in_nanoseconds(given_: units.Duration, ns: int) -> None:
    assert units.duration_ns("wait", given_) == ns


@given(st.integers(0, units.NS_MAX))
def test_a_duration_survives_its_text(ns: int) -> None:
    assert units.duration_ns("wait", units.duration_text(ns)) == ns


@given(st.timedeltas(timedelta(0), timedelta(days=36_500)))
def test_a_timedelta_is_exact(given_: timedelta) -> None:
    ns = units.duration_ns("wait", given_)
    assert timedelta(microseconds=ns // 1_000) == given_


@given(st.floats(0, 1e9))
def test_a_float_is_the_nearest_nanosecond_to_what_it_shows(seconds: float) -> None:
    assert units.duration_ns("wait", seconds) == units.duration_ns("wait", repr(seconds))
    assert math.isclose(units.duration_ns("wait", seconds), seconds * S, rel_tol=1e-9, abs_tol=0.6)


NO_DURATIONS = [
    "", "s", "200 lightyears", "200MS", "1h30m", "-1s", "nan", "inf", "2٣s", "1_000s", "1e999s",
    " 2s", math.nan, math.inf, -0.5, True, None, b"2s", 1e300, 10**40, "9" * 50, timedelta(-1),
]  # fmt: skip


@pytest.mark.parametrize("given_", NO_DURATIONS)
def test_what_is_no_duration_is_refused(given_: Any) -> None:
    with pytest.raises(
        UsageError, match=r'^wait is a duration, not .*: write one such as "200ms"$'
    ):
        units.duration_ns("wait", given_)


def test_an_error_says_what_is_allowed_what_was_written_and_what_to_write() -> None:
    with pytest.raises(UsageError) as caught:
        units.duration_ns("max_delay", "200 lightyears", high_ns=2 * S)
    assert str(caught.value) == (
        'max_delay is 0 to 2 s, not "200 lightyears": write a duration such as "200ms"'
    )
    with pytest.raises(UsageError, match=r"max_delay is 0 to 2 s, not 2.5: "):
        units.duration_ns("max_delay", 2.5, high_ns=2 * S)
    with pytest.raises(UsageError, match=r'^memory is 1 MB or more, not "1kB": write a size such'):
        units.size_bytes("memory", "1kB", low_bytes=10**6)
    with pytest.raises(UsageError, match=r'^wait is a duration, not "x{38}…": '):
        units.duration_ns("wait", "x" * 100)


@pytest.mark.parametrize(
    ("given_", "size"),
    [
        ("64MB", 64 * 10**6),
        ("64MiB", 64 * 2**20),
        ("1.5GB", 1_500_000_000),
        ("10 GB", 10**10),
        ("1kB", 1_000),
        ("1KB", 1_000),
        ("1KiB", 1_024),
        ("2TiB", 2**41),
        ("7B", 7),
        ("7", 7),
        (0, 0),
        (64_000_000, 64_000_000),
    ],
)
def test_a_size_is_read_in_bytes(given_: units.Size, size: int) -> None:
    assert units.size_bytes("memory", given_) == size


@given(st.integers(0, units.BYTES_MAX) | st.integers(0, 2**20).map(lambda n: n * 2**20))
def test_a_size_survives_its_text(size: int) -> None:
    assert units.size_bytes("memory", units.size_text(size)) == size


@pytest.mark.parametrize(
    "given_", ["64mb", "64M", "MB", "-1MB", "0.5B", "1e99GB", 1.5, 64e6, True, None, -1, 2**63]
)
def test_what_is_no_size_is_refused(given_: Any) -> None:
    with pytest.raises(UsageError, match=r'^memory is a size, not .*: write one such as "64MB"$'):
        units.size_bytes("memory", given_)


def test_rates_are_read_in_messages_or_bits_a_second() -> None:
    assert units.message_rate("rate", "500/s") == units.message_rate("rate", 500) == 500.0
    assert units.message_rate("rate", "0.5") == 0.5
    assert units.bit_rate("rate", "100Mbit/s") == 100_000_000
    assert units.bit_rate("rate", "10MB/s") == 80_000_000
    assert units.bit_rate("rate", "1KiB/s") == 8_192


@pytest.mark.parametrize(
    "given_", ["0/s", "-1/s", "5/m", "1e999/s", 10**400, "5MB/s", 0, math.inf, True, None]
)
def test_what_is_no_rate_of_messages_is_refused(given_: Any) -> None:
    with pytest.raises(UsageError, match=r'^rate is above 0 messages/s, not .*such as "500/s"$'):
        units.message_rate("rate", given_)


@pytest.mark.parametrize("given_", ["100", 100, "500/s", "10MB", "10mbit/s", "0bit/s", None])
def test_a_rate_without_a_unit_is_no_rate_of_bits(given_: Any) -> None:
    with pytest.raises(UsageError, match=r"^rate is a rate, not .*\"100Mbit/s\" or \"10MB/s\"$"):
        units.bit_rate("rate", given_)


def test_a_share_is_a_number_or_a_percentage() -> None:
    assert units.share("late_share", "0.3%") == units.share("late_share", 0.003) == 0.003
    assert units.share("late_share", "100%") == 1.0
    with pytest.raises(
        UsageError, match=r"^late_share is 1e-06 to 1, not 0: write a share such as"
    ):
        units.share("late_share", 0, low=1e-6)
    with pytest.raises(UsageError, match=r'not "101%"'):
        units.share("late_share", "101%")


def test_counts_and_words_are_checked() -> None:
    assert units.count("window", 3, low=1) == 3
    with pytest.raises(UsageError, match=r"^window is 1 or more, not 0: write a whole number such"):
        units.count("window", 0, low=1)
    with pytest.raises(UsageError, match=r"^buffer is 1 to 4,096, not True: "):
        units.count("buffer", True, low=1, high=4096)
    with pytest.raises(UsageError) as caught:
        units.one_of("ack", "never", ("next", "manual"))
    assert str(caught.value) == 'ack cannot be "never": write "next" or "manual"'
