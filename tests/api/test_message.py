"""Messages are read-only, answer like mappings, and survive copying."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.message import HANDED_OVER, Fate, Message, MessageId
from penstock.content.value import Value
from penstock.kernel.errors import UsageError

ID = MessageId("a3f1c0de00112233", 62237, 17)


def message(**attributes: Value) -> Message:
    return Message(
        attributes=attributes,
        payload=b"p",
        id=ID,
        fate=Fate.DELIVERED,
        published_ns=1_000_000_000_123_456_789,
        received_ns=1_000_000_001_000_000_000,
    )


def test_attributes_are_read_like_a_mapping() -> None:
    tick = message(symbol="IBM", price=101.5)
    assert tick["price"] == tick.get("price") == tick.attributes["price"] == 101.5
    assert (tick.get("volume"), tick.get("volume", 0)) == (None, 0)
    assert "price" in tick
    assert "volume" not in tick
    with pytest.raises(KeyError, match="volume"):
        tick["volume"]


def test_nothing_can_be_changed() -> None:
    tick = message(price=1)
    with pytest.raises(TypeError):
        cast(Any, tick.attributes)["price"] = 2
    with pytest.raises(AttributeError):
        cast(Any, tick).payload = b""


def test_a_message_is_not_iterated_by_number() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(cast(Any, message(price=1)))


def test_times_are_dates_in_utc() -> None:
    tick = message()
    assert tick.published_at == datetime(2001, 9, 9, 1, 46, 40, 123_456, tzinfo=UTC)
    assert tick.received_at == datetime(2001, 9, 9, 1, 46, 41, tzinfo=UTC)
    assert tick.publisher == "a3f1c0de00112233"


def test_a_message_survives_copying() -> None:
    tick = message(price=1)
    for other in (pickle.loads(pickle.dumps(tick)), copy.deepcopy(tick)):
        assert (other, hash(other)) == (tick, hash(tick))
        with pytest.raises(TypeError):
            cast(Any, other.attributes)["price"] = 2
    assert message(price=2) != tick


def test_a_message_shows_its_id_and_its_fate() -> None:
    shown = "<Message a3f1c0de00112233:62237:17 delivered: {'price': 1}>"
    assert repr(message(price=1)) == shown


def test_seven_fates_have_the_words_of_the_trace() -> None:
    assert [str(fate) for fate in Fate] == [
        "delivered",
        "delivered_late",
        "repaired",
        "lost",
        "rate_limited",
        "dropped_late",
        "dropped_overflow",
    ]
    assert list(Fate)[:3] == [fate for fate in Fate if fate in HANDED_OVER]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32), st.integers(0, 2**64 - 1))
def test_an_id_survives_its_text(publisher: int, epoch: int, seq: int) -> None:
    one = MessageId(f"{publisher:016x}", epoch, seq)
    assert MessageId.parse(str(one)) == one


def test_an_id_is_written_as_why_takes_it() -> None:
    assert str(ID) == f"{ID}" == "a3f1c0de00112233:62237:17"
    for text in ("", "a3f1:1:1", "a3f1c0de00112233:1", "A3F1C0DE00112233:1:1", f"{ID}\n"):
        with pytest.raises(UsageError, match="names no message: write PUBLISHER:EPOCH:NUMBER"):
            MessageId.parse(text)
