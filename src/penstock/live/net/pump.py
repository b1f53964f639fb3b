"""Drives one machine on one socket: receive, drain outputs, re-arm one timer.

The socket is read in a callback that empties it, up to a bound: asyncio's own datagram transports
take six times as long per packet. An exception of the machine is a bug and ends the pump. Knows no
protocol; time is the host's monotonic clock.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from time import monotonic_ns
from typing import Any, Final, Generic, TypeVar

from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.kernel.machine import Deliver, Machine, Record, Send
from penstock.live.net.datagram_socket import DatagramSocket
from penstock.live.net.wakeup_timer import WakeupTimer

M = TypeVar("M", bound=Machine[Any])
T = TypeVar("T")


def _ignore(_item: object) -> None:
    pass


class Pump(Generic[M]):
    """Owns `sock`; `deliver` and `record` receive the machine's other outputs.

    `on_change` is called whenever the machine may have changed, and when the pump closes; `error`
    is the exception that ended the machine, if any.
    """

    def __init__(
        self,
        sock: socket.socket,
        machine: M,
        *,
        deliver: Callable[[Any], object] = _ignore,
        record: Callable[[Any], object] = _ignore,
        on_change: Callable[[], object] = lambda: None,
        mark_above: float | None = None,
    ) -> None:
        self.machine: Final = machine
        self.is_closed = False
        self.error: Exception | None = None
        self._datagrams: Final = DatagramSocket(sock, mark_above=mark_above)
        self._deliver: Final = deliver
        self._record: Final = record
        self._on_change: Final = on_change
        self._ended: Final = asyncio.Event()
        self._loop: Final = asyncio.get_running_loop()
        self._timer: Final = WakeupTimer(self._loop, lambda: self._run_step(self._on_timer))
        self._loop.add_reader(self._datagrams, self._run_step, self._receive)
        # The machine may already have output, but its receivers are not ready yet.
        self._loop.call_soon(self._run_step, self._drain)

    @property
    def counters(self) -> dict[str, int]:
        """The counters of the socket."""
        return self._datagrams.counters

    def call(self, verb: Callable[[M, Instant], T]) -> T:
        """Runs a command of the machine and drains its output; raises what the command raises."""
        if self.is_closed:
            raise UsageError("this node is closed: open another") from self.error
        try:
            return verb(self.machine, monotonic_ns())
        finally:
            self._run_step(self._drain)

    def close(self, error: Exception | None = None) -> None:
        """Stops the pump; datagrams that were not read are lost. Closing twice is no error."""
        if self.is_closed:
            return
        self.is_closed, self.error = True, error
        self._loop.remove_reader(self._datagrams)
        self._datagrams.close()
        self._timer.cancel()
        self._ended.set()
        self._on_change()

    async def wait(self) -> None:
        """Waits until the pump is closed; raises the exception that ended the machine, if any."""
        await self._ended.wait()
        if self.error is not None:
            raise self.error

    def _run_step(self, step: Callable[[], object]) -> None:
        """Runs one step, re-arms the timer and reports the change; an exception closes the pump."""
        if self.is_closed:
            return
        try:
            step()
            self._arm()
        except Exception as error:
            self.close(error)
        else:
            self._on_change()

    def _receive(self) -> None:
        for frame, port in self._datagrams.receive():
            self.machine.receive(frame, via=port, now=monotonic_ns())
            self._drain()

    def _drain(self) -> None:
        poll = self.machine.poll
        while (output := poll()) is not None:
            if type(output) is Send:
                self._datagrams.send(output.frame, output.port)
            elif type(output) is Deliver:
                self._deliver(output.item)
            else:
                assert type(output) is Record, f"nobody takes {output!r}"
                self._record(output.row)

    def _arm(self) -> None:
        self._timer.arm(self.machine.next_wakeup())

    def _on_timer(self) -> None:
        wakeup, now = self.machine.next_wakeup(), monotonic_ns()
        if wakeup is not None and wakeup <= now:
            self.machine.wake(now=now)
            self._drain()
