"""A broker of streams as a process of its own, which can be killed and started again."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class BrokerProcess:
    """`penstock stream broker` with a directory and a port that stay."""

    def __init__(self, directory: Path, *, parent: str | None = None) -> None:
        self.address: Final = f"127.0.0.1:{free_port()}"
        self._command: Final = [
            *(sys.executable, "-m", "penstock", "stream", "broker"),
            *("--directory", str(directory), "--listen", self.address),
            *(("--parent", parent) if parent else ()),
        ]
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Starts it and waits until it listens."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self._process.stdout is not None
        said = ""
        while "listens at" not in said:
            line = self._process.stdout.readline()
            assert line, f"it has ended: {said}"
            said += line

    def kill(self) -> None:
        """`kill -9`."""
        self._end(signal.SIGKILL)

    def stop(self) -> str:
        """SIGTERM; returns what it said."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> str:
        process, self._process = self._process, None
        if process is None:
            return ""
        process.send_signal(number)
        said, _ = process.communicate(timeout=20)
        return said
