"""Retention is checked, and equal however it was written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from penstock.api.retention import Retention
from penstock.kernel.errors import UsageError


def test_the_usual_is_ten_gigabytes_and_a_week() -> None:
    usual = Retention()
    assert (usual.size, usual.age, usual.overflow) == ("10GB", "7d", "refuse")
    assert (usual.size_bytes, usual.age_ns) == (10**10, 7 * 86_400 * 10**9)


def test_equal_ones_are_equal_however_they_were_written() -> None:
    same = Retention(size=10_000_000_000, age=timedelta(weeks=1))
    assert (same, hash(same)) == (Retention(), hash(Retention()))
    assert Retention(size="0.5GB").size == "500MB"


def test_none_is_without_limit() -> None:
    endless = Retention(size=None, age=None)
    assert (endless.size_bytes, endless.age_ns) == (None, None)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"size": 0}, "retention.size is 1 B or more, not 0: write a size such as"),
        ({"size": "much"}, 'retention.size is 1 B or more, not "much"'),
        ({"age": "-1d"}, 'retention.age is a duration, not "-1d"'),
        ({"overflow": "keep"}, 'retention.overflow cannot be "keep": write "refuse" or "drop"'),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Retention(**options)


def test_it_is_frozen() -> None:
    with pytest.raises(AttributeError):
        cast(Any, Retention()).size = "1GB"
