"""A cast over real sockets of one machine, to several receivers that lose datagrams."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.kernel.errors import UnreachableError, UsageError
from penstock.live.cast.cast_keys import CastKeys
from penstock.live.cast.cast_receiver import CastReceiver
from penstock.live.cast.cast_sender import CastOutcome, CastSender
from penstock.live.cast.lan_sockets import LanAddress
from penstock.live.cast.object_source import ObjectSource
from penstock.live.cast.symbol_sealing import EncryptedSymbols
from penstock.wire.frames.cast.transfer import RepairChoice

LOSS = 0.05


def lan() -> LanAddress:
    """A group that no other test has: two tests at once have different ports."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    return LanAddress("239.255.74.99", port, "127.0.0.1")


def drops(seed: int, loss: float) -> Callable[[], bool]:
    chance = Random(seed).random
    return lambda: chance() < loss


async def send_object(
    source: ObjectSource, item: str, *, timeout_s: float = 600.0, **options: Any
) -> CastOutcome:
    return await CastSender(source, item, **options).run(timeout_s=timeout_s)


async def cast(
    path: Path,
    directories: list[Path],
    *,
    receivers: int | None = None,
    loss: float = LOSS,
    rate_min_bps: int | None = None,
) -> tuple[CastOutcome, list[str]]:
    network = lan()
    source = ObjectSource.of(path)
    programs = [
        CastReceiver("thing", directory, lan=network, drops=drops(seed, loss)).run(timeout_s=20)
        for seed, directory in enumerate(directories)
    ]
    sending = send_object(
        source,
        "thing",
        receivers=receivers or len(directories),
        rate_min_bps=rate_min_bps,
        lan=network,
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


def test_without_a_rate_five_receivers_in_one_process_are_not_flooded(tmp_path: Path) -> None:
    """All parts share one loop: the rate ends where it keeps up, and little is sent twice."""
    path = tmp_path / "source"
    path.write_bytes(os.urandom(8_000_000))
    directories = made(tmp_path, 5)
    outcome, _ = asyncio.run(cast(path, directories, loss=0.0))
    assert (outcome.done, outcome.failed) == (5, ())
    assert outcome.sent_datagrams < 1.5 * 8_000_000 / 1_280
    assert outcome.seconds < 20


def test_a_minimum_rate_goes_through_losses_at_random(tmp_path: Path) -> None:
    """5 % look like congestion, but what arrives says that it is none: nobody is left behind."""
    path = tmp_path / "source"
    path.write_bytes(os.urandom(2_000_000))
    outcome, _ = asyncio.run(cast(path, made(tmp_path, 2), rate_min_bps=10_000_000))
    assert (outcome.done, outcome.failed) == (2, ())


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

    with pytest.raises(UnreachableError, match="nobody sends thing"):
        asyncio.run(alone())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.soak
def test_a_hundred_megabytes_to_five_receivers(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(100_000_000))
    directories = made(tmp_path, 5)
    outcome, _paths = asyncio.run(cast(path, directories, loss=0.0))
    assert outcome.done == 5
    for directory in directories:
        assert (directory / "thing").read_bytes() == path.read_bytes()


def test_who_has_another_ticket_gets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(100_000))
    right, wrong = made(tmp_path, 2)
    network = lan()
    source = ObjectSource.of(path)

    async def program() -> None:
        notes: list[str] = []
        keys = CastKeys(b"right")
        options: dict[str, Any] = {"keys": keys, "lan": network, "note": notes.append}
        sending = asyncio.ensure_future(send_object(source, "thing", receivers=1, **options))
        stranger = CastReceiver(
            "thing", wrong, keys=CastKeys(b"wrong"), lan=network, note=notes.append
        )
        plain = CastReceiver("other", wrong, lan=network)
        astray = CastReceiver("third", wrong, keys=keys, lan=network)
        refused = await asyncio.gather(
            *[each.run(timeout_s=1.2) for each in (stranger, plain, astray)],
            return_exceptions=True,
        )
        assert all(isinstance(error, UnreachableError) for error in refused)
        for error, text in zip(
            refused, ("another ticket", "has a ticket", "the name"), strict=True
        ):
            assert text in str(error)
        # One was told at once, and so was the sender.
        assert any("waits for a sender of thing" in note for note in notes)
        assert any("asks for another name than thing" in note for note in notes)
        friend = CastReceiver("thing", right, keys=keys, lan=network)
        await friend.run(timeout_s=20)
        outcome = await sending
        assert outcome.done == 1

    asyncio.run(program())
    source.close()
    assert (right / "thing").read_bytes() == path.read_bytes()
    assert list(wrong.iterdir()) == []


@pytest.mark.parametrize(("generations", "repair"), [(0, "AUTO"), (255, "EXACT")])
def test_no_symbol_is_sealed_twice_under_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generations: int, repair: str
) -> None:
    """Without generations for repairs the publisher begins an epoch for each of them.

    Exactly repaired symbols go again under their own numbers, but in other generations.
    """
    monkeypatch.setattr("penstock.bloomcast.publisher.rounds._GENERATION_MAX", generations)
    path = tmp_path / "source"
    path.write_bytes(os.urandom(1_000_000))
    [directory] = made(tmp_path, 1)
    network = lan()
    source = ObjectSource.of(path)
    keys = CastKeys(b"secret")
    seal = EncryptedSymbols.seal
    sealed: Counter[tuple[int, bytes]] = Counter()
    used: list[EncryptedSymbols] = []

    def noted(sealing: EncryptedSymbols, header: bytes, payload: bytes) -> bytes:
        if sealing not in used:
            used.append(sealing)
        sealed[used.index(sealing), header[56:64]] += 1
        return seal(sealing, header, payload)

    monkeypatch.setattr(EncryptedSymbols, "seal", noted)

    async def program() -> None:
        # A report lists 32 ranges of the block at most.
        lossy = drops(1, 0.02)
        receiver = CastReceiver("thing", directory, keys=keys, lan=network, drops=lossy)
        choice = RepairChoice[repair]
        sending = send_object(source, "thing", receivers=1, repair=choice, keys=keys, lan=network)
        async with asyncio.timeout(60):
            await asyncio.gather(sending, receiver.run(timeout_s=20))

    asyncio.run(program())
    source.close()
    assert (directory / "thing").read_bytes() == path.read_bytes()
    assert (len(used) > 1) is (generations == 0)
    assert set(sealed.values()) == {1}
    # One byte says the generation, the last four which symbol.
    symbols = source.layout.block_symbols
    again = {place for _, place in sealed if place[0] and int.from_bytes(place[4:]) < symbols}
    assert bool(again) is (repair == "EXACT")


def test_a_sender_gives_up_when_nobody_joins(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(b"wanted by nobody")
    source = ObjectSource.of(path)
    with pytest.raises(UnreachableError, match=r"nobody has joined within 0\.3 s"):
        asyncio.run(send_object(source, "thing", timeout_s=0.3, lan=lan()))
    source.close()
