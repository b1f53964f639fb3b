"""What may be chosen of recovery: a mistake is said in one line, whatever it is."""

from __future__ import annotations

from dataclasses import fields
from math import inf, nan
from typing import Any

import pytest

from penstock.kernel.errors import UsageError
from penstock.transport.recovery.cache_size import CacheSettings
from penstock.transport.recovery.request_timers import TimerSettings
from penstock.transport.recovery.settings import RecoverySettings


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"scope": 5}, "scope is a word or None, not 5"),
        ({"scope": ""}, "scope is a word, or None for none: it cannot be empty"),
        ({"tracks": "yes"}, "tracks is True, False or None, not 'yes'"),
        ({"volunteers": 1}, "volunteers is True or False, not 1"),
        ({"requests_mps": nan}, "requests_mps is a finite number, not nan"),
        ({"repairs_mps": inf}, "repairs_mps is a finite number, not inf"),
        ({"requests_mps": "a"}, "requests_mps is a finite number, not 'a'"),
        ({"requests_mps": True}, "requests_mps is a finite number, not True"),
        ({"requests_mps": 0}, "requests_mps and repairs_mps are above 0"),
        ({"wanted_max": 1.5}, "wanted_max is a whole number, not 1.5"),
        ({"tracked_max": None}, "tracked_max is a whole number, not None"),
        ({"give_up_ns": 2e9}, "give_up_ns is a whole number of nanoseconds, not 2000000000.0"),
        ({"cache": 300}, "cache is a CacheSettings, not 300"),
        ({"timers": None}, "timers is a TimerSettings, not None"),
        ({"reply": []}, "reply is 'auto', 'publish' or 'unicast', not []"),
    ],
)
def test_a_mistake_is_one_line(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        RecoverySettings(**wrong)
    assert str(raised.value) == complaint


@pytest.mark.parametrize(
    ("settings", "wrong", "complaint"),
    [
        (TimerSettings, {"ask_first": "soon"}, "ask_first is a finite number, not 'soon'"),
        (TimerSettings, {"answer_width": nan}, "answer_width is a finite number or None, not nan"),
        (TimerSettings, {"rounds_max": 2.0}, "rounds_max is a whole number, not 2.0"),
        (CacheSettings, {"k_min": True}, "k_min is a whole number, not True"),
        (CacheSettings, {"hit_ratio": None}, "hit_ratio is a finite number, not None"),
    ],
)
def test_so_it_is_with_timers_and_caches(
    settings: type, wrong: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError) as raised:
        settings(**wrong)
    assert str(raised.value) == complaint


@pytest.mark.parametrize("settings", [RecoverySettings, TimerSettings, CacheSettings])
def test_every_field_is_looked_at(settings: type) -> None:
    for each in fields(settings):
        # Those with words of their own have checks of their own.
        with pytest.raises(UsageError):
            settings(**{each.name: {}})


def test_whole_numbers_are_rates_too() -> None:
    assert RecoverySettings(requests_mps=5, scope="here").requests_mps == 5
