"""Several streams at once, gaps, receipts, and what brokers tell of streams and durable names."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from penstock import streams
from penstock.api.checkpoint import Checkpoint
from tests.live.guaranteed.programs import broker_at, numbers_of, published, run


def test_one_subscription_reads_several_streams_each_in_order(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        await published(node, 1, 2, 3, name="a")
        await published(node, 4, 5, 6, name="b")
        async with node.subscribe("n > 1", streams=["a", "b"], durable="d", start="first") as inbox:
            got: dict[str, list[int]] = {"a": [], "b": []}
            messages: list[streams.StreamMessage] = []
            while len(messages) < 5:
                messages += await inbox.receive(10, wait="5s")
            for message in messages:
                got[message.stream].append(message["n"])
            assert got == {"a": [2, 3], "b": [4, 5, 6]}
        # Each checkpoint says how far both had been read when its message was handed over.
        for at, message in enumerate(messages):
            async with node.subscribe(
                "n > 1", streams=["a", "b"], start="first", checkpoint=message.checkpoint
            ) as rest:
                left = sorted(await numbers_of(rest, 4 - at))
                assert left == sorted(each["n"] for each in messages[at + 1 :])
        with pytest.raises(streams.DurableError, match="reads a, b") as caught:
            await node.stream("a").subscribe("n > 1", durable="d")
        assert caught.value.reason == "other_filter"

    run(tmp_path, program)


@pytest.mark.parametrize("streams_", ["orders", [], [""], [7]])
def test_streams_are_a_list_of_names(tmp_path: Path, streams_: list[str]) -> None:
    async def program(node: streams.StreamNode) -> None:
        with pytest.raises(streams.UsageError, match=r"streams|is no name of a stream"):
            node.subscribe("true", streams=streams_)

    run(tmp_path, program)


def with_gap(directory: Path, program: Callable[[streams.Stream, str], Awaitable[None]]) -> None:
    """Runs a program with a stream that has given up what lies behind a checkpoint."""
    first: list[streams.Position | None] = []

    async def fill(node: streams.StreamNode) -> None:
        retention = streams.Retention(size="1MB", overflow="drop")
        info = await node.create_stream("orders", retention=retention)
        assert (info.name, info.messages, info.retention) == ("orders", 0, retention)
        orders = node.stream("orders")
        for pending in [await orders.submit({"n": n}, bytes(10_000)) for n in range(500)]:
            first.append((await pending).position)

    async def trim(node: streams.StreamNode) -> None:
        while (await node.list_streams())[0].messages > 300:
            # Whole segments go, a moment later.
            pass

    async def read(node: streams.StreamNode) -> None:
        position = first[0]
        assert position is not None
        await program(node.stream("orders"), str(Checkpoint([position])))

    # A broker that ends has trimmed; one that has started anew has nothing in memory.
    run(directory, fill)
    run(directory, trim)
    run(directory, read)


async def first_behind_gaps(inbox: streams.StreamSubscription) -> int:
    """The number of the next message; a gap is asked for in pieces, and told so."""
    while True:
        with contextlib.suppress(streams.GapError):
            return int((await anext(inbox))["n"])


def test_a_gap_raises_and_iterating_again_goes_on(tmp_path: Path) -> None:
    async def program(orders: streams.Stream, checkpoint: str) -> None:
        async with orders.subscribe(checkpoint=checkpoint) as inbox:
            with pytest.raises(
                streams.GapError,
                match=r"stream 'orders' gave up at most [\d,]+ messages that this subscription had"
                r" not read \(retention 1MB, 7d, drop\): iterate again to go on",
            ) as caught:
                await anext(inbox)
            loss = caught.value.loss
            assert (loss.stream, loss.reason, loss.fate) == ("orders", "retention", "lost")
            first = await first_behind_gaps(inbox)
            assert 1 < first <= loss.count + 1
            assert await numbers_of(inbox, 499 - first) == [*range(first + 1, 500)]

    with_gap(tmp_path, program)


def test_the_lag_of_what_was_given_up_is_a_bound(tmp_path: Path) -> None:
    """What is given up may still be delivered, out of memory: the lag is not below that."""

    async def program(node: streams.StreamNode) -> None:
        await node.create_stream("orders", retention=streams.Retention(size="1MB", overflow="drop"))
        orders = await published(node, 0)
        async with orders.subscribe(durable="d", start="first") as inbox:
            await inbox.receive(1, wait="5s")
        for pending in [await orders.submit({"n": n}, bytes(10_000)) for n in range(1, 501)]:
            await pending
        while (await node.list_streams())[0].messages > 150:
            # It is trimmed five times a second.
            pass
        (found,) = await node.list_durables()
        # That the first one was read may be on its way.
        assert found.lag.messages in (500, 501)
        assert found.lag.is_upper_bound
        async with orders.subscribe(durable="d", on_gap="continue") as inbox:
            delivered = 0
            while (await anext(inbox))["n"] < 500:
                delivered += 1
            assert delivered <= 499
        # Nothing is left that could be gone.
        (found,) = await node.list_durables()
        assert (found.lag.messages, found.lag.is_upper_bound) == (0, False)

    run(tmp_path, program)


def test_gaps_can_be_losses_instead(tmp_path: Path) -> None:
    async def program(orders: streams.Stream, checkpoint: str) -> None:
        async with orders.subscribe(checkpoint=checkpoint, on_gap="continue") as inbox:
            told = inbox.losses
            assert (await anext(inbox))["n"] > 1
            # A gap is asked for in pieces, and told so.
            losses = await told.receive()
            assert {loss.reason for loss in losses} == {"retention"}
            assert inbox.statistics().lost == sum(loss.count for loss in losses)
        async with orders.subscribe(checkpoint=checkpoint) as inbox:
            items = inbox.with_losses()
            assert isinstance(await anext(items), streams.Loss)
            while isinstance(message := await anext(items), streams.Loss):
                pass
            assert message["n"] > 1

    with_gap(tmp_path, program)


def test_receive_waits_on_after_a_gap(tmp_path: Path) -> None:
    async def program(orders: streams.Stream, checkpoint: str) -> None:
        async with orders.subscribe("n >= 499", checkpoint=checkpoint, on_gap="continue") as inbox:
            # The gap comes first: it alone is nothing to return.
            (message,) = await inbox.receive(wait="20s")
            assert message["n"] == 499
            assert inbox.statistics().lost > 0

    with_gap(tmp_path, program)


def test_a_receipt_comes_before_the_sync_and_drain_waits_for_it(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        await node.create_stream("orders")
        quick = node.stream("orders", confirm="received")
        confirmations = [await quick.publish({"n": n}) for n in range(100)]
        assert await node.drain("5s") == 0
        assert node.statistics().confirmed == 100
        async with quick.subscribe(start="first") as inbox:
            positions = [(await anext(inbox)).position for _ in range(100)]
        assert positions == [each.position for each in confirmations]
        with pytest.raises(streams.RefusedError, match="no stream 'nowhere'"):
            await node.stream("nowhere", confirm="received").publish({"n": 1})

    run(tmp_path, program)


def test_a_number_on_its_way_is_not_sent_twice(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        await node.create_stream("a")
        await node.create_stream("b")
        a, b = node.stream("a"), node.stream("b")
        first, again = (
            await a.submit({"n": 1}, publication=5),
            await a.submit({"n": 1}, publication=5),
        )
        assert first is again
        other = await b.submit({"n": 2}, publication=5)
        assert (await first).position != (await other).position
        assert not (await other).is_duplicate
        assert (await a.publish({"n": 1}, publication=5)).is_duplicate
        await a.publish({"n": 3})
        with pytest.raises(streams.UsageError, match="publication=6 comes after messages without"):
            await a.publish({"n": 4}, publication=6)

    run(tmp_path, program)


def test_brokers_tell_of_streams_and_durable_names(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, *range(10))
        async with orders.subscribe("n >= 0", durable="d", start="first") as inbox:
            await numbers_of(inbox, 4)
            lag = await inbox.lag()
            assert lag.messages is not None
            assert 6 <= lag.messages <= 10
            assert lag.is_upper_bound
            (info,) = await node.list_durables()
            assert (info.name, info.streams, info.host) == ("d", ("orders",), "b1")
            assert info.filter == streams.Filter("n >= 0")
            assert info.reader is not None
        (stream,) = await node.list_streams()
        assert (stream.name, stream.messages, stream.is_here) == ("orders", 10, True)
        assert stream.held_by is not None
        assert (stream.held_by.host, stream.held_by.durables) == ("b1", ("d",))
        with pytest.raises(streams.RefusedError, match="already") as refused:
            await node.create_stream("orders")
        assert refused.value.reason == "exists"
        async with orders.subscribe("n >= 0", durable="d") as inbox:
            await node.delete_durable("d")
            with pytest.raises(streams.DurableError, match="has been deleted") as caught:
                _ = [each async for each in inbox]
            assert (caught.value.durable, caught.value.reason) == ("d", "unknown")
        assert await node.list_durables() == []
        for call in (
            node.seek("d", "first"),
            node.delete_durable("d"),
            anext(node.parked("d")),
        ):
            with pytest.raises(streams.DurableError, match="no durable 'd'") as unknown:
                await call
            assert unknown.value.reason == "unknown"
        with pytest.raises(streams.RefusedError, match="no host 'elsewhere'"):
            await node.forget_host("elsewhere")
        with pytest.raises(streams.UsageError, match="pass durable=NAME"):
            async with orders.subscribe() as inbox:
                await inbox.lag()
        await node.delete_stream("orders")
        assert await node.list_streams() == []

    run(tmp_path, program)


def test_the_first_address_that_answers_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            async with streams.connect(["127.0.0.1:1", broker.address]) as node:
                assert node.address == broker.address
            monkeypatch.setenv("PENSTOCK_STREAMS", f"tcp://127.0.0.1:1,{broker.address}")
            async with streams.connect() as node:
                assert node.address == broker.address
        with pytest.raises(streams.UnreachableError, match=r"at 127\.0\.0\.1:1 or 127\.0\.0\.1:2:"):
            await streams.connect(["127.0.0.1:1", "127.0.0.1:2"], timeout="100ms")

    asyncio.run(asyncio.wait_for(main(), 20))


def test_of_two_nodes_with_one_name_the_newer_stays(tmp_path: Path) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            older = await streams.connect(broker.address, name="pricer")
            inbox = await (await published(older, 1)).subscribe()
            newer = await streams.connect(broker.address, name="pricer")
            with pytest.raises(streams.RefusedError, match="a newer connection has the same name"):
                await anext(inbox)
            with pytest.raises(streams.RefusedError) as caught:
                await older.stream("orders").publish({"n": 1})
            assert caught.value.reason == "fenced"
            await newer.stream("orders").publish({"n": 2})
            await older.aclose()
            await newer.aclose()

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"window": 0}, "window is 1 to"),
        ({"attempts": 0}, "attempts is 1 to"),
        ({"expire": "1ms", "durable": "d"}, "expire is 1 s to"),
        ({"ack": "never"}, 'ack cannot be "never": write "next" or "manual"'),
        ({"poison": "eat"}, 'poison cannot be "eat"'),
        ({"on_gap": "cry"}, 'on_gap cannot be "cry"'),
        ({"expire": "1d"}, "expire is about a durable name: pass durable=NAME"),
        ({"takeover": True}, "takeover is about a durable name: pass durable=NAME"),
        ({"start": "last"}, 'start of a stream cannot be "last"'),
        ({"checkpoint": "x"}, "is no checkpoint"),
        ({"durable": "d" * 65}, "a durable name has 1 to 64 bytes"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(
    tmp_path: Path, options: dict[str, object], complaint: str
) -> None:
    async def program(node: streams.StreamNode) -> None:
        with pytest.raises(streams.UsageError, match=complaint):
            node.stream("orders").subscribe(**options)  # type: ignore[arg-type]

    run(tmp_path, program)


def test_names_that_nothing_can_have_are_refused_at_once(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        for name in ("", "n" * 65, "é" * 5_000):
            for ask in (
                node.delete_stream,
                node.delete_durable,
                node.forget_host,
                lambda name: node.seek(name, "first"),
            ):
                with pytest.raises(streams.UsageError, match="has 1 to 64 bytes, not"):
                    await ask(name)
            with pytest.raises(streams.UsageError, match="has 1 to 64 bytes, not"):
                node.parked(name)

    run(tmp_path, program)
