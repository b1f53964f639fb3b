"""What is stopped or killed in the middle goes on with the same command."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.cast.processes import casts, ended, stop, until, verified_blocks

# Three blocks, each of which takes 0.7 s.
SIZE_BYTES = 21_000_000
BLOCK_SYMBOLS = 5_469
RATE = ["--rate", "80Mbit/s"]
# Frames that are no symbols.
OTHERS_MAX = 400


def made(path: Path, size_bytes: int = SIZE_BYTES) -> Path:
    path.write_bytes(os.urandom(size_bytes))
    return path


def test_sender_and_receiver_that_are_killed_go_on(tmp_path: Path) -> None:
    """Another receiver waits meanwhile; no verified block is sent again."""
    source = made(tmp_path / "image", 2 * BLOCK_SYMBOLS * 1_280)
    directories = [tmp_path / "one", tmp_path / "other"]
    parts = [directory / "image.part" for directory in directories]
    with casts(source, "--receivers", "2", *RATE) as processes:
        sender = processes.send()
        item = processes.item
        killed, waiting = [processes.receive(directory) for directory in directories]
        until(lambda: min(map(verified_blocks, parts)) >= 1)
        stop(sender, signal.SIGKILL)
        stop(killed, signal.SIGKILL)
        kept = [verified_blocks(part) for part in parts]
        sender = processes.send()
        assert processes.item == item
        again = processes.receive(directories[0])
        said, _ = ended(again)
        assert said["kept_bytes"] >= kept[0] * BLOCK_SYMBOLS * 1_280 > 0
        ended(waiting)
        outcome, _ = ended(sender)
        assert (outcome["done"], outcome["failed"]) == (2, [])
        assert outcome["sent_datagrams"] < (2 - min(kept)) * BLOCK_SYMBOLS + OTHERS_MAX
    for directory in directories:
        assert (directory / "image").read_bytes() == source.read_bytes()
        assert [each.name for each in directory.iterdir()] == ["image"]


@pytest.mark.soak
def test_a_receiver_that_is_killed_goes_on_and_counts_once(tmp_path: Path) -> None:
    """It is the same node, and verifies again what it has."""
    source = made(tmp_path / "image")
    part = tmp_path / "one" / "image.part"
    with casts(source, "--receivers", "1", *RATE) as processes:
        sender = processes.send()
        receiver = processes.receive(part.parent)
        until(lambda: verified_blocks(part) >= 1)
        stop(receiver, signal.SIGKILL)
        kept = verified_blocks(part)
        said, _ = ended(processes.receive(part.parent))
        assert said["kept_bytes"] >= kept * BLOCK_SYMBOLS * 1_280
        outcome, _ = ended(sender)
        assert (outcome["done"], outcome["failed"]) == (1, [])
    assert (part.parent / "image").read_bytes() == source.read_bytes()
    assert [each.name for each in part.parent.iterdir()] == ["image"]


@pytest.mark.soak
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_sender_goes_on_with_the_same_ticket(tmp_path: Path, how: signal.Signals) -> None:
    """No verified block is sent again, whether receivers wait or are started again."""
    source = made(tmp_path / "image")
    directories = [tmp_path / "one", tmp_path / "other"]
    parts = [directory / "image.part" for directory in directories]
    with casts(source, "--receivers", "2", *RATE) as processes:
        sender = processes.send()
        item = processes.item
        receivers = [processes.receive(directory) for directory in directories]
        until(lambda: min(map(verified_blocks, parts)) >= 1)
        stop(sender, how)
        if how is signal.SIGINT:
            _, told = ended(sender, 130)
            assert "receivers keep what they have" in told
            for receiver in receivers:
                said, told = ended(receiver, 4)
                assert "the sender was stopped" in said["error"]
                assert "MB are kept: repeat the command to go on" in told
        kept = min(map(verified_blocks, parts))
        sender = processes.send()
        assert processes.item == item
        if how is signal.SIGINT:
            receivers = [processes.receive(directory) for directory in directories]
        for receiver in receivers:
            ended(receiver)
        outcome, _ = ended(sender)
        assert (outcome["done"], outcome["failed"]) == (2, [])
        assert outcome["sent_datagrams"] < (3 - kept) * BLOCK_SYMBOLS + OTHERS_MAX
        for directory in directories:
            assert (directory / "image").read_bytes() == source.read_bytes()
        # All have it: another cast has another ticket.
        processes.send()
        assert processes.item != item


@pytest.mark.soak
def test_a_receiver_that_is_stopped_leaves(tmp_path: Path) -> None:
    """The others are not held up, and the sender names it."""
    source = made(tmp_path / "image")
    part = tmp_path / "one" / "image.part"
    with casts(source, "--receivers", "2", *RATE) as processes:
        sender = processes.send()
        item = processes.item
        receiver, other = processes.receive(part.parent), processes.receive(tmp_path / "other")
        until(lambda: verified_blocks(part) >= 1)
        receiver.send_signal(signal.SIGTERM)
        said, told = ended(receiver, 130)
        assert told == f"penstock: {said['error']}\n"
        assert "MB are kept: repeat the command to go on" in told
        ended(other)
        outcome, told = ended(sender, 1)
        assert outcome["done"] == 1
        assert [each["reason"] for each in outcome["failed"]] == ["stopped"]
        assert "(stopped) has not got it: repeat this command, and theirs" in told
        sender = processes.send("--receivers", "1")
        assert processes.item == item
        ended(processes.receive(part.parent))
        outcome, _ = ended(sender)
        assert outcome["sent_datagrams"] < 2 * BLOCK_SYMBOLS + OTHERS_MAX
