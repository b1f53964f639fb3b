"""A cast over real sockets of one machine, to several receivers that lose datagrams."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from penstock.kernel.errors import UnreachableError, UsageError
from penstock.live.cast.cast_receiver import CastReceiver
from penstock.live.cast.cast_sender import CastOutcome, send_object
from penstock.live.cast.lan_sockets import LanAddress
from penstock.live.cast.object_source import ObjectSource

LOSS = 0.05
# Quick enough for a short test, and slow enough that one process keeps up with all its parts.
RATE_BPS = 20_000_000


def lan() -> LanAddress:
    """A group that no other test has: two tests at once have different ports."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    return LanAddress("239.255.74.99", port, "127.0.0.1")


def drops(seed: int) -> Callable[[], bool]:
    chance = Random(seed).random
    return lambda: chance() < LOSS


async def cast(
    path: Path, directories: list[Path], *, receivers: int | None = None
) -> tuple[CastOutcome, list[str]]:
    network = lan()
    source = ObjectSource.of(path)
    programs = [
        CastReceiver("thing", directory, lan=network, drops=drops(seed)).run(timeout_s=20)
        for seed, directory in enumerate(directories)
    ]
    sending = send_object(
        source, "thing", receivers=receivers or len(directories), rate_bps=RATE_BPS, lan=network
    )
    try:
        async with asyncio.timeout(60):
            outcome, paths = await asyncio.gather(sending, asyncio.gather(*programs))
    finally:
        source.close()
    return outcome, paths


def made(root: Path, count: int) -> list[Path]:
    directories = [root / str(number) for number in range(count)]
    for directory in directories:
        directory.mkdir()
    return directories


def test_all_receivers_end_with_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(3_000_001))
    directories = made(tmp_path, 3)
    outcome, paths = asyncio.run(cast(path, directories))
    assert (outcome.done, outcome.failed) == (3, ())
    assert paths == [str(directory / "thing") for directory in directories]
    for directory in directories:
        assert (directory / "thing").read_bytes() == path.read_bytes()
        assert [each.name for each in directory.iterdir()] == ["thing"]


def test_a_directory_arrives_with_all_its_files(tmp_path: Path) -> None:
    tree = tmp_path / "source"
    (tree / "deep").mkdir(parents=True)
    (tree / "deep" / "one").write_bytes(b"1" * 5_000)
    (tree / "empty").touch()
    [directory] = made(tmp_path, 1)
    asyncio.run(cast(tree, [directory]))
    assert (directory / "thing" / "deep" / "one").read_bytes() == b"1" * 5_000
    assert (directory / "thing" / "empty").read_bytes() == b""


def test_what_is_there_already_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(b"new" * 1_000)
    [directory] = made(tmp_path, 1)
    (directory / "thing").write_bytes(b"old")
    with pytest.raises(UsageError, match="thing"):
        asyncio.run(cast(path, [directory]))
    assert (directory / "thing").read_bytes() == b"old"


def test_a_receiver_gives_up_when_nobody_sends(tmp_path: Path) -> None:
    async def alone() -> None:
        await CastReceiver("thing", tmp_path, lan=lan()).run(timeout_s=0.5)

    with pytest.raises(UnreachableError, match="nobody sends it"):
        asyncio.run(alone())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.soak
def test_a_hundred_megabytes_to_five_receivers(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(100_000_000))
    directories = made(tmp_path, 5)
    outcome, _paths = asyncio.run(cast(path, directories))
    assert outcome.done == 5
    for directory in directories:
        assert (directory / "thing").read_bytes() == path.read_bytes()
