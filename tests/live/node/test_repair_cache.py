"""`penstock cache` and `Node.volunteer`: nodes that keep messages for others."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from penstock import CacheSettings, RecoverySettings, connect
from penstock.kernel.errors import UsageError
from penstock.live.daemon.broker import serve
from penstock.trace.fates import ReceiverFate
from tests.live.loopback import QUICK, TICKS, bad_line, numbers, run, take, tick, until
from tests.live.test_commands import ENVIRONMENT, RUN

KEEPS = RecoverySettings(cache=CacheSettings(k_min=3, k_max=3), digests=False)
SILENT = RecoverySettings(publisher_answers=False)


def test_a_node_without_an_application_repairs_what_another_lost() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            bad_line(broker.address) as line,
            connect(f"udp://{broker.address}", agreement=QUICK, recovery=KEEPS) as keeper,
            keeper.volunteer(TICKS) as offer,
            connect(f"udp://{line.address}", agreement=QUICK, recovery=SILENT) as subscriber,
            subscriber.subscribe(TICKS) as ticks,
            connect(f"udp://{broker.address}", agreement=QUICK, recovery=SILENT) as publisher,
        ):
            await tick(publisher, 2)
            assert numbers(await take(ticks, 2)) == [0, 1]
            line.lose_for_client()
            await tick(publisher, 2)
            await until(lambda: line.held_for_client)
            line.release_for_client()
            after = await take(ticks, 2)
            counters = offer.counters
        assert sorted(numbers(after)) == [2, 3]
        (repaired,) = [m for m in after if m.fate is ReceiverFate.REPAIRED]
        assert repaired.number == 2
        # Of four that came.
        assert (counters["kept"], counters["publishers"], counters["answered"]) == (3, 1, 1)
        assert counters["kept_bytes"] > 0

    run(program())


def test_an_offer_begins_once_and_ends_twice() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            connect(f"udp://{broker.address}", agreement=QUICK, recovery=KEEPS) as node,
        ):
            offer = node.volunteer("x = 1")
            async with offer:
                with pytest.raises(UsageError, match="begins once"):
                    await offer.__aenter__()
                offer.end()
            offer.end()

    run(program())


def test_to_volunteer_takes_recovery() -> None:
    async def program() -> None:
        async with (
            serve("127.0.0.1:0", agreement=QUICK) as broker,
            connect(f"udp://{broker.address}", agreement=QUICK) as node,
        ):
            with pytest.raises(UsageError, match="takes recovery: give a RecoverySettings"):
                async with node.volunteer("x = 1"):
                    pass
            with pytest.raises(UsageError, match="interest must be"):
                node.volunteer(7)  # type: ignore[arg-type]

    run(program())


class Command:
    """A command that runs, its lines read one by one."""

    def __init__(self, process: Process) -> None:
        self.process = process

    async def said(self, *, err: bool = False) -> str:
        stream = self.process.stderr if err else self.process.stdout
        assert stream is not None
        return (await stream.readline()).decode()

    async def write(self, *lines: str) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write("".join(f"{line}\n" for line in lines).encode())
        await stdin.drain()

    async def end(self, how: signal.Signals = signal.SIGINT) -> tuple[str, str]:
        self.process.send_signal(how)
        out, err = await self.process.communicate()
        return out.decode(), err.decode()


@asynccontextmanager
async def command(*arguments: str) -> AsyncIterator[Command]:
    process = await asyncio.create_subprocess_exec(
        *RUN, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=ENVIRONMENT
    )
    try:
        yield Command(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


@asynccontextmanager
async def a_broker(listen: str = "127.0.0.1:0") -> AsyncIterator[tuple[Command, str]]:
    async with command("broker", "--listen", listen) as broker:
        yield broker, (await broker.said()).split()[-1]


@pytest.mark.parametrize("scope", [[], ["--scope", "here"]], ids=["all", "scope"])
def test_what_a_publisher_that_was_killed_cannot_send_again_comes_from_a_cache(
    scope: list[str],
) -> None:
    async def program() -> None:
        async with AsyncExitStack() as stack:
            begin = stack.enter_async_context
            _, address = await begin(a_broker())
            keeps = ["exists n", "--broker", address, "--every", "0.1"]
            cache = await begin(command("cache", *keeps, *scope))
            assert await cache.said(err=True) == f"keeping at {address}\n"
            line = await begin(bad_line(address))
            wants = ["exists n", "--broker", line.address, "--recover", "--full"]
            subscriber = await begin(command("subscribe", *wants, *scope))
            assert await subscriber.said(err=True) == f"subscribed at {line.address}\n"
            publisher = await begin(command("publish", "--broker", address, "--recover", *scope))
            await publisher.write('{"n": 0}')
            assert json.loads(await subscriber.said())["number"] == 0
            line.lose_for_client()
            await publisher.write('{"n": 1}', '{"n": 2}')
            # The subscriber cannot know yet that it lost something; when it does, it is too late.
            await until(lambda: line.held_for_client)
            publisher.process.kill()
            await publisher.process.wait()
            while not (await cache.said()).startswith("3 kept of 1 publisher "):
                pass
            line.release_for_client()
            told = [json.loads(await subscriber.said()) for _ in range(2)]
            assert {m["attributes"]["n"]: m["fate"] for m in told} == {
                1: "repaired",
                2: "delivered",
            }
            _, err = await subscriber.end()
            assert err.endswith("3 delivered (1 repaired), 0 late, 0 lost\n")
            out, _ = await cache.end(signal.SIGTERM)
            assert out.splitlines()[-1].startswith("ends: 3 kept of 1 publisher (")
            assert out.endswith(" 1 answered\n")
            assert cache.process.returncode == 0

    run(program())


def test_a_publisher_that_is_done_still_sends_again_until_it_is_told_to_end() -> None:
    async def program() -> None:
        async with AsyncExitStack() as stack:
            begin = stack.enter_async_context
            _, address = await begin(a_broker())
            line = await begin(bad_line(address))
            wants = ["exists n", "--broker", line.address, "--recover", "--full"]
            subscriber = await begin(command("subscribe", *wants))
            assert await subscriber.said(err=True) == f"subscribed at {line.address}\n"
            # Much longer than the test may take.
            stays = ["--recover", "--linger", "1000"]
            publisher = await begin(command("publish", "--broker", address, *stays))
            await publisher.write('{"n": 0}')
            assert json.loads(await subscriber.said())["number"] == 0
            line.lose_for_client()
            await publisher.write('{"n": 1}', '{"n": 2}')
            assert publisher.process.stdin is not None
            publisher.process.stdin.close()
            await until(lambda: line.held_for_client)
            line.release_for_client()
            told = [json.loads(await subscriber.said()) for _ in range(2)]
            assert {m["attributes"]["n"]: m["fate"] for m in told} == {
                1: "repaired",
                2: "delivered",
            }
            assert await publisher.end() == ("", "3 sent\n")
            assert publisher.process.returncode == 0

    run(program())


def test_a_cache_survives_its_broker_and_tells_programs_what_it_did() -> None:
    async def program() -> None:
        async with AsyncExitStack() as stack:
            begin = stack.enter_async_context
            broker, address = await begin(a_broker())
            cache = await begin(
                command("cache", "exists n", "--broker", address, "--json", "--every", "0.1")
            )
            assert await cache.said(err=True) == f"keeping at {address}\n"
            await broker.end()
            assert await cache.said(err=True) == f"broker at {address} is silent\n"
            await begin(a_broker(address))
            assert await cache.said(err=True) == f"broker at {address} is back\n"
            publisher = await begin(command("publish", "--broker", address))
            await publisher.write('{"n": 0}')
            assert (await cache.said(err=True)).startswith("1 kept of 1 publisher (1 kB), 0 ans")
            out, _ = await cache.end()
            told = json.loads(out)
            assert (told["kept"], told["publishers"], told["answered"]) == (1, 1, 0)

    run(program())
