"""What a broker answers to `list`, `durables` and `status`, and the verbs that change something."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock import streams
from penstock.kernel.instant import SECOND
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.log.store import STORE_NAME
from penstock.live.net.address import HostPort


def answers(
    directory: Path, *asked: tuple[str, dict[str, Any]], messages: int = 10, read: int = 4
) -> list[Any]:
    """Asks a broker whose stream `orders` is read by `all` and, through a filter, by `some`."""

    async def main() -> list[Any]:
        broker = StreamBroker(directory, name="b1")
        await broker.start(HostPort("127.0.0.1", 0))
        try:
            async with streams.connect(broker.address) as node:
                orders = node.stream("orders", create=True)
                pending = [await orders.submit({"n": n}, b"x" * 400) for n in range(messages)]
                for each in pending:
                    await each
                for name, filter in (("all", "true"), ("some", "n >= 0")):
                    async with orders.subscribe(
                        filter, durable=name, start="first", ack="manual"
                    ) as inbox:
                        if name == "all":
                            *_, last = [await anext(inbox) for _ in range(read)]
                            await last.ack()
                return [await node.request(*each) for each in asked]
        finally:
            await broker.close()

    return asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize("read", [1, 7, 499])
def test_the_lag_of_a_durable_that_nobody_reads_is_exact(tmp_path: Path, read: int) -> None:
    """Of several stretches of the log: `read` lies within one, and at the edges."""
    (found,) = answers(tmp_path, ("durables", {}), messages=500, read=read)
    everything, some = found["durables"]
    assert everything["lag"]["messages"] == 500 - read
    assert not everything["lag"]["is_upper_bound"]
    assert 0 < everything["lag"]["seconds"] < 30
    assert 0 < everything["lag"]["retention_share"] < 0.001
    assert some["lag"]["messages"] == 500
    assert some["lag"]["is_upper_bound"]
    assert not found["more"]


def test_a_durable_tells_what_it_is(tmp_path: Path) -> None:
    (found,) = answers(tmp_path, ("durables", {"after": "all"}))
    (some,) = found["durables"]
    assert (some["name"], some["streams"], some["host"]) == ("some", ["orders"], "b1")
    assert some["filter"] == "n >= 0"
    assert (some["reader"], some["reader_since_ns"]) == (None, None)
    assert some["unread_since_ns"] > SECOND
    assert len(some["positions"]) == 1
    assert (some["attempts"], some["poison"], some["expire_seconds"]) == (5, "stop", None)
    assert (some["parked"], some["stopped"]) == (0, "")


def test_a_stream_tells_who_keeps_it_from_being_trimmed(tmp_path: Path) -> None:
    (found,) = answers(tmp_path, ("list", {}))
    (orders,) = found["streams"]
    assert (orders["name"], orders["is_here"], orders["messages"]) == ("orders", True, 10)
    assert orders["retention"] == {
        "size_bytes": 10_000_000_000,
        "age_ns": 7 * 86_400 * SECOND,
        "drops": False,
    }
    holder = orders["held_by"]
    assert (holder["host"], holder["durables"], holder["messages"]) == ("b1", ["some"], 10)
    assert holder["bytes"] == orders["bytes"] > 4_000
    assert holder["since_ns"] > SECOND
    assert orders["hosts"] == [holder]


def test_the_status_of_a_broker_has_the_times_of_its_disk(tmp_path: Path) -> None:
    (found,) = answers(tmp_path, ("status", {}))
    assert (found["broker"], found["clients"], found["streams"]) == ("b1", 1, 1)
    assert found["durables"] == 2
    assert 0 < found["sync_p50_seconds"] <= found["sync_p99_seconds"] < 10
    assert found["oldest_gap_seconds"] is None
    assert found["repeated_share"] == found["repeated"] / max(1, found["received"])


def test_deleted_durables_no_longer_hold_a_stream(tmp_path: Path) -> None:
    _, _, durables, listed = answers(
        tmp_path,
        ("forget", {"durable": "some"}),
        ("forget", {"durable": "all"}),
        ("durables", {}),
        ("list", {}),
    )
    assert durables == {"durables": [], "more": False}
    assert listed["streams"][0]["held_by"] is None


def test_a_stream_is_stored_when_its_creation_is_answered(tmp_path: Path) -> None:
    """And when its deletion is, nothing of it is left."""

    def stored() -> list[str]:
        with closing(sqlite3.connect(tmp_path / STORE_NAME)) as store:
            rows = store.execute("SELECT key FROM saved WHERE key LIKE 'stream/%'").fetchall()
        return [key for (key,) in rows]

    async def main() -> None:
        broker = StreamBroker(tmp_path, name="b1")
        await broker.start(HostPort("127.0.0.1", 0))
        try:
            async with streams.connect(broker.address) as node:
                created = await node.request("create", {"stream": "bids"})
                assert stored() == ["stream/bids"]
                log = tmp_path / "logs" / created["pubends"][0]
                assert log.is_dir()
                await node.request("delete", {"stream": "bids"})
                assert stored() == []
                assert not log.exists()
        finally:
            await broker.close()

    asyncio.run(asyncio.wait_for(main(), 30))
