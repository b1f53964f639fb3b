"""Each wrong input is answered with one line that says what to do, and nothing is lost by it."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from time import time_ns
from typing import Any

import pytest

from penstock import streams
from penstock.guaranteed.settings import BrokerSettings, LinkSettings
from penstock.kernel.errors import UsageError
from penstock.live.guaranteed import broker as broker_module
from penstock.live.guaranteed import parents as parents_module
from penstock.live.guaranteed.broker import StreamBroker
from penstock.live.net.address import HostPort, parse
from penstock.wire.frames.guaranteed.client import Connect, Refused, Welcome
from penstock.wire.frames.guaranteed.publication import Confirm, Publish
from tests.live.guaranteed.peer import Peer, close_all
from tests.live.guaranteed.processes.process import BrokerProcess, free_port

Program = Callable[[str], Awaitable[None]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with a stream of three messages, shared by the tests that harm nobody."""
    process = BrokerProcess("shared", tmp_path_factory.mktemp("shared"))
    process.start()
    process.wait_ready()

    async def main() -> None:
        async with streams.connect(process.address, timeout="30s") as node:
            orders = node.stream("orders", create=True)
            for number in range(3):
                await orders.publish({"n": number})

    asyncio.run(main())
    yield process
    process.kill()


def run(address: str, program: Callable[[streams.StreamNode], Awaitable[None]]) -> None:
    """Runs a program that is connected, and checks that all three messages are there."""

    async def main() -> None:
        async with streams.connect(address, timeout="30s") as node:
            await program(node)
            assert await numbers(node) == [0, 1, 2]
        await close_all()

    asyncio.run(asyncio.wait_for(main(), 60))


async def numbers(node: streams.StreamNode, count: int = 3) -> list[int]:
    """The messages of the stream, through a subscription without a name."""
    got: list[int] = []
    async with node.stream("orders").subscribe(start="first") as inbox:
        while len(got) < count:
            got += [message["n"] for message in await inbox.receive(100, wait="20s")]
    return got


def one_line(error: BaseException, *words: str) -> None:
    """Whether an error is one line that has these words, and says what to do."""
    text = str(error)
    assert "\n" not in text
    assert ":" in text, text
    for word in words:
        assert word in text, text


def in_process(directory: Path, program: Program, *, name: str = "b1", parent: str = "") -> None:
    """Runs a program with a broker in the same process."""

    async def main() -> None:
        parents = (
            [HostPort(parent.split(":", maxsplit=1)[0], int(parent.split(":")[1]))]
            if parent
            else []
        )
        broker = StreamBroker(directory, name=name, parents=parents)
        await broker.start(HostPort("127.0.0.1", 0))
        try:
            await asyncio.wait_for(program(broker.address), 60)
        finally:
            await broker.close()

    asyncio.run(main())


async def write(address: str, count: int = 3) -> None:
    """Publishes 0, 1, 2 …, each in a block of its own."""
    async with streams.connect(address) as node:
        orders = node.stream("orders", create=True)
        for number in range(count):
            await orders.publish({"n": number})


# Names, filters and messages


def test_an_unknown_durable_name(running: BrokerProcess) -> None:
    async def program(node: streams.StreamNode) -> None:
        for verb in ("forget", "seek"):
            arguments = {"durable": "nobody"} | ({"start": "first"} if verb == "seek" else {})
            with pytest.raises(streams.RefusedError) as caught:
                await node.request(verb, arguments)
            one_line(caught.value, "'nobody'")

    run(running.address, program)


def test_a_durable_name_in_use(running: BrokerProcess) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = node.stream("orders")
        async with orders.subscribe(durable="used", start="first"):
            with pytest.raises(streams.DurableError) as caught:
                await orders.subscribe(durable="used")
        one_line(caught.value, "'used'", "takeover=True")
        assert caught.value.reason == "in_use"

    run(running.address, program)


def test_another_filter_for_a_durable_name(running: BrokerProcess) -> None:
    async def program(node: streams.StreamNode) -> None:
        orders = node.stream("orders")
        async with orders.subscribe("n > 0", durable="filtered", start="first"):
            pass
        with pytest.raises(streams.DurableError) as caught:
            await orders.subscribe("n > 1", durable="filtered")
        one_line(caught.value, "'filtered'", "change_filter=True")
        assert caught.value.reason == "other_filter"

    run(running.address, program)


