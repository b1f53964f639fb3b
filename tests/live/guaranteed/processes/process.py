"""A program of a test as a process of its own, which can be killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_WAIT_S: Final = 60.0


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(what: str, is_so: Callable[[], bool], *, timeout_s: float = _WAIT_S) -> None:
    """Waits until something is so, which a process of its own brings about."""
    until = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < until, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.01)


class Process:
    """A Python program; all that its lives say is kept in one file."""

    def __init__(
        self, name: str, arguments: Sequence[str], directory: Path, *, inside: Sequence[str] = ()
    ) -> None:
        self.name: Final = name
        # `inside` is what a command begins with to run in another network.
        self._arguments: Final = [*inside, sys.executable, *arguments]
        self._said: Final = directory / f"{name}.said"
        # Compiled once: half of what a start costs.
        self._environment: Final = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        self._popen: subprocess.Popen[bytes] | None = None
        self._said_before = 0

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def pid(self) -> int:
        """Of this life."""
        assert self._popen is not None
        return self._popen.pid

    def start(self) -> None:
        """Begins a life, and returns at once."""
        assert not self.is_running, f"{self.name} runs already"
        self._said_before = self._said.stat().st_size if self._said.exists() else 0
        with self._said.open("ab") as said:
            self._popen = subprocess.Popen(
                self._arguments, stdout=said, stderr=said, env=self._environment
            )

    def said(self) -> str:
        """What this life has said so far."""
        return self._said.read_bytes()[self._said_before :].decode()

    def wait_said(self, text: str) -> None:
        """Waits until this life has said something."""

        def is_said() -> bool:
            if text in self.said():
                return True
            assert self.is_running, f"{self.name} has ended: {self.said()}"
            return False

        wait_until(f"{self.name} says {text!r}", is_said)

    def kill(self) -> None:
        """`kill -9`."""
        self._signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait(_WAIT_S)

    def stop(self) -> int:
        """SIGTERM; returns how it has ended."""
        self._signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Waits until it ends by itself."""
        assert self._popen is not None
        return self._popen.wait(_WAIT_S)

    def suspend(self) -> None:
        """SIGSTOP: it is there, and does nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(number)


class BrokerProcess(Process):
    """`penstock stream broker` with a directory and a port that stay."""

    def __init__(
        self,
        name: str,
        directory: Path,
        *,
        parents: Sequence[str] = (),
        store: Path | None = None,
        host: str = "127.0.0.1",
        inside: Sequence[str] = (),
    ) -> None:
        self.address: Final = f"{host}:{free_port()}"
        self.directory: Final = store or directory / name
        super().__init__(
            name,
            [
                *("-m", "penstock", "stream", "broker", "--name", name),
                *("--directory", str(self.directory), "--listen", self.address),
                *(word for parent in parents for word in ("--parent", parent)),
            ],
            directory,
            inside=inside,
        )

    def wait_ready(self) -> None:
        """Waits until it listens."""
        self.wait_said("listens at")
