"""A program's view of guaranteed streams, with a broker in the same process."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import struct
from pathlib import Path

import pytest

from penstock import streams
from penstock.kernel.errors import UsageError
from penstock.live.guaranteed.addresses import parse_address
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net.address import HostPort
from penstock.wire.codec.guaranteed.client_frames import CLIENT_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import frame_bytes
from penstock.wire.frames.guaranteed.client import Connect
from tests.live.guaranteed.programs import broker_at, messages_of, published, run
from tests.live.loopback import DEADLINE_S


def test_what_is_confirmed_is_read_in_order_by_a_filter(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3, 4)
        async with orders.subscribe("n >= 3", durable="d", start="first") as inbox:
            assert not inbox.resumed
            assert [m["n"] for m in await messages_of(inbox, 2)] == [3, 4]
            await orders.publish({"n": 5}, b"text")
            (message,) = await inbox.receive(1, wait="5s")
            assert (message["n"], message.payload, message.attempt) == (5, b"text", 1)
            assert message.stream == "orders"

    run(tmp_path, program)


def test_a_durable_name_goes_on_behind_what_was_acknowledged(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(durable="d", start="first") as inbox:
            assert (await anext(inbox))["n"] == 1
            # Asking for the second acknowledges the first, leaving the block the second.
            assert (await anext(inbox))["n"] == 2
        async with orders.subscribe(durable="d", start="first") as inbox:
            assert inbox.resumed
            assert (await anext(inbox))["n"] == 3

    run(tmp_path, program)


def test_a_block_that_ends_with_an_error_acknowledges_nothing(tmp_path: Path) -> None:
    async def fail(orders: streams.Stream) -> None:
        async with orders.subscribe(durable="d", start="first") as inbox:
            await anext(inbox)
            raise ZeroDivisionError

    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2)
        with pytest.raises(ZeroDivisionError):
            await fail(orders)
        async with orders.subscribe(durable="d") as inbox:
            assert (await anext(inbox))["n"] == 1

    run(tmp_path, program)


def test_manual_acknowledgements_return_when_they_are_stored(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(durable="d", start="first", ack="manual") as inbox:
            first, second = [await anext(inbox) for _ in range(2)]
            await second.ack()
            assert first.position < second.position
        async with orders.subscribe(durable="d") as inbox:
            assert (await anext(inbox))["n"] == 3

    run(tmp_path, program)


def test_a_checkpoint_of_ones_own_wins(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1, 2, 3)
        async with orders.subscribe(start="first") as inbox:
            await anext(inbox)
            second = await anext(inbox)
        async with orders.subscribe(start="first", checkpoint=second.checkpoint) as inbox:
            assert (await anext(inbox))["n"] == 3

    run(tmp_path, program)


def test_names_are_guarded(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = await published(node, 1)
        async with orders.subscribe("n > 0", durable="d", start="first") as inbox:
            assert (await anext(inbox))["n"] == 1
            with pytest.raises(streams.DurableError, match="takeover=True"):
                await orders.subscribe("n > 0", durable="d")
            async with orders.subscribe("n > 0", durable="d", takeover=True) as other:
                assert (await anext(other))["n"] == 1
                with pytest.raises(streams.DurableError, match="taken"):
                    await anext(inbox)
        with pytest.raises(streams.DurableError, match="change_filter=True"):
            await orders.subscribe("n > 1", durable="d")

    run(tmp_path, program)


def test_refusals_say_what_to_do(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        nowhere = node.stream("nowhere")
        with pytest.raises(streams.RefusedError, match="penstock stream create nowhere") as caught:
            await nowhere.publish({"n": 1})
        assert caught.value.reason == "unknown_stream"
        with pytest.raises(streams.RefusedError, match="penstock stream create nowhere"):
            await nowhere.subscribe()
        for number in (float("nan"), float("inf")):
            with pytest.raises(UsageError, match="a finite number"):
                await nowhere.publish({"n": number})
        with pytest.raises(streams.TooLargeError):
            await nowhere.publish({"n": 1}, bytes(2_000_000))
        with pytest.raises(streams.FilterSyntaxError):
            nowhere.subscribe("n >")
        with pytest.raises(UsageError, match="is no name of a stream"):
            await node.create_stream("../etc")
        # A broker does not rely on its clients.
        with pytest.raises(streams.RefusedError, match="is no name of a stream"):
            await node.request("create", {"stream": "../etc"})

    run(tmp_path, program)


def test_a_repeated_publication_is_stored_once(tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = node.stream("orders", create=True)
        first = await orders.publish({"n": 1}, publication=7)
        again = await orders.publish({"n": 1}, publication=7)
        assert (first.is_duplicate, again.is_duplicate) == (False, True)
        assert first.position == again.position
        async with orders.subscribe(start="first") as inbox:
            assert len(await inbox.receive(10, wait="1s")) == 1

    run(tmp_path, program)


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async def write(node: streams.StreamNode) -> None:
        orders = await published(node, *range(50))
        async with orders.subscribe(durable="d", start="first") as inbox:
            await inbox.receive(20, wait="5s")

    async def read(node: streams.StreamNode) -> None:
        got: list[int] = []
        async with node.stream("orders").subscribe(durable="d") as inbox:
            assert inbox.resumed
            while len(got) < 30:
                got += [m["n"] for m in await inbox.receive(50, wait="5s")]
        assert got == [*range(20, 50)]

    run(tmp_path, write)
    run(tmp_path, read)


def test_a_broker_that_is_gone_and_back_is_two_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            node = await streams.connect(broker.address)
            port = int(broker.address.rpartition(":")[2])
        await node.wait_disconnected()
        async with broker_at(tmp_path, port):
            await asyncio.wait_for(node.wait_connected(), DEADLINE_S)
            await node.aclose()

    with caplog.at_level(logging.WARNING, "penstock.link"):
        asyncio.run(main())
    gone, back = caplog.messages
    assert gone.endswith(" is gone: connecting again")
    assert back == gone.replace("the broker", "connected to the broker").replace(
        " is gone: connecting again", " again"
    )


def test_a_connection_that_was_cut_is_told_in_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with broker_at(tmp_path) as broker:
            host, port = broker.address.split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            table = CLIENT_FRAMES
            writer.write(frame_bytes(table, Connect(publisher="a", life=1)))
            await reader.read(1)
            # Closing it then resets the connection.
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()
            async with asyncio.timeout(DEADLINE_S):
                while not caplog.messages:
                    await asyncio.sleep(0.001)

    with caplog.at_level(logging.INFO, "penstock.streams"):
        asyncio.run(main())
    (line,) = caplog.messages
    assert re.fullmatch(r"client 127\.0\.0\.1:[0-9]+: Connection reset by peer", line)


def test_nobody_answers_is_an_error_of_one_line() -> None:
    async def main() -> None:
        with pytest.raises(streams.UnreachableError, match=r"no broker answers at 127\.0\.0\.1:1:"):
            await streams.connect("tcp://127.0.0.1:1", timeout="200ms")

    asyncio.run(main())


def test_one_process_uses_a_directory(tmp_path: Path) -> None:
    async def program(_node: streams.StreamNode) -> None:
        with pytest.raises(UsageError, match="is in use by process"):
            StreamBroker(tmp_path)

    run(tmp_path, program)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("tcp://a:1", "a", 1), ("a", "a", 7451), ("[::1]", "::1", 7451), ("[::1]:5", "::1", 5)],
)
def test_addresses_have_a_default_port(text: str, host: str, port: int) -> None:
    assert parse_address(text) == HostPort(host, port)


@pytest.mark.parametrize("text", ["a:b", "a:", "tcp://a:7451x"])
def test_a_port_that_is_none_is_told_as_it_was_written(text: str) -> None:
    with pytest.raises(UsageError, match=rf"HOST:PORT, .* not '{text.removeprefix('tcp://')}'$"):
        parse_address(text)
