"""The receiving end: acknowledges every segment, or every other one with delayed ACKs."""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.machine import Port, Send
from penstock.sim.tcp.segments import Ack, Segment

DELAYED_ACK_NS: Final[Duration] = 40 * MILLISECOND


class TcpReceiver:
    """A machine: segments in, cumulative acknowledgements out by the same port."""

    def __init__(self, *, delayed_acks: bool = False) -> None:
        self.expected = 0
        self.received = 0
        self._delayed_acks = delayed_acks
        self._ahead: dict[int, None] = {}
        self._waiting: tuple[Port, Instant, Instant] | None = None  # port, echo, deadline
        self._out: deque[Send[Segment | Ack]] = deque()

    def receive(self, frame: Segment | Ack, *, via: Port, now: Instant) -> None:
        """Handles a segment."""
        assert isinstance(frame, Segment)
        in_order = frame.number == self.expected and not self._ahead
        if frame.number >= self.expected and frame.number not in self._ahead:
            self.received += 1
            self._ahead[frame.number] = None
            while self.expected in self._ahead:
                del self._ahead[self.expected]
                self.expected += 1
        if self._delayed_acks and in_order and self._waiting is None:
            self._waiting = (via, frame.sent_at, now + DELAYED_ACK_NS)
            return
        # Echoes the earlier of two segments, so that the round trip includes the wait.
        echo = frame.sent_at if self._waiting is None else self._waiting[1]
        self._waiting = None
        self._out.append(Send(via, Ack(self.expected, echo)))

    def wake(self, *, now: Instant) -> None:
        """Sends the delayed acknowledgement when it is due."""
        if self._waiting is not None and self._waiting[2] <= now:
            via, echo, _ = self._waiting
            self._waiting = None
            self._out.append(Send(via, Ack(self.expected, echo)))

    def next_wakeup(self) -> Instant | None:
        """When the delayed acknowledgement is due."""
        return None if self._waiting is None else self._waiting[2]

    def poll(self) -> Send[Segment | Ack] | None:
        """The next acknowledgement."""
        return self._out.popleft() if self._out else None
