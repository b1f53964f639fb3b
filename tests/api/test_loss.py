"""Losses say who, how many, what and why."""

from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.api.loss import REASONS, Loss, Suspicion
from penstock.api.message import HANDED_OVER, Fate, MessageId
from penstock.kernel.errors import UsageError


def loss(**changed: Any) -> Loss:
    fields: dict[str, Any] = {
        "publisher": "a3f1c0de00112233",
        "epoch": 5,
        "first": 17,
        "count": 3,
        "fate": Fate.LOST,
        "reason": "expired",
        "detected_ns": 1,
        "ended_ns": 2,
    }
    return Loss(**{**fields, **changed})


def test_every_fate_without_the_message_has_reasons() -> None:
    assert set(REASONS) == set(Fate) - HANDED_OVER
    for fate, reasons in REASONS.items():
        for reason in reasons:
            assert loss(fate=fate, reason=reason).reason == reason


def test_a_loss_is_a_frozen_value() -> None:
    assert loss() == loss()
    assert len({loss(), loss(), loss(stream="orders", first=None)}) == 2
    with pytest.raises(AttributeError):
        cast(Any, loss()).count = 4


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"fate": Fate.REPAIRED}, 'a loss cannot be "repaired": write one of "lost"'),
        ({"reason": "late"}, 'reason of lost cannot be "late": write "no_recovery"'),
        ({"fate": Fate.RATE_LIMITED}, 'reason of rate_limited cannot be "expired": write "publis'),
        ({"count": -1}, "count is 0 or more, not -1"),
        ({"first": -1}, "first is 0 or more, not -1"),
    ],
)
def test_a_loss_that_cannot_be_is_refused(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        loss(**changed)


def test_a_suspicion_is_open_or_ends_in_a_fate() -> None:
    id_ = MessageId("a3f1c0de00112233", 5, 17)
    assert Suspicion(id=id_, state="suspected", at_ns=1).state == "suspected"
    assert Suspicion(id=id_, state=Fate.REPAIRED, at_ns=2).state is Fate.REPAIRED
    with pytest.raises(UsageError, match='state cannot be "gone"'):
        Suspicion(id=id_, state=cast(Any, "gone"), at_ns=1)
