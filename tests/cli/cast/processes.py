"""`penstock cast` as processes of their own, in a group that no other test has."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live.cast.test_loopback import lan

PENSTOCK = [sys.executable, "-c", "from penstock.cli.main import run; run()", "cast"]


class Casts:
    """The processes of one test."""

    def __init__(self, source: Path, *options: str) -> None:
        network = lan()
        self.source = source
        self._options = options
        self.interface = network.interface
        self.group = f"{network.group}:{network.beacon_port}"
        self._started: list[subprocess.Popen[str]] = []
        # What the last sender told receivers to run, without their directory.
        self.item = ""

    def send(self, *options: str) -> subprocess.Popen[str]:
        """Starts a sender, and waits until it has said what receivers run."""
        sender = self._start("send", str(self.source), *self._options, *options)
        assert sender.stderr is not None
        found = re.search(r"penstock (cast receive .*)$", sender.stderr.readline())
        assert found is not None
        words = shlex.split(found[1])
        self.item = words[2]
        assert words == ["cast", "receive", self.item, "DIRECTORY", *self._receivers_options()]
        return sender

    def receive(self, directory: Path, *options: str) -> subprocess.Popen[str]:
        directory.mkdir(exist_ok=True)
        plain = ["--insecure"] if self._is_plain else []
        return self._start("receive", self.item, str(directory), "--wait", "30s", *plain, *options)

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        network = ["--json", "--interface", self.interface, "--group", self.group]
        process = subprocess.Popen(
            [*PENSTOCK, *arguments, *network],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def _receivers_options(self) -> list[str]:
        return [*(["--insecure"] if self._is_plain else []), "--group", self.group]

    @property
    def _is_plain(self) -> bool:
        return "--insecure" in self._options


@contextmanager
def casts(source: Path, *options: str) -> Iterator[Casts]:
    made = Casts(source, *options)
    try:
        yield made
    finally:
        made.end()


def ended(process: subprocess.Popen[str], code: int = 0) -> tuple[dict[str, Any], str]:
    """What a process said, in JSON and for people."""
    said, told = process.communicate(timeout=60)
    assert process.returncode == code, (said, told)
    return json.loads(said), told


def stop(process: subprocess.Popen[str], how: signal.Signals) -> None:
    process.send_signal(how)
    process.wait(timeout=30)


def until(is_so: Callable[[], bool], *, within_s: float = 30.0) -> None:
    give_up_at = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def verified_blocks(part: Path) -> int:
    """As a state file that is in use says."""
    state = Path(f"{part}.state")
    data = state.read_bytes() if state.exists() else b""
    return data[64].bit_count() if len(data) > 64 else 0
