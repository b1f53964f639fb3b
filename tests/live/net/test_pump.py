"""The pump: nothing that comes from outside stops it, and one timer is enough."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from errno import EAGAIN, EHOSTUNREACH, ENOBUFS

import pytest

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MILLISECOND, Instant
from penstock.kernel.machine import Deliver, Output, Port, Record, Send
from penstock.live.net.address import port_of
from penstock.live.net.pump import Pump
from penstock.wire import encode
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.hello import Hello
from penstock.wire.limits import DATAGRAM_BYTES_MAX
from tests.frames import data
from tests.live.loopback import bound_socket, run, until

HELLO = Hello(broker=1, epoch=2, network=3, heard=True)


class Probe:
    """A machine that remembers what it was told and says what it is told to say."""

    def __init__(self) -> None:
        self.heard: list[tuple[OverlayFrame, Port]] = []
        self.woken: list[Instant] = []
        self.wakeup: Instant | None = None
        self.out: deque[Output[OverlayFrame]] = deque()
        self.bug: Exception | None = None

    def receive(self, frame: OverlayFrame, *, via: Port, now: Instant) -> None:
        self.heard.append((frame, via))
        if self.bug is not None:
            raise self.bug

    def wake(self, *, now: Instant) -> None:
        self.woken.append(now)
        self.wakeup = None

    def next_wakeup(self) -> Instant | None:
        return self.wakeup

    def poll(self) -> Output[OverlayFrame] | None:
        return self.out.popleft() if self.out else None

    def say(self, *outputs: Output[OverlayFrame]) -> Callable[[Probe, Instant], None]:
        return lambda probe, _now: probe.out.extend(outputs)


@asynccontextmanager
async def pumped(probe: Probe) -> AsyncIterator[tuple[Pump[Probe], socket.socket]]:
    """A pump of the probe, and a socket that is connected to it."""
    mine, peer = bound_socket(), bound_socket()
    peer.connect(mine.getsockname())
    peer.setblocking(False)
    pump = Pump(mine, probe)
    try:
        yield pump, peer
    finally:
        pump.close()
        peer.close()


class Refusing:
    """A socket that takes nothing."""

    def __init__(self, sock: socket.socket, errno: int) -> None:
        self._socket = sock
        self._errno = errno

    def sendto(self, data: bytes, address: object) -> int:
        raise OSError(self._errno, "refused")

    def __getattr__(self, name: str) -> object:
        return getattr(self._socket, name)


def test_frames_come_in_with_the_address_they_came_from() -> None:
    async def program() -> None:
        probe = Probe()
        async with pumped(probe) as (pump, peer):
            peer.send(encode(HELLO))
            await until(lambda: probe.heard)
            assert probe.heard == [(HELLO, port_of(peer.getsockname()))]
            assert pump.counters["received"] == 1

    run(program())


def test_frames_go_out_and_the_rest_to_whoever_takes_it() -> None:
    async def program() -> None:
        probe, taken = Probe(), list[object]()
        mine, peer = bound_socket(), bound_socket()
        peer.setblocking(False)
        pump = Pump(mine, probe, deliver=taken.append, record=taken.append)
        send = Send[OverlayFrame](port_of(peer.getsockname()), HELLO)
        pump.call(probe.say(Deliver("d"), send, Record("r")))
        assert taken == ["d", "r"]
        assert await asyncio.get_running_loop().sock_recv(peer, 2000) == encode(HELLO)
        assert pump.counters["sent"] == 1
        pump.close()
        peer.close()

    run(program())


def test_what_a_machine_has_to_say_from_the_start_is_said() -> None:
    async def program() -> None:
        probe = Probe()
        mine, peer = bound_socket(), bound_socket()
        peer.setblocking(False)
        probe.out.append(Send(port_of(peer.getsockname()), HELLO))
        pump = Pump(mine, probe)
        assert await asyncio.get_running_loop().sock_recv(peer, 2000) == encode(HELLO)
        pump.close()
        peer.close()

    run(program())


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        b"x",
        b"\xff" * 100,
        encode(HELLO)[:-1],
        encode(HELLO) + b"\0",
        b"\0" * (DATAGRAM_BYTES_MAX + 1),
        b"\0" * 9000,
        encode(data(1, {})),
    ],
    ids=["empty", "short", "noise", "cut", "long", "over", "jumbo", "not carried"],
)
def test_what_is_no_frame_is_counted_and_dropped(noise: bytes) -> None:
    async def program() -> None:
        probe = Probe()
        async with pumped(probe) as (pump, peer):
            peer.send(noise)
            peer.send(encode(HELLO))
            await until(lambda: probe.heard)
            assert len(probe.heard) == 1
            assert (pump.counters["received"], pump.counters["corrupt"]) == (2, 1)

    run(program())


@pytest.mark.parametrize(
    ("errno", "reason"), [(EAGAIN, "queue_full"), (ENOBUFS, "queue_full"), (EHOSTUNREACH, "down")]
)
def test_what_the_socket_refuses_is_counted_and_dropped(
    errno: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def program() -> None:
        probe = Probe()
        async with pumped(probe) as (pump, peer):
            send = Send[OverlayFrame](port_of(peer.getsockname()), HELLO)
            with monkeypatch.context() as patched:
                datagrams = pump._datagrams
                patched.setattr(datagrams, "_socket", Refusing(datagrams._socket, errno))
                pump.call(probe.say(send, send))
            assert (pump.counters[reason], pump.counters["sent"]) == (2, 0)
            pump.call(probe.say(send))
            assert pump.counters["sent"] == 1

    run(program())


def test_nobody_there_is_counted_and_not_the_end() -> None:
    async def program() -> None:
        probe = Probe()
        mine, gone = bound_socket(), bound_socket()
        mine.connect(gone.getsockname())
        port = port_of(gone.getsockname())
        gone.close()
        pump = Pump(mine, probe)
        pump.call(probe.say(Send(port, HELLO)))
        # The system tells of it by way of the next thing that is asked of the socket.
        await until(lambda: pump.counters["down"])
        assert not pump.is_closed
        pump.close()

    run(program())


def test_a_flood_leaves_others_their_turn() -> None:
    async def program() -> None:
        probe, batches, before = Probe(), list[int](), 0
        mine, peer = bound_socket(), bound_socket()
        for _ in range(200):
            peer.sendto(encode(HELLO), mine.getsockname())

        def after() -> None:
            nonlocal before
            batches.append(len(probe.heard) - before)
            before = len(probe.heard)

        pump = Pump(mine, probe, on_change=after)
        await until(lambda: len(probe.heard) == 200)
        assert max(batches) == 64
        pump.close()
        peer.close()

    run(program())


def test_a_machine_is_woken_when_it_asked_and_never_before() -> None:
    async def program() -> None:
        probe = Probe()
        asked: list[Instant] = []

        def ask(probe: Probe, now: Instant) -> None:
            probe.wakeup = now + 20 * MILLISECOND
            asked.append(probe.wakeup)

        async with pumped(probe) as (pump, _):
            for times in range(1, 4):
                pump.call(ask)
                await until(lambda: len(probe.woken) == times)  # noqa: B023
        assert all(woken >= due for woken, due in zip(probe.woken, asked, strict=True))

    run(program())


def test_a_wake_up_can_be_moved_up_and_put_off() -> None:
    async def program() -> None:
        probe = Probe()

        def ask(delay_ms: int) -> Callable[[Probe, Instant], Instant]:
            def verb(probe: Probe, now: Instant) -> Instant:
                probe.wakeup = now + delay_ms * MILLISECOND
                return probe.wakeup

            return verb

        async with pumped(probe) as (pump, _):
            pump.call(ask(3_600_000))
            pump.call(ask(1))
            due = pump.call(ask(30))
            await until(lambda: probe.woken)
            assert len(probe.woken) == 1
            assert probe.woken[0] >= due

    run(program())


def test_a_bug_of_the_machine_ends_the_pump_and_is_told() -> None:
    async def program() -> None:
        probe = Probe()
        probe.bug = KeyError("a bug")
        async with pumped(probe) as (pump, peer):
            peer.send(encode(HELLO))
            with pytest.raises(KeyError, match="a bug"):
                await pump.wait()
            with pytest.raises(UsageError, match="closed"):
                pump.call(lambda _probe, _now: None)

    run(program())


def test_what_a_verb_raises_is_the_callers() -> None:
    async def program() -> None:
        def verb(_probe: Probe, _now: Instant) -> None:
            raise UsageError("not so")

        probe = Probe()
        async with pumped(probe) as (pump, peer):
            with pytest.raises(UsageError, match="not so"):
                pump.call(verb)
            peer.send(encode(HELLO))
            await until(lambda: probe.heard)

    run(program())


def test_whoever_waits_for_the_end_may_stop_waiting() -> None:
    async def program() -> None:
        async with pumped(Probe()) as (pump, _):
            waiting = asyncio.create_task(pump.wait())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert not pump.is_closed
        await pump.wait()

    run(program())


def test_it_closes_once_and_then_neither_hears_nor_wakes() -> None:
    async def program() -> None:
        probe = Probe()
        async with pumped(probe) as (pump, peer):

            def ask(probe: Probe, now: Instant) -> None:
                probe.wakeup = now

            pump.call(ask)
            peer.send(encode(HELLO))
            pump.close()
            pump.close()
            await pump.wait()
            for _ in range(10):
                await asyncio.sleep(0)
            assert (probe.heard, probe.woken) == ([], [])
            with pytest.raises(UsageError, match="closed: open another"):
                pump.call(ask)

    run(program())