def test_a_durable_name_of_another_host(running: BrokerProcess, tmp_path: Path) -> None:
    async def program(node: streams.StreamNode) -> None:
        async with node.stream("orders").subscribe(durable="far", start="first"):
            pass

    async def elsewhere(address: str) -> None:
        async with streams.connect(address) as node:
            orders = node.stream("orders")
            with pytest.raises(streams.DurableError) as caught:
                await orders.subscribe(durable="far")
            one_line(caught.value, "'far'", "shared")
            assert caught.value.reason == "other_host"

    run(running.address, program)
    in_process(tmp_path, elsewhere, parent=running.address)


def test_a_filter_that_does_not_parse(running: BrokerProcess) -> None:
    async def program(node: streams.StreamNode) -> None:
        with pytest.raises(streams.FilterSyntaxError, match="column") as caught:
            node.stream("orders").subscribe("n >")
        one_line(caught.value)

    run(running.address, program)


def test_a_message_that_is_too_large(running: BrokerProcess) -> None:
    async def program(node: streams.StreamNode) -> None:
        with pytest.raises(streams.TooLargeError) as caught:
            await node.stream("orders").publish({"n": 1}, bytes(1 << 20))
        one_line(caught.value, "is too large, 1,048,582 bytes")
        # A length that no frame has, from a client that does not ask first.
        peer = await Peer.open(running.address, Connect(publisher="rude", life=1))
        assert isinstance(await peer.receive(), Welcome)
        peer.send_bytes(b"\x7f\xff\xff\xff")
        frames = [await peer.receive() for _ in range(2)]
        assert isinstance(frames[1], Refused)
        assert "bytes" in frames[1].text
        assert await peer.receive() is None

    run(running.address, program)


def test_a_message_that_cannot_be_read(running: BrokerProcess) -> None:
    async def program(_node: streams.StreamNode) -> None:
        peer = await Peer.open(running.address, Connect(publisher="rude", life=2))
        peer.send(Publish(stream="orders", ids=(1,), bodies=(b"\x00\x04\xff\xff\xff\xff",)))
        frames = [await peer.receive() for _ in range(4)]
        assert not any(isinstance(frame, Confirm) for frame in frames)
        assert any(isinstance(f, Refused) and f.reason == "malformed" for f in frames)
        assert frames[-1] is None

    run(running.address, program)


def test_a_stream_that_is_elsewhere(running: BrokerProcess, tmp_path: Path) -> None:
    async def elsewhere(address: str) -> None:
        async with streams.connect(address) as node:
            assert await numbers(node) == [0, 1, 2]
            with pytest.raises(streams.RefusedError) as caught:
                await node.stream("orders").publish({"n": 3})
            one_line(caught.value, "'orders'", running.address)
            assert (caught.value.reason, caught.value.address) == ("not_here", running.address)

    in_process(tmp_path, elsewhere, parent=running.address)


