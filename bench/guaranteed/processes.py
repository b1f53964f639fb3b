"""Processes of a run: a server, and clients that are told by lines what to do.

Everything that is started is ended, and what it wrote goes with its directory.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Final, TypeVar

import msgspec

_STARTS_WITHIN_S: Final = 60.0
_ENDS_WITHIN_S: Final = 20.0
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
T = TypeVar("T")


class ProcessError(Exception):
    """A process has ended or does not answer; the text ends with what it said last."""


def free_port() -> int:
    """A port of this machine that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_s(pids: Sequence[int]) -> float:
    """CPU seconds that processes have used with all their threads and children."""
    return sum(_cpu_ticks(pid) for pid in _with_children(pids)) / _TICKS_PER_S


def _cpu_ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    # A name may hold spaces; it stands in brackets.
    fields = text.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _with_children(pids: Sequence[int]) -> list[int]:
    found = [*pids]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
    return found


class ServerProcess:
    """A server that is there when a connection to `address` succeeds."""

    def __init__(
        self,
        command: Sequence[str],
        address: str,
        directory: Path,
        *,
        environment: Mapping[str, str] | None = None,
        helper: Sequence[str] = (),
    ) -> None:
        self.address: Final = address
        self._name: Final = Path(command[0]).name
        self._log: Final = directory / "server.log"
        self._environment: Final = {**os.environ, **(environment or {})}
        self._processes: Final[list[subprocess.Popen[bytes]]] = []
        try:
            if helper:
                self._start(helper)
            self._server: Final = self._start(command)
            self._await_listening()
        except BaseException:
            self.stop()
            raise

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return cpu_s([self._server.pid])

    @property
    def memory_mb(self) -> tuple[float, float]:
        """What it has now, and the most that it ever had; of the server alone."""
        lines = Path(f"/proc/{self._server.pid}/status").read_text().splitlines()
        found = {key: value for key, _, value in (line.partition(":") for line in lines)}
        now, peak = (int(found[key].split()[0]) for key in ("VmRSS", "VmHWM"))
        return now * 1024 / 1e6, peak * 1024 / 1e6

    def stop(self) -> None:
        """Ends it, by force if it takes too long; what helps it goes last."""
        for process in reversed(self._processes):
            children = _with_children([process.pid])
            process.terminate()
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                for pid in children:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                process.wait()
        self._processes.clear()

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            # Of a group of its own: Ctrl-C is for the bench, which ends all in order.
            process = subprocess.Popen(
                [*command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _await_listening(self) -> None:
        host, _, port = self.address.partition(":")
        give_up_s = monotonic() + _STARTS_WITHIN_S
        while monotonic() < give_up_s:
            if self._server.poll() is not None:
                break
            with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                return
            sleep(0.05)
        raise ProcessError(f"{self._name} does not listen at {self.address}: {self._tail()}")

    def _tail(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class RoleProcess:
    """A publisher or a subscriber: `bench.guaranteed.role`, which answers line by line."""

    def __init__(self, role: str, system: str, address: str, stream: str, log: Path) -> None:
        self.role: Final = role
        self._log: Final = log.open("wb")
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
        self._process: Final = subprocess.Popen(
            [sys.executable, "-m", "bench.guaranteed.role", role, system, address, stream],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return cpu_s([self._process.pid])

    def tell(self, command: object) -> None:
        """Sends a command."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(msgspec.json.encode(command) + b"\n")
            self._process.stdin.flush()

    def answer(self, kind: type[T], within_s: float) -> T:
        """The next line, as a value of that type."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], within_s)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            why = "has ended" if ready else f"did not answer within {within_s:g} s"
            raise ProcessError(f"the {self.role} {why}: {self._tail()}")
        return msgspec.json.decode(line, type=kind)

    def stop(self) -> None:
        """Ends it: with its input, or by force."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> RoleProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is not None:
            self._process.kill()
        self.stop()

    def _tail(self) -> str:
        lines = Path(self._log.name).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
