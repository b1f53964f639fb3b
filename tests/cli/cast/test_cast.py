"""`penstock cast send` and `receive`, as processes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.cast.send import _named
from penstock.cli.main import app
from penstock.live.cast.receiver_table import FailedReceiver
from tests.cli.cast.processes import casts, ended, until


@pytest.mark.parametrize("insecure", [False, True])
def test_a_file_goes_from_one_process_to_two(tmp_path: Path, insecure: bool) -> None:
    source = tmp_path / "an image"
    source.write_bytes(os.urandom(500_000))
    options = ["--insecure"] if insecure else []
    with casts(source, "--receivers", "2", *options) as processes:
        sender = processes.send()
        assert (processes.item == "an image") is insecure
        directories = [tmp_path / "one", tmp_path / "other"]
        receivers = [processes.receive(directory) for directory in directories]
        for directory, receiver in zip(directories, receivers, strict=True):
            path = directory / "an image"
            assert ended(receiver)[0] == {
                "item": "an image",
                "path": str(path),
                "bytes": 500_000,
                "kept_bytes": 0,
            }
            assert path.read_bytes() == source.read_bytes()
        outcome, _ = ended(sender)
    assert (outcome["item"], outcome["done"], outcome["failed"]) == ("an image", 2, [])


def test_a_receiver_that_is_stopped_says_how_to_go_on(tmp_path: Path) -> None:
    with casts(tmp_path, "--insecure") as processes:
        processes.item = "image"
        receiver = processes.receive(tmp_path / "one")
        until((tmp_path / "one" / "image.part.state").exists)
        receiver.send_signal(signal.SIGINT)
        said, told = ended(receiver, 130)
        assert told == f"penstock: {said['error']}\n"
        assert "repeat the command to begin again" in told
        assert list((tmp_path / "one").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["receive", "thing", "."], "has no ticket"),
        (["receive", "thing:1234", "."], "is no ticket"),
        (["receive", f"thing:{'7' * 20}", ".", "--insecure"], "leave one out"),
        (["send", "nothing", "--insecure"], "there is no 'nothing'"),
        (["send", ".", "--as", "a//b", "--insecure"], "is no item"),
        (["send", ".", "--group", "10.0.0.1:7", "--insecure"], "no multicast group"),
        (["send", ".", "--interface", "eth0", "--insecure"], "no address of a machine"),
        (["send", ".", "--rate", "fast", "--insecure"], "--rate"),
        (["send", ".", "--min-rate", "slow", "--insecure"], "--min-rate"),
        (
            ["send", ".", "--rate", "1Mbit/s", "--min-rate", "2Mbit/s", "--insecure"],
            "is above --rate 1Mbit/s",
        ),
        (["send", ".", "--repair", "never", "--insecure"], "is none of auto, exact, coded"),
        (["receive", "thing", "nowhere", "--insecure"], "create it first"),
        (["receive", "thing", "nowhere", "--wait", "soon", "--insecure"], "--wait"),
        (["receive", "../thing", ".", "--insecure"], "without . and .."),
        (["send", ".", "--as", "../evil.txt", "--insecure"], "without . and .."),
        (["send", ".", "--as", "a\nb", "--insecure"], "cannot be printed: use --as"),
        (["send", ".", "--as", "a" * 241, "--insecure"], "may have 240 bytes"),
        (["send", ".", "--receivers", "70000"], "--receivers is 0 to 65,535, not 70000"),
        (["send", ".", "--receivers", "-1"], "--receivers is 0 to 65,535, not -1"),
        (["send", ".", "--rate", "0"], "--rate is a rate of 100kbit/s or more"),
        (["send", ".", "--rate", "-5Mbit/s"], "--rate is a rate of 100kbit/s or more"),
        (["send", ".", "--interface", "10.254.253.9"], "no address of this machine"),
        (["receive", "thing", ".", "--insecure", "--interface", "10.254.253.9"], "no address of"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, ["cast", *arguments])
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_failure_is_one_json_object() -> None:
    ticket = "7" * 20
    result = CliRunner().invoke(app, ["cast", "receive", f"x:{ticket}", "nowhere", "--json"])
    assert result.exit_code == 2
    said = json.loads(result.stdout)
    assert said == {"item": "x", "error": said["error"], "reason": None}
    assert "create it first" in said["error"]


def test_help_names_the_guide() -> None:
    assert "docs/guide/casts.md" in CliRunner().invoke(app, ["cast", "--help"]).stdout


def test_receivers_that_fail_are_named() -> None:
    """With their addresses where names do not tell them apart."""
    one = FailedReceiver("h1", "10.0.0.1:7", "silent")
    other = FailedReceiver("h2", "10.0.0.2:7", "stopped")
    assert _named((one, other)) == "h1 (silent), h2 (stopped)"
    twin = FailedReceiver("h1", "10.0.0.1:8", "silent")
    assert _named((one, twin)) == "h1 at 10.0.0.1:7 (silent), h1 at 10.0.0.1:8 (silent)"
    assert _named((one,) * 12).endswith(" and 2 more")