# Brokers


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that ends by itself."""
    command = [sys.executable, "-m", "penstock", "stream", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_second_process_on_one_directory(running: BrokerProcess) -> None:
    ended = cli("broker", "--directory", str(running.directory), "--listen", "127.0.0.1:0")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert f"is in use by process {running.pid}: " in line


def test_a_port_that_is_in_use(running: BrokerProcess, tmp_path: Path) -> None:
    ended = cli("broker", "--directory", str(tmp_path), "--listen", running.address)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert f"cannot listen on {running.address}: " in line


def test_a_parent_that_does_not_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    parent = f"127.0.0.1:{free_port()}"

    async def program(address: str) -> None:
        await write(address)
        async with streams.connect(address) as node:
            while not caplog.records:
                await asyncio.sleep(0.01)
            assert await numbers(node) == [0, 1, 2]

    with caplog.at_level(logging.WARNING, "penstock.streams"):
        in_process(tmp_path, program, parent=parent)
    (record,) = caplog.records
    assert f"parent {parent} does not answer: " in record.getMessage()


def lines_with(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return sorted(line for line in caplog.messages if words in line)


def test_two_brokers_that_are_each_others_parents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ports = {"a": free_port(), "b": free_port()}
    hellos = 0

    async def main() -> None:
        nonlocal hellos
        brokers = {}
        for name, other in (("a", "b"), ("b", "a")):
            brokers[name] = StreamBroker(
                tmp_path / name, name=name, parents=[HostPort("127.0.0.1", ports[other])]
            )
            await brokers[name].start(HostPort("127.0.0.1", ports[name]))
        received = brokers["a"].machine.links.on_hello

        def counted(*arguments: Any, **named: Any) -> None:
            nonlocal hellos
            hellos += 1
            received(*arguments, **named)

        brokers["a"].machine.links.on_hello = counted  # type: ignore[method-assign]
        try:
            await asyncio.wait_for(programs(brokers), 30)
        finally:
            for broker in brokers.values():
                await broker.close()

    async def programs(brokers: dict[str, StreamBroker]) -> None:
        await write(brokers["a"].address)
        while len(lines_with(caplog, "is parent and child of this one")) < 2:
            await asyncio.sleep(0.01)
        # What is there is read at both.
        for broker in brokers.values():
            async with streams.connect(broker.address) as node:
                assert await numbers(node) == [0, 1, 2]
        async with streams.connect(brokers["a"].address) as node:
            status: Any = await node.request("status", {})
            assert [alarm["kind"] for alarm in status["alarms"]] == ["loop"]
            # The other one announces it for a moment longer.
            await node.delete_stream("orders")
            assert await node.list_streams() == []

    with caplog.at_level(logging.WARNING, "penstock.streams"):
        asyncio.run(main())
    assert lines_with(caplog, "is parent and child of this one") == [
        f"broker {name!r} is parent and child of this one: leave --parent out at one"
        for name in ("a", "b")
    ]
    # They do not answer each other's HELLO for ever.
    assert hellos < 20


def test_two_parents_that_both_refuse(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parents_module, "_RETRY_S", 0.01)
    refused = 0
    say = parents_module.ParentLink._say

    def counted(link: parents_module.ParentLink, text: str) -> None:
        nonlocal refused
        refused += 1
        say(link, text)

    monkeypatch.setattr(parents_module.ParentLink, "_say", counted)
    full = BrokerSettings(link=LinkSettings(children_max=0))

    async def main() -> None:
        above = [
            StreamBroker(tmp_path / "full", name="full", settings=full),
            StreamBroker(tmp_path / "namesake", name="edge"),
        ]
        for broker in above:
            await broker.start(HostPort("127.0.0.1", 0))
        addresses = [broker.address for broker in above]
        edge = StreamBroker(tmp_path / "edge", name="edge", parents=[*map(parse, addresses)])
        await edge.start(HostPort("127.0.0.1", 0))
        try:
            # What it stores itself is served all the same.
            await write(edge.address)
            async with streams.connect(edge.address) as node:
                assert await numbers(node) == [0, 1, 2]
            # It is tried again and again, and said once.
            while refused < 8:
                await asyncio.sleep(0.01)
        finally:
            for broker in (edge, *above):
                await broker.close()
        assert lines_with(caplog, " refused: ") == sorted(
            [
                f"parent {addresses[0]} refused: it has its 0 children: use another parent"
                " (trying again)",
                f"parent {addresses[1]} refused: another broker is called 'edge': give each its"
                " own directory and name (trying again)",
            ]
        )

    with caplog.at_level(logging.WARNING, "penstock.streams"):
        asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("name", ["", "a b", "x" * 65])
def test_a_name_that_no_broker_can_have(tmp_path: Path, name: str) -> None:
    async def main() -> None:
        with pytest.raises(UsageError) as caught:
            StreamBroker(tmp_path, name=name)
        one_line(caught.value, repr(name))
        # The directory is free for one that can.
        await StreamBroker(tmp_path, name="b1").close()
        with pytest.raises(UsageError) as caught:
            StreamBroker(tmp_path, name="b2")
        one_line(caught.value, "'b1'", "leave --name out")

    asyncio.run(main())


# Disks and clocks


def the_log(directory: Path) -> Path:
    (log,) = (directory / "logs").iterdir()
    return log


def test_a_log_of_another_version(tmp_path: Path) -> None:
    in_process(tmp_path, write)
    metadata = the_log(tmp_path) / "log.json"
    written = metadata.read_bytes()
    metadata.write_text(json.dumps(json.loads(written) | {"format": 99}))

    async def main() -> None:
        with pytest.raises(UsageError) as caught:
            StreamBroker(tmp_path)
        one_line(caught.value, "99", str(tmp_path))

    asyncio.run(main())
    metadata.write_bytes(written)

    async def read(address: str) -> None:
        async with streams.connect(address) as node:
            assert await numbers(node) == [0, 1, 2]

    in_process(tmp_path, read)


def test_a_damaged_segment_is_a_gap_and_no_torn_tail(tmp_path: Path) -> None:
    in_process(tmp_path, write)
    (segment,) = the_log(tmp_path).glob("*.log")
    data = bytearray(segment.read_bytes())
    second = data.index(b"\xa1n\x01")
    data[second] ^= 0x40
    segment.write_bytes(data)

    async def read(address: str) -> None:
        async with (
            streams.connect(address) as node,
            node.stream("orders").subscribe(durable="d", start="first") as inbox,
        ):
            assert (await anext(inbox))["n"] == 0
            with pytest.raises(streams.GapError) as caught:
                await anext(inbox)
            one_line(caught.value, "damaged")
            assert (caught.value.loss.reason, caught.value.loss.count) == ("damaged", 1)
            assert (await anext(inbox))["n"] == 2
            await node.stream("orders").publish({"n": 3})
            assert (await anext(inbox))["n"] == 3

    in_process(tmp_path, read)


def test_a_clock_that_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_process(tmp_path, write)
    monkeypatch.setattr(broker_module, "time_ns", lambda: time_ns() - 3_600 * 10**9)

    async def more(address: str) -> None:
        async with streams.connect(address) as node:
            await node.stream("orders").publish({"n": 3})
            assert await numbers(node, 4) == [0, 1, 2, 3]

    with caplog.at_level(logging.WARNING, "penstock.streams"):
        in_process(tmp_path, more)
    (record,) = caplog.records
    assert "ahead of the clock, and goes on so: was the clock set back?" in record.getMessage()


def test_a_restored_old_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, edge, backup = tmp_path / "top", tmp_path / "edge", tmp_path / "backup"

    def hours_later(hours: int) -> None:
        """Nobody restores a backup within the two seconds of a lease."""
        monkeypatch.setattr(broker_module, "time_ns", lambda: time_ns() + hours * 3_600 * 10**9)

    async def read(at: str, count: int) -> list[int | str]:
        got: list[int | str] = []
        async with (
            streams.connect(at) as node,
            node.stream("orders").subscribe(durable="d", start="first") as inbox,
        ):
            while len(got) < count:
                try:
                    got.append((await anext(inbox))["n"])
                except streams.GapError as error:
                    one_line(error, "restored")
                    got.append(error.loss.reason)
        return got

    def with_both(program: Callable[[str, str], Awaitable[None]]) -> None:
        async def main() -> None:
            above = StreamBroker(top, name="top")
            await above.start(HostPort("127.0.0.1", 0))
            below = StreamBroker(edge, name="edge", parents=[parse(above.address)])
            await below.start(HostPort("127.0.0.1", 0))
            try:
                await asyncio.wait_for(program(above.address, below.address), 60)
            finally:
                await below.close()
                await above.close()

        asyncio.run(main())

    async def first(above: str, below: str) -> None:
        await write(above, 2)
        assert await read(below, 2) == [0, 1]

    async def second(above: str, below: str) -> None:
        async with streams.connect(above) as node:
            await node.stream("orders").publish({"n": 2})
        assert await read(below, 1) == [2]

    async def third(above: str, below: str) -> None:
        async with streams.connect(above) as node:
            await node.stream("orders").publish({"n": 3})
        assert await read(below, 2) == ["rolled_back", 3]

    with_both(first)
    shutil.copytree(top, backup)
    hours_later(1)
    with_both(second)
    shutil.rmtree(top)
    shutil.move(backup, top)
    hours_later(2)
    with_both(third)
