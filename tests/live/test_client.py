"""The application's node: publish, subscribe, order, fates, bounds and mistakes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

import penstock
from penstock.content.syntax import parse
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.live.broker import LiveBroker, serve
from penstock.live.client import Node, connect
from penstock.live.ordering import Late
from penstock.live.subscription import Received, Subscription
from penstock.trace.fates import ReceiverFate
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import constant
from penstock.wire.limits import RECORD_ENTRIES_MAX
from tests.live.loopback import QUICK, bad_line, bound_socket, run, until

# Longer than any test; what waits under it was not handed over because time passed.
PATIENT = constant(2 * SECOND, record_used=RECORD_ENTRIES_MAX)
# Shorter than anybody notices; what waits under it is handed over soon.
HASTY = constant(MILLISECOND, record_used=RECORD_ENTRIES_MAX)
# An interest whose messages can be told by their records, which say nothing of ranges.
TICKS = "tick = true"


@asynccontextmanager
async def network() -> AsyncIterator[tuple[LiveBroker, Node]]:
    async with serve("127.0.0.1:0", agreement=QUICK) as broker, node_at(broker.address) as node:
        yield broker, node


@asynccontextmanager
async def node_at(address: str, publisher: int | None = None) -> AsyncIterator[Node]:
    async with connect(f"udp://{address}", publisher=publisher, agreement=QUICK) as node:
        yield node


async def take(subscription: Subscription, count: int) -> list[Received]:
    messages = aiter(subscription)
    return [await anext(messages) for _ in range(count)]


async def tick(publisher: Node, count: int = 1) -> None:
    for _ in range(count):
        await publisher.publish({"tick": True})


def numbers(messages: list[Received]) -> list[int]:
    return [message.number for message in messages]


def test_importing_the_package_loads_no_sockets() -> None:
    script = "import sys, penstock; sys.exit('asyncio' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_connect_is_found_where_users_look_for_it() -> None:
    assert penstock.connect is connect
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


def test_an_overtaken_message_is_put_in_order() -> None:
    async def program() -> None:
        async with (
            network() as (broker, node),
            bad_line(broker.address) as line,
            node_at(line.address) as publisher,
            node.subscribe(TICKS, ordering=PATIENT) as ordered,
            node.subscribe(TICKS, order=False) as unordered,
        ):
            await tick(publisher)
            assert numbers(await take(unordered, 1)) == [0]
            line.hold()
            await tick(publisher, 2)
            # One has it, and the other waits for the one before it.
            assert numbers(await take(unordered, 1)) == [2]
            line.release()
            got = await take(ordered, 3)
            assert numbers(got) == [0, 1, 2]
            assert numbers(await take(unordered, 1)) == [1]
            assert [message.waited_ns > 0 for message in got] == [False, False, True]
            assert {message.fate for message in got} == {ReceiverFate.DELIVERED}

    run(program())


@pytest.mark.parametrize("late", ["deliver", "drop"])
def test_a_late_message_is_handed_over_or_not(late: Late) -> None:
    async def program() -> None:
        async with (
            network() as (broker, node),
            bad_line(broker.address) as line,
            node_at(line.address) as publisher,
            node.subscribe(TICKS, ordering=HASTY, late=late) as ticks,
        ):
            missing = ticks.missing
            await tick(publisher)
            assert numbers(await take(ticks, 1)) == [0]
            line.hold()
            await tick(publisher, 2)
            assert numbers(await take(ticks, 1)) == [2]
            line.release()
            fate = f"{'delivered' if late == 'deliver' else 'dropped'}_late"
            await until(lambda: ticks.counters[fate])
            absence = await anext(missing)
            assert (absence.id.seq, absence.resolution) == (1, fate)
            await tick(publisher)
            rest = [1, 3] if late == "deliver" else [3]
            assert numbers(await take(ticks, len(rest))) == rest

    run(program())


def test_a_lost_message_is_given_up_and_told() -> None:
    async def program() -> None:
        async with network() as (broker, node), bad_line(broker.address) as line:
            async with (
                node_at(line.address, 9) as publisher,
                node.subscribe(TICKS, ordering=HASTY) as ticks,
            ):
                missing = ticks.missing
                await tick(publisher)
                assert numbers(await take(ticks, 1)) == [0]
                line.lose()
                await tick(publisher, 2)
                assert numbers(await take(ticks, 1)) == [2]
            told = [(a.id.pub, a.id.seq, a.resolution) async for a in missing]
            assert told == [(9, 1, ReceiverFate.GIVEN_UP)]
            assert (ticks.counters["missing"], ticks.counters["given_up"]) == (1, 1)

    run(program())


def test_who_asks_too_late_what_was_missing_finds_the_end() -> None:
    async def program() -> None:
        async with network() as (_, node):
            async with node.subscribe(TICKS) as ticks:
                pass
            assert [absence async for absence in ticks.missing] == []

    run(program())


def test_a_subscription_is_adjusted_while_it_lasts() -> None:
    async def program() -> None:
        async with network() as (broker, node), bad_line(broker.address) as line:
            async with (
                node_at(line.address) as publisher,
                node.subscribe(TICKS, ordering=PATIENT) as ticks,
                node.subscribe(TICKS, order=False) as unordered,
            ):
                await tick(publisher)
                assert numbers(await take(unordered, 1)) == [0]
                line.lose()
                await tick(publisher, 2)
                assert numbers(await take(unordered, 1)) == [2]
                # It need not wait any more for the one that was lost.
                ticks.adjust(order=False)
                assert numbers(await take(ticks, 2)) == [0, 2]
                assert ticks.ordering.latch is None
                ticks.adjust(order=True, max_delay=0.1, late="drop")
                assert ticks.ordering.max_delay_ns == 100 * MILLISECOND
                with pytest.raises(UsageError, match="max_delay"):
                    ticks.adjust(max_delay=100.0)
                assert ticks.ordering.max_delay_ns == 100 * MILLISECOND
            with pytest.raises(UsageError, match="inside its 'async with'"):
                ticks.adjust(late="deliver")

    run(program())


def test_a_slow_application_loses_what_its_queue_cannot_hold() -> None:
    async def program() -> None:
        async with network() as (_, node), node.subscribe("x >= 0", queue_max=5) as ticks:
            for x in range(20):
                await node.publish({"x": x})
            await until(lambda: ticks.counters["overflow"] == 15)
            assert numbers(await take(ticks, 5)) == [0, 1, 2, 3, 4]
            await node.publish({"x": 20})
            assert numbers(await take(ticks, 1)) == [20]
            assert ticks.counters["delivered"] == 21

    run(program())


def test_what_is_queued_still_comes_when_the_subscription_has_ended() -> None:
    async def program() -> None:
        async with network() as (_, node):
            async with node.subscribe("x >= 0") as ticks:
                for x in range(3):
                    await node.publish({"x": x})
                await until(lambda: ticks.counters["delivered"] == 3)
            assert numbers([message async for message in ticks]) == [0, 1, 2]

    run(program())


def test_an_ended_subscription_is_taken_back_from_the_broker() -> None:
    async def program() -> None:
        async with network() as (broker, node):
            async with node.subscribe("x = 1"):
                await until(broker.machine.advertised)
            await until(lambda: not broker.machine.advertised())

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


def test_nobody_answers() -> None:
    async def program() -> None:
        silent = bound_socket()
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        complaint = f"no broker answers at {where}: start one with 'penstock broker --listen"
        with pytest.raises(UsageError, match=complaint):
            async with connect(f"udp://{where}", timeout=0.05):
                pass
        silent.close()
        # Where there is no socket at all it is the same.
        with pytest.raises(UsageError, match=complaint):
            async with connect(where, timeout=0.05):
                pass

    run(program())


def test_a_broker_of_another_network_is_no_broker() -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            with pytest.raises(UsageError, match="check that its --network is ours"):
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


@pytest.mark.parametrize("publisher", [-1, 2**64])
def test_a_publisher_is_a_number_of_64_bits(publisher: int) -> None:
    async def program() -> None:
        async with serve("127.0.0.1:0", agreement=QUICK) as broker:
            with pytest.raises(UsageError, match="2\\^64"):
                async with node_at(broker.address, publisher):
                    pass

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
