"""The one worker of a simulated broker: it takes its time for each message.

As long as no rate is set, everything is done at once. Else what comes waits for the worker, and
each sender gets its turn, as with sockets in an event loop; what concerns congestion comes on
connections of its own, and takes no time worth counting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.kernel.instant import SECOND
from penstock.sim.events import EventQueue

Action = Callable[[], None]


class _Job:
    __slots__ = ("action", "messages", "size_bytes")

    def __init__(self, messages: int, size_bytes: int, action: Action) -> None:
        self.messages: Final = messages
        self.size_bytes: Final = size_bytes
        self.action: Final = action


class Worker:
    """Of one broker."""

    def __init__(self, events: EventQueue) -> None:
        self._events: Final = events
        self._messages_per_s: float | None = None
        # By sender; the first one is next.
        self._waiting: Final[dict[str, deque[_Job]]] = {}
        self.waiting_messages = 0
        self.waiting_bytes = 0
        # The most that waited since somebody last looked, who then sets it back.
        self.peak_bytes = 0
        # Whether it was ever slow: else nobody needs to look.
        self.is_limited = False
        self._is_busy = False
        # Counts crashes: what was begun before one is never done.
        self._life = 0

    def set_rate(self, messages_per_s: float | None) -> None:
        """So many from the next message on; None for no limit."""
        self._messages_per_s = messages_per_s
        self.is_limited = self.is_limited or messages_per_s is not None

    def do(
        self, sender: str, action: Action, *, messages: int, size_bytes: int, is_urgent: bool
    ) -> None:
        """Has something done: now, or when it is its turn."""
        if is_urgent or (self._messages_per_s is None and not self._waiting):
            action()
            return
        self._waiting.setdefault(sender, deque()).append(_Job(messages, size_bytes, action))
        self.waiting_messages += messages
        self.waiting_bytes += size_bytes
        self.peak_bytes = max(self.peak_bytes, self.waiting_bytes)
        self._begin_next()

    def forget(self, sender: str) -> None:
        """What a sender has sent will not be done: its connection is closed."""
        for job in self._waiting.pop(sender, ()):
            self._leave(job)

    def crash(self) -> None:
        """Nothing that waits will be done."""
        for sender in list(self._waiting):
            self.forget(sender)
        self._is_busy = False
        self._life += 1

    def _begin_next(self) -> None:
        if self._is_busy or not self._waiting:
            return
        sender, jobs = next(iter(self._waiting.items()))
        job = jobs.popleft()
        # To the end of the line, if there is more.
        del self._waiting[sender]
        if jobs:
            self._waiting[sender] = jobs
        self._is_busy = True
        rate = self._messages_per_s
        work_ns = 0 if rate is None else round(job.messages * SECOND / rate)
        self._events.schedule(self._events.now + work_ns, self._done, job, self._life)

    def _done(self, job: _Job, life: int) -> None:
        if life != self._life:
            return
        self._is_busy = False
        self._leave(job)
        job.action()
        self._begin_next()

    def _leave(self, job: _Job) -> None:
        self.waiting_messages -= job.messages
        self.waiting_bytes -= job.size_bytes
