"""Congestion control on real sockets: a publisher that begins slowly, and whoever waits for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from penstock import CongestionSettings, connect
from penstock.kernel.errors import UsageError
from penstock.live.daemon.broker import serve
from tests.live.loopback import QUICK, TICKS, numbers, run, take, tick

SLOW = CongestionSettings(initial_rate_mps=40.0, queue_max=5)


def test_what_has_to_wait_leaves_in_its_turn() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            connect(f"udp://{broker.address}", agreement=QUICK, congestion=SLOW) as publisher,
            connect(f"udp://{broker.address}", agreement=QUICK, congestion=SLOW) as subscriber,
            subscriber.subscribe(TICKS) as ticks,
        ):
            # Four times as many as may wait: whoever publishes does, too, and loses nothing.
            await tick(publisher, 20)
            assert numbers(await take(ticks, 20)) == list(range(20))
            assert publisher.counters["transport"]["dropped_at_source"] == 0

    run(program())


def test_what_there_is_no_room_for_is_dropped_if_that_is_wanted() -> None:
    dropping = replace(SLOW, policy="drop-newest")

    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            connect(f"udp://{broker.address}", agreement=QUICK, congestion=dropping) as node,
        ):
            names = [await node.publish({"tick": number}) for number in range(20)]
            dropped = node.counters["transport"]["dropped_at_source"]
        # The first leaves at once, and has a name.
        assert names[0] is not None
        assert dropped > 0
        assert names.count(None) >= dropped

    run(program())


def test_who_waits_for_room_learns_that_the_node_is_closed() -> None:
    async def program() -> None:
        endless = replace(SLOW, initial_rate_mps=0.001)
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            where = f"udp://{broker.address}"
            async with connect(where, agreement=QUICK, congestion=endless, linger=0) as node:
                waiting = asyncio.create_task(tick(node, 100))
                await asyncio.sleep(0.1)
                assert not waiting.done()
            with pytest.raises(UsageError, match="this node is closed"):
                await waiting
            with pytest.raises(UsageError, match="this node is closed"):
                await node.publish({"tick": 101})
            # The first left; five waited.
            assert node.counters["transport"]["dropped_at_source"] == 5

    run(program())


def test_what_waits_at_the_end_may_still_leave() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            connect(f"udp://{broker.address}", agreement=QUICK) as subscriber,
            subscriber.subscribe(TICKS) as ticks,
        ):
            where = f"udp://{broker.address}"
            patient = replace(SLOW, queue_max=100)
            async with connect(where, agreement=QUICK, congestion=patient) as publisher:
                await tick(publisher, 20)
                assert publisher.counters["queue"]["waiting"] > 0
                assert await publisher.drain(0.001) > 0
            assert publisher.counters["queue"]["waiting"] == 0
            assert publisher.counters["transport"]["dropped_at_source"] == 0
            assert numbers(await take(ticks, 20)) == list(range(20))

    run(program())


@pytest.mark.parametrize("wrong", [True, {}, "default"])
def test_what_is_no_setting_is_refused(wrong: Any) -> None:
    async def program() -> None:
        with pytest.raises(UsageError, match="congestion must be a CongestionSettings"):
            async with connect("udp://127.0.0.1:1", congestion=wrong):
                pass

    run(program())


@pytest.mark.parametrize("linger", [-1, 10**400, float("nan"), "soon"])
def test_a_time_that_is_none_is_refused(linger: object) -> None:
    async def program() -> None:
        with pytest.raises(UsageError, match=r"^linger is a "):
            async with connect("127.0.0.1:1", linger=linger):  # type: ignore[arg-type]
                pass

    run(program())


def test_a_rate_of_hundreds_of_digits_is_refused() -> None:
    with pytest.raises(UsageError, match="initial_rate_mps is a finite number"):
        CongestionSettings(initial_rate_mps=10**400)
