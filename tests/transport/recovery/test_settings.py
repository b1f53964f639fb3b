"""What may be chosen of recovery: a mistake is said in one line, whatever it is."""

from __future__ import annotations

from dataclasses import fields
from math import inf, nan
from typing import Any

import pytest

from penstock.kernel.errors import UsageError
from penstock.transport.recovery.settings import _KINDS, RecoverySettings


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


def test_every_field_is_looked_at() -> None:
    unknown = [each.name for each in fields(RecoverySettings) if each.type not in _KINDS]
    # These have words of their own.
    assert unknown == ["reply", "requests_as"]


def test_whole_numbers_are_rates_too() -> None:
    assert RecoverySettings(requests_mps=5, scope="here").requests_mps == 5
