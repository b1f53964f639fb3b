"""`penstock cast send` and `receive`, as processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from tests.live.cast.test_loopback import lan

PENSTOCK = [sys.executable, "-c", "from penstock.cli.main import run; run()", "cast"]


def options() -> list[str]:
    network = lan()
    group = f"{network.group}:{network.beacon_port}"
    return ["--json", "--interface", network.interface, "--group", group]


@pytest.mark.parametrize("insecure", [False, True])
def test_a_file_goes_from_one_process_to_two(tmp_path: Path, insecure: bool) -> None:
    source = tmp_path / "image"
    source.write_bytes(os.urandom(500_000))
    common = options()
    send = [*PENSTOCK, "send", str(source), "--receivers", "2", *common]
    sender = subprocess.Popen(
        [*send, "--insecure"] if insecure else send,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert sender.stderr is not None
    command = sender.stderr.readline()
    found = re.search(r"penstock cast receive (\S+) DIRECTORY( --insecure)?$", command)
    assert found is not None
    assert (found[1] == "image") is (found[2] is not None) is insecure
    receivers = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        receive = [*PENSTOCK, "receive", found[1], str(tmp_path / name), "--wait", "30s", *common]
        receive += ["--insecure"] if insecure else []
        receivers.append(subprocess.Popen(receive, stdout=subprocess.PIPE, text=True))
    for name, receiver in zip(("one", "other"), receivers, strict=True):
        said, _ = receiver.communicate(timeout=60)
        assert json.loads(said) == {"item": "image", "path": str(tmp_path / name / "image")}
        assert (tmp_path / name / "image").read_bytes() == source.read_bytes()
    outcome = json.loads(sender.communicate(timeout=60)[0])
    assert (outcome["item"], outcome["done"], outcome["failed"]) == ("image", 2, [])


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
        (["receive", "../thing", ".", "--wait", "soon", "--insecure"], "--wait"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, ["cast", *arguments])
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
