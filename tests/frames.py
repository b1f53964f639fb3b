"""Frames for tests that do not care about most of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.content.message import Message
from penstock.content.value import Value
from penstock.wire.frames.data import Data


def data(seq: int, attributes: Mapping[str, Value], **changed: Any) -> Data:
    """DATA of publisher 1 in epoch 1, but for what is changed."""
    fields: dict[str, Any] = {
        "pub": 1,
        "epoch": 1,
        "seq": seq,
        "send_ts_us": 0,
        "since_previous_100us": 0,
        "send_rate_mps": 1.0,
        "max_round_trip_code": 0,
        "feedback_round": 0,
        "message": Message(attributes),
    }
    return Data(**{**fields, **changed})
