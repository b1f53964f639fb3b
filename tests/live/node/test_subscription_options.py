"""From what an application says to settings."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.live.node.subscription_options import ordering_of
from penstock.transport.order.latch import ConditionalLatch
from penstock.transport.settings import DEFAULT, OFF, constant


def test_nothing_said_changes_nothing() -> None:
    for settings in (DEFAULT, OFF, constant(5 * MILLISECOND)):
        assert ordering_of(settings) == settings


def test_each_thing_said_changes_itself_alone() -> None:
    one = ordering_of(DEFAULT, max_delay=0.2, late="drop")
    assert (one.max_delay_ns, one.late, one.latch) == (200 * MILLISECOND, "drop", DEFAULT.latch)
    other = ordering_of(one, violation_probability=0.05)
    assert other.latch == ConditionalLatch(0.05)
    assert (other.max_delay_ns, other.late) == (one.max_delay_ns, one.late)


def test_order_is_turned_off_and_on() -> None:
    off = ordering_of(DEFAULT, order=False)
    assert off.latch is None
    assert ordering_of(off, order=True).latch == ConditionalLatch()
    special = constant(5 * MILLISECOND)
    assert ordering_of(special, order=True) == special
    assert ordering_of(off, order=True, previous_latch=special.latch).latch == special.latch
    assert ordering_of(off, order=True, late="drop").late == "drop"


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"order": False, "violation_probability": 0.1}, "violation_probability needs order"),
        ({"order": False, "max_delay": 0.1}, "max_delay needs order"),
        ({"order": False, "late": "deliver"}, "late needs order"),
        ({"max_delay": "a"}, "max_delay is a finite number, not 'a'"),
        ({"max_delay": True}, "max_delay is a finite number, not True"),
        ({"violation_probability": "0.1"}, "violation_probability is a finite number"),
        ({"violation_probability": 0.0}, "violation probability"),
        ({"max_delay": 3.0}, "max_delay"),
        ({"max_delay": -0.1}, "max_delay"),
        ({"max_delay": float("nan")}, "finite"),
        ({"late": "perhaps"}, "late is"),
    ],
)
def test_what_cannot_be_is_refused(said: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        ordering_of(DEFAULT, **said)
