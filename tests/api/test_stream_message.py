"""Messages of a stream acknowledge themselves, by whoever handed them over."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import weakref

import pytest

from penstock.api.checkpoint import Checkpoint
from penstock.api.message import Fate, Message
from penstock.api.position import Position
from penstock.api.stream_message import StreamMessage
from penstock.kernel.errors import UsageError

HERE = Position(7, 9)


class Inbox:
    """Notes what it is told, and keeps the last message, as a subscription does."""

    def __init__(self) -> None:
        self.told: list[tuple[Position, str]] = []
        self.last = StreamMessage(
            attributes={"qty": 100},
            payload=b"",
            id=HERE.message_id,
            fate=Fate.DELIVERED,
            published_ns=1,
            received_ns=2,
            stream="orders",
            position=HERE,
            _read={3: 4},
            _reader=self,
        )

    async def acknowledge(self, position: Position) -> None:
        self.told.append((position, "ack"))

    async def fail(self, position: Position, reason: str) -> None:
        self.told.append((position, reason))


def test_ack_and_fail_reach_the_subscription() -> None:
    inbox = Inbox()

    async def work() -> None:
        await inbox.last.ack()
        await inbox.last.fail()
        await inbox.last.fail("no such account")

    asyncio.run(work())
    assert inbox.told == [(HERE, "ack"), (HERE, ""), (HERE, "no such account")]


def test_it_is_a_message_with_a_place() -> None:
    order = Inbox().last
    assert isinstance(order, Message)
    assert (order["qty"], order.stream, order.attempt) == (100, "orders", 1)
    assert str(order.id) == "0000000000000007:0:9"
    assert Checkpoint.parse(order.checkpoint) == {3: 4, 7: 9}


def test_a_copy_has_the_content_and_cannot_be_acknowledged() -> None:
    order = Inbox().last
    for other in (pickle.loads(pickle.dumps(order)), copy.deepcopy(order)):
        assert (other, hash(other), other.checkpoint) == (order, hash(order), order.checkpoint)
        with pytest.raises(UsageError, match="a copy of a message cannot be acknowledged: keep"):
            asyncio.run(other.ack())
        with pytest.raises(UsageError, match="cannot be given back"):
            asyncio.run(other.fail())


def test_a_message_and_its_subscription_do_not_keep_each_other() -> None:
    inbox = Inbox()
    gone = weakref.ref(inbox)
    del inbox
    gc.collect()
    assert gone() is None
