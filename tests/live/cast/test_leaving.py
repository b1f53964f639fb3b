"""Whoever leaves early says so, and what it has stays."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.kernel.errors import UnreachableError, UsageError
from penstock.live.cast.cast_receiver import CastReceiver, ReceiverStage
from penstock.live.cast.cast_sender import CastOutcome, CastSender
from penstock.live.cast.object_source import ObjectSource
from tests.live.cast.test_loopback import lan, made

# Blocks of 128 kB, some forty a second.
RATE_BPS = 5_000_000
BLOCKS = 24


def source_in(directory: Path, blocks: int) -> ObjectSource:
    path = directory / "source"
    path.write_bytes(os.urandom(blocks * 128_000))
    return ObjectSource.of(path, block_symbols=100)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)


def run(program: Awaitable[None]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            await program

    asyncio.run(main())


class Network:
    """A sender and its receivers, which may be started again."""

    def __init__(self, root: Path, *, blocks: int = BLOCKS, **options: Any) -> None:
        self.source = source_in(root, blocks)
        self.lan = lan()
        self.notes: list[str] = []
        self._options: dict[str, Any] = {"receivers": 1, "rate_bps": RATE_BPS, **options}

    def sender(self, **options: Any) -> CastSender:
        options = {**self._options, **options}
        return CastSender(self.source, "thing", lan=self.lan, note=self.notes.append, **options)

    def receiver(self, directory: Path, **options: Any) -> CastReceiver:
        return CastReceiver("thing", directory, lan=self.lan, **options)


def is_half_way(receiver: CastReceiver) -> Callable[[], bool]:
    return lambda: receiver.progress.done_bytes >= BLOCKS * 128_000 // 2


def has_blocks(receiver: CastReceiver) -> Callable[[], bool]:
    return lambda: bool(receiver.kept_text())


def test_a_receiver_that_is_stopped_comes_back_as_the_same_node(tmp_path: Path) -> None:
    """The sender waits when all have left, and sends the rest."""
    [directory] = made(tmp_path, 1)

    async def program() -> None:
        network = Network(tmp_path)
        sender = network.sender()
        sending = asyncio.ensure_future(sender.run())
        receiver = network.receiver(directory)
        task = asyncio.ensure_future(receiver.run())
        await until(has_blocks(receiver))
        task.cancel()
        await asyncio.wait({task})
        assert sender.progress.joined == 0
        assert sorted(each.name for each in directory.iterdir()) == [
            "thing.part",
            "thing.part.state",
        ]
        again = network.receiver(directory)
        await again.run()
        assert 0 < again.kept_bytes <= network.source.layout.length_bytes
        outcome = await sending
        assert (outcome.done, outcome.failed) == (1, ())
        assert sender.progress.sent_bytes < 1.8 * network.source.layout.length_bytes
        assert (directory / "thing").read_bytes() == (tmp_path / "source").read_bytes()

    run(program())


@pytest.mark.soak
def test_the_others_are_not_held_up_by_one_that_leaves(tmp_path: Path) -> None:
    one, other = made(tmp_path, 2)

    async def program() -> None:
        network = Network(tmp_path, receivers=2)
        sending = asyncio.ensure_future(network.sender().run())
        receivers = [network.receiver(directory) for directory in (one, other)]
        tasks = [asyncio.ensure_future(receiver.run()) for receiver in receivers]
        await until(is_half_way(receivers[0]))
        tasks[0].cancel()
        await tasks[1]
        outcome = await sending
        assert outcome.done == 1
        assert [each.reason for each in outcome.failed] == ["stopped"]

    run(program())


def test_receivers_are_told_that_their_sender_was_stopped(tmp_path: Path) -> None:
    [directory] = made(tmp_path, 1)

    async def program() -> None:
        network = Network(tmp_path, blocks=60)
        sending = asyncio.ensure_future(network.sender().run())
        receiver = network.receiver(directory)
        task = asyncio.ensure_future(receiver.run())
        await until(has_blocks(receiver))
        sending.cancel()
        with pytest.raises(UnreachableError, match=r"the sender was stopped; .* MB are kept"):
            await task

    run(program())


def test_receivers_are_told_that_the_file_has_changed(tmp_path: Path) -> None:
    [directory] = made(tmp_path, 1)

    async def program() -> None:
        network = Network(tmp_path)
        sending = asyncio.ensure_future(network.sender().run())
        receiver = network.receiver(directory)
        task = asyncio.ensure_future(receiver.run())
        await until(is_half_way(receiver))
        (tmp_path / "source").write_bytes(b"another")
        with pytest.raises(UnreachableError, match="has changed"):
            await task
        with pytest.raises(UsageError, match="has changed"):
            await sending

    run(program())


def test_a_sender_that_starts_again_sends_the_rest_to_those_who_wait(tmp_path: Path) -> None:
    """As if killed: its receivers hear nothing for a while, and then the same node again."""
    [directory] = made(tmp_path, 1)

    async def program() -> None:
        network = Network(tmp_path, node=7)
        first = network.sender(boot=1)
        sending = asyncio.ensure_future(first.run())
        receiver = network.receiver(directory)
        task = asyncio.ensure_future(receiver.run())
        await until(is_half_way(receiver))
        # Without a word.
        first._pump.close()
        sending.cancel()
        await asyncio.wait({sending})
        second = network.sender(boot=2)
        outcome, _path = await asyncio.gather(second.run(), task)
        assert (outcome.done, outcome.failed) == (1, ())
        assert second.progress.sent_bytes < 0.6 * network.source.layout.length_bytes

    run(program())


def test_who_cannot_go_on_does_not_count_and_says_why(tmp_path: Path) -> None:
    """That a directory is in the place of the file, only the manifest tells."""
    wrong, right = made(tmp_path, 2)
    (wrong / "thing").mkdir()

    async def program() -> None:
        network = Network(tmp_path, blocks=2)
        sending = asyncio.ensure_future(network.sender().run())
        with pytest.raises(UsageError, match="is a directory: remove it first"):
            await network.receiver(wrong, overwrite=True).run()
        await network.receiver(right).run()
        outcome = await sending
        assert isinstance(outcome, CastOutcome)
        assert outcome.done == 1
        assert "is a directory: remove it first" in outcome.failed[0].reason

    run(program())


def test_a_target_is_locked_before_anybody_is_told(tmp_path: Path) -> None:
    [directory] = made(tmp_path, 1)

    async def program() -> None:
        network = Network(tmp_path)
        receiver = network.receiver(directory)
        assert receiver.progress.stage is ReceiverStage.SEARCHING
        with pytest.raises(UsageError, match=r"another process receives .*thing\.part: wait"):
            network.receiver(directory)
        with pytest.raises(UnreachableError, match="run 'penstock cast send'"):
            await receiver.run(timeout_s=0.05)
        # It has left nothing, and nothing stands in the way of the next.
        assert list(directory.iterdir()) == []
        with pytest.raises(UnreachableError):
            await network.receiver(directory).run(timeout_s=0.05)

    run(program())
