"""The application's node: publish, subscribe, order, fates, bounds and mistakes."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import warnings
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

import penstock
from penstock.content.syntax import parse
from penstock.kernel.errors import UnreachableError, UsageError
from penstock.kernel.instant import MILLISECOND
from penstock.live.daemon.broker import serve
from penstock.live.node.node import connect
from penstock.trace.fates import ReceiverFate
from penstock.transport.endpoint import Endpoint
from tests.live.loopback import QUICK, bound_socket, network, node_at, numbers, run, take, until


def test_importing_the_package_loads_no_sockets() -> None:
    script = "import sys, penstock; sys.exit('asyncio' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_interface_is_found_where_users_look_for_it() -> None:
    assert penstock.connect is connect
    assert penstock.UsageError is UsageError
    assert penstock.OFF.latch is None
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
        assert name in dir(penstock)
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        penstock.conect  # type: ignore[attr-defined]  # noqa: B018


def test_a_node_gets_what_it_publishes_itself() -> None:
    async def program() -> None:
        async with network() as (_, node):
            interest = 'symbol = "IBM" and price < 120'
            async with node.subscribe(interest, max_delay=0.2) as ticks:
                name = await node.publish({"symbol": "IBM", "price": 101.5}, payload=b"pay")
                (message,) = await take(ticks, 1)
        assert dict(message.attributes) == {"symbol": "IBM", "price": 101.5}
        assert (message.payload, message.fate) == (b"pay", ReceiverFate.DELIVERED)
        assert (message.publisher, message.epoch, message.number) == name

    run(program())


def test_many_messages_come_in_order_and_only_those_that_match() -> None:
    async def program() -> None:
        async with network() as (broker, node), node_at(broker.address, 7) as other:
            async with node.subscribe(parse("even = true")) as evens:
                for number in range(400):
                    await other.publish({"even": number % 2 == 0})
                got = await take(evens, 200)
            assert numbers(got) == list(range(0, 400, 2))
            assert {message.publisher for message in got} == {7}
            assert evens.counters["delivered"] == 200
            assert node.counters["socket"]["corrupt"] == 0

    run(program())


def test_several_subscriptions_each_get_their_own() -> None:
    async def program() -> None:
        async with (
            network() as (_, node),
            node.subscribe("x < 2") as low,
            node.subscribe("x > 0") as high,
            node.subscribe("x < 2") as again,
        ):
            for x in range(4):
                await node.publish({"x": x})
            got = [numbers(await take(s, n)) for s, n in ((low, 2), (high, 3), (again, 2))]
        assert got == [[0, 1], [1, 2, 3], [0, 1]]

    run(program())


def test_who_waits_for_messages_learns_that_the_node_has_ended() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            async with node_at(broker.address) as node:
                ticks = await node.subscribe("x = 1").__aenter__()
                reader = asyncio.create_task(take(ticks, 1))
                await asyncio.sleep(0)
            with pytest.raises(StopAsyncIteration):
                await anext(aiter(ticks))
            with pytest.raises(StopAsyncIteration):
                await reader
            with pytest.raises(UsageError, match="closed"):
                await node.publish({"x": 1})
            assert not node.is_connected

    run(program())


def test_a_bug_of_ours_is_told_to_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        async with network() as (_, node), node.subscribe("x = 1") as ticks:

            def fail(*_: object, **__: object) -> None:
                raise ZeroDivisionError("a bug")

            monkeypatch.setattr(Endpoint, "receive", fail)
            with pytest.raises(ZeroDivisionError, match="a bug"):
                await anext(aiter(ticks))

    run(program())


def test_the_broker_comes_back_and_knows_what_was_asked() -> None:
    async def program() -> None:
        async with AsyncExitStack() as stack:
            async with serve("127.0.0.1:0", agreement=QUICK) as first:
                address = first.address
                node = await stack.enter_async_context(node_at(address))
                ticks = await stack.enter_async_context(node.subscribe("x >= 0"))
            async with serve(address, agreement=QUICK) as second:
                await until(second.machine.advertised)
                await node.publish({"x": 5})
                (message,) = await take(ticks, 1)
                assert message.attributes["x"] == 5

    run(program())


def test_a_silent_broker_is_noticed_and_what_left_meanwhile_is_counted() -> None:
    overlay = replace(QUICK.overlay, dead_ns=300 * MILLISECOND)
    hasty = replace(QUICK, overlay=overlay)

    async def program() -> None:
        async with AsyncExitStack() as stack:
            async with serve("127.0.0.1:0", agreement=hasty) as first:
                address = first.address
                node = await stack.enter_async_context(connect(address, agreement=hasty))
                await node.publish({"x": 0})
                await node.wait_heard()
                # Its next answer says that it was still there.
                answers = node.counters["socket"]["received"]
                await until(lambda: node.counters["socket"]["received"] > answers)
            await node.publish({"x": 1})
            # Nobody knows yet.
            assert node.counters["node"] == {"published": 2, "unanswered": 0}
            await node.wait_silent()
            assert not node.is_connected
            await node.publish({"x": 2})
            assert node.counters["node"] == {"published": 3, "unanswered": 2}
            async with serve(address, agreement=hasty):
                await node.wait_heard()
                await node.publish({"x": 3})
                assert node.counters["node"] == {"published": 4, "unanswered": 2}
                await stack.aclose()
                assert node.counters["node"] == {"published": 4, "unanswered": 2}

    run(program())


def test_nobody_answers() -> None:
    async def program() -> None:
        silent = bound_socket()
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        complaint = f"no broker answers at {where}: start one with 'penstock broker --listen"
        with pytest.raises(UnreachableError, match=complaint):
            async with connect(f"udp://{where}", timeout=0.05):
                pass
        silent.close()
        # Where there is no socket at all it is the same; programs know it as a lost connection.
        with pytest.raises(ConnectionError, match=complaint):
            async with connect(where, timeout=0.05):
                pass

    run(program())


def test_a_broker_of_another_network_is_no_broker() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            with pytest.raises(UnreachableError, match="check that its --network is ours"):
                async with connect(broker.address, timeout=0.05):
                    pass

    run(program())


def test_a_broker_may_start_after_its_clients() -> None:
    async def program() -> None:
        sock = bound_socket()
        where = f"127.0.0.1:{sock.getsockname()[1]}"
        sock.close()

        async def connected() -> bool:
            async with connect(where, agreement=QUICK, timeout=50) as node:
                return node.is_connected

        connecting = asyncio.create_task(connected())
        await asyncio.sleep(0)
        async with serve(where, agreement=QUICK):
            assert await connecting

    run(program())


def test_mistakes_are_the_callers_and_do_no_harm() -> None:
    async def program() -> None:
        async with network() as (_, node):
            with pytest.raises(UsageError, match="too large for a frame"):
                await node.publish({"x": 1}, payload=b"x" * 1400)
            for value in (float("nan"), float("-inf")):
                with pytest.raises(UsageError, match=f"attribute 'x' is {value}: leave it out"):
                    await node.publish({"x": value})
            with pytest.raises(UsageError, match="mapping"):
                await node.publish([1])  # type: ignore[arg-type]
            with pytest.raises(UsageError, match="column"):
                node.subscribe("price <")
            names = ", ".join(f'"{n:0>60}"' for n in range(30))
            with pytest.raises(UsageError, match="SUB of"):
                node.subscribe(f"x in ({names})")
            with pytest.raises(UsageError, match="1 item or more"):
                node.subscribe("x = 1", queue_max=0)
            async with node.subscribe("x = 1") as ticks:
                with pytest.raises(UsageError, match="begins once"):
                    await ticks.__aenter__()
                await node.publish({"x": 1})
                assert numbers(await take(ticks, 1)) == [0]

    run(program())


@pytest.mark.parametrize("timeout", ["5", float("nan")])
def test_a_timeout_is_a_number(timeout: float) -> None:
    async def program() -> None:
        with pytest.raises(UsageError, match="timeout is a finite number"):
            async with connect("127.0.0.1:7400", timeout=timeout):
                pass

    run(program())


@pytest.mark.parametrize("publisher", [-1, 2**64])
def test_a_publisher_is_a_number_of_64_bits(publisher: int) -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            with pytest.raises(UsageError, match="2\\^64"):
                async with node_at(broker.address, publisher):
                    pass

    run(program())


@pytest.mark.parametrize("wrong", [{"record": 10}, {"agreement": None}, {"publisher": "x"}])
def test_what_is_no_setting_is_refused_before_there_is_a_socket(wrong: dict[str, Any]) -> None:
    async def program() -> None:
        with pytest.raises(UsageError):
            async with connect("udp://127.0.0.1:7400", **wrong):
                pass

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        run(program())
        gc.collect()


def test_what_is_no_interest_or_setting_of_one_is_refused() -> None:
    async def program() -> None:
        async with network() as (_, node):
            for wrong in ({"interest": None}, {"ordering": None}, {"queue_max": None}):
                with pytest.raises(UsageError):
                    node.subscribe(**{"interest": "a = 1", **wrong})  # type: ignore[arg-type]

    run(program())


def test_a_subscription_that_is_entered_twice_at_once_begins_once() -> None:
    async def program() -> None:
        async with network() as (_, node):
            both = node.subscribe("exists a")
            entered = await asyncio.gather(
                both.__aenter__(), both.__aenter__(), return_exceptions=True
            )
            assert [type(outcome) for outcome in entered].count(UsageError) == 1
            await node.publish({"a": 1})
            await node.publish({"a": 2})
            got = await take(both, 2)
            assert numbers(got) == [0, 1]
            both.end()

    run(program())


def test_a_publisher_that_starts_again_is_believed() -> None:
    async def program() -> None:
        async with network() as (broker, node), node.subscribe("x >= 0") as ticks:
            for x in range(2):
                async with node_at(broker.address, 7) as publisher:
                    await publisher.publish({"x": x})
                (message,) = await take(ticks, 1)
                assert (message.attributes["x"], message.number) == (x, 0)

    run(program())
