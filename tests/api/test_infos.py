"""What brokers tell of streams, durables and publications: frozen, and checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import pytest

from penstock.api.checkpoint import Checkpoint
from penstock.api.confirmation import Confirmation
from penstock.api.durable_info import DurableInfo, Lag
from penstock.api.filter import Filter
from penstock.api.position import Position
from penstock.api.retention import Retention
from penstock.api.stream_info import Holder, StreamInfo
from penstock.kernel.errors import UsageError

HOLDER: dict[str, Any] = {"host": "host7", "durables": ("billing",), "since_ns": 1, "bytes": 2}
STREAM: dict[str, Any] = {"name": "orders", "messages": 3, "bytes": 4, "retention": Retention()}
LAG: dict[str, Any] = {
    "messages": 1,
    "seconds": 0.5,
    "retention_share": 0.1,
    "is_upper_bound": True,
}
DURABLE: dict[str, Any] = {
    "name": "billing",
    "streams": ("orders",),
    "host": "host7",
    "filter": Filter("qty >= 100"),
    "checkpoint": str(Checkpoint([Position(1, 2)])),
    "lag": Lag(**LAG),
}
CONFIRMED: dict[str, Any] = {
    "position": Position(1, 2),
    "is_duplicate": False,
    "confirmed_ns": 1,
}
KINDS: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (Holder, HOLDER),
    (StreamInfo, {**STREAM, "held_by": Holder(**HOLDER)}),
    (Lag, LAG),
    (DurableInfo, {**DURABLE, "reader": "node3", "reader_since_ns": 1}),
    (Confirmation, CONFIRMED),
    (Confirmation, {"position": None, "is_duplicate": True, "confirmed_ns": 1}),
]


@pytest.mark.parametrize(("kind", "fields"), KINDS)
def test_infos_are_frozen_values(kind: Callable[..., object], fields: dict[str, Any]) -> None:
    info = kind(**fields)
    assert (info, hash(info)) == (kind(**fields), hash(kind(**fields)))
    for name, value in fields.items():
        assert getattr(info, name) == value
        with pytest.raises(AttributeError):
            setattr(cast(Any, info), name, value)


@pytest.mark.parametrize(
    ("kind", "fields", "complaint"),
    [
        (Holder, {**HOLDER, "bytes": -1}, "bytes is 0 or more, not -1"),
        (StreamInfo, {**STREAM, "messages": 1.5}, "messages is 0 or more, not 1.5"),
        (Lag, {**LAG, "seconds": math.nan}, "seconds is 0 or more, not nan"),
        (Lag, {**LAG, "retention_share": -0.1}, "retention_share is 0 or more"),
        (DurableInfo, {**DURABLE, "checkpoint": "x"}, "is no checkpoint"),
        (DurableInfo, {**DURABLE, "reader_since_ns": -1}, "reader_since_ns is 0 or more"),
        (Confirmation, {**CONFIRMED, "position": None}, "only a duplicate has no position"),
    ],
)
def test_what_cannot_be_is_refused(
    kind: Callable[..., object], fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        kind(**fields)
