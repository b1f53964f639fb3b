"""`penstock cast send` and `receive`, as processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from tests.live.cast.test_loopback import lan

PENSTOCK = [sys.executable, "-c", "from penstock.cli.main import run; run()", "cast"]


def test_a_file_goes_from_one_process_to_two(tmp_path: Path) -> None:
    source = tmp_path / "image"
    source.write_bytes(os.urandom(500_000))
    network = lan()
    options = [
        *("--insecure", "--json"),
        *("--interface", network.interface),
        *("--group", f"{network.group}:{network.beacon_port}"),
    ]
    receivers = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        receive = [*PENSTOCK, "receive", "image", str(tmp_path / name), "--wait", "30s", *options]
        receivers.append(subprocess.Popen(receive, stdout=subprocess.PIPE, text=True))
    send = [*PENSTOCK, "send", str(source), "--receivers", "2", *options]
    sent = subprocess.run(send, capture_output=True, text=True, timeout=60, check=True)
    for name, receiver in zip(("one", "other"), receivers, strict=True):
        said, _ = receiver.communicate(timeout=60)
        assert json.loads(said) == {"item": "image", "path": str(tmp_path / name / "image")}
        assert (tmp_path / name / "image").read_bytes() == source.read_bytes()
    outcome = json.loads(sent.stdout)
    assert (outcome["item"], outcome["done"], outcome["failed"]) == ("image", 2, [])
    assert "penstock cast receive image" in sent.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["send", "."], "add --insecure"),
        (["send", "nothing", "--insecure"], "there is no 'nothing'"),
        (["send", ".", "--as", "a//b", "--insecure"], "is no item"),
        (["send", ".", "--group", "10.0.0.1:7", "--insecure"], "no multicast group"),
        (["send", ".", "--interface", "eth0", "--insecure"], "no address of a machine"),
        (["send", ".", "--rate", "fast", "--insecure"], "--rate"),
        (["receive", "thing", "nowhere", "--insecure"], "create it first"),
        (["receive", "../thing", ".", "--wait", "soon", "--insecure"], "--wait"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(app, ["cast", *arguments])
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
