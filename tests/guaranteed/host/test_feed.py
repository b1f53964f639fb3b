"""What a feed keeps while it is handed over to reader 0."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from penstock.guaranteed.host.feed import HELD_BYTES_MAX, Feed
from penstock.guaranteed.stream_item import EVERYTHING, StreamItem
from penstock.wire.codec.guaranteed.body import write_body


def test_what_is_held_until_the_hand_over_is_bounded_in_bytes() -> None:
    subscription: Any = SimpleNamespace(predicate=EVERYTHING)
    feed = Feed(subscription, 0xA, 0, attempts=cast("Any", None))
    body = write_body({}, bytes(HELD_BYTES_MAX // 5))
    feed.target = 5
    items = [StreamItem(tick, 0, body) for tick in range(4, 10)]
    feed.hold(items[:5])
    assert [*feed.held] == items[1:5]
    feed.hold(items[5:])
    assert not feed.held
    targets: list[int | None] = [feed.target]
    assert targets == [None]
